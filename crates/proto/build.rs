//! Compiles `proto/` in pure Rust: no `protoc` is needed.

use std::error::Error;
use std::path::{Path, PathBuf};

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

const PACKAGE: &str = "noteweft.v1";
const FILES: [&str; 8] =
    ["admin", "common", "context", "graph", "hygiene", "note", "search", "write"];

/// Fields that JSON omits if absent; all others are written as `null`.
///
/// The rendered text is part of a response only if it was requested.
const ONLY_WHEN_ASKED_FOR: [&str; 1] = ["RelatedResponse.rendered"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(FILES.map(|file| root.join(format!("noteweft/v1/{file}.proto"))))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo passes the output folder in this variable only"
    )]
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    std::fs::write(out_dir.join("descriptor_set.bin"), compiler.encode_file_descriptor_set())?;

    let files = compiler.file_descriptor_set();
    let mut builder = tonic_prost_build::configure()
        .emit_rerun_if_changed(false)
        .message_attribute(".", "#[derive(serde::Serialize)]")
        // Sorted, so that equal responses have equal bytes.
        .btree_map(".");
    for (field, with) in fields_with_custom_json(&files)? {
        builder = builder.field_attribute(field, format!("#[serde(serialize_with = \"{with}\")]"));
    }
    for field in ONLY_WHEN_ASKED_FOR {
        let skipped = "#[serde(skip_serializing_if = \"Option::is_none\")]";
        builder = builder.field_attribute(format!(".{PACKAGE}.{field}"), skipped);
    }
    builder.compile_fds(files)?;
    Ok(())
}

/// Returns the fields whose JSON differs from the derived serialization of their Rust type, each with the function that serializes it.
fn fields_with_custom_json(files: &FileDescriptorSet) -> Result<Vec<(String, String)>, String> {
    let ours = files.file.iter().filter(|file| file.package() == PACKAGE);
    let messages = ours.flat_map(|file| &file.message_type);
    let fields =
        messages.flat_map(|message| message.field.iter().map(move |field| (message, field)));
    fields
        .filter_map(|(message, field)| {
            let with = custom_json(message, field).transpose()?;
            let name = format!(".{PACKAGE}.{}.{}", message.name(), field.name());
            Some(with.map(|with| (name, with)))
        })
        .collect()
}

fn custom_json(
    message: &DescriptorProto,
    field: &FieldDescriptorProto,
) -> Result<Option<String>, String> {
    match (field.r#type(), field.type_name()) {
        (Type::Enum, name) => {
            if field.proto3_optional() {
                let (message, field) = (message.name(), field.name());
                return Err(format!("{message}.{field}: optional enums are not supported in JSON"));
            }
            let writer = if field.label() == Label::Repeated { "names" } else { "name" };
            let name = name.rsplit('.').next().unwrap_or_default();
            Ok(Some(format!("crate::json_encoding::{writer}::<crate::noteweft::v1::{name}, _>")))
        }
        (Type::Message, ".google.protobuf.Struct") => {
            Ok(Some("crate::json_encoding::object".to_owned()))
        }
        _ => Ok(None),
    }
}
