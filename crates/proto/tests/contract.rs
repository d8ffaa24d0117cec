//! Compatibility and style of the contract: released parts keep their meaning, and new parts follow the conventions.

use std::collections::BTreeSet;
use std::path::Path;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, ServiceDescriptorProto,
};

/// Everything that was released, one line for each item that clients depend on.
const RELEASED: &str = include_str!("../../../proto/released.txt");

fn files() -> Vec<FileDescriptorProto> {
    let set = FileDescriptorSet::decode(weft_proto::FILE_DESCRIPTOR_SET).expect("descriptors");
    set.file.into_iter().filter(|file| file.package().starts_with("noteweft.")).collect()
}

/// Returns everything that clients depend on: names, numbers and types of fields, names and numbers of enum values, and methods.
fn lines() -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for file in files() {
        let package = file.package();
        for own in &file.enum_type {
            enum_lines(package, own, &mut lines);
        }
        for message in &file.message_type {
            message_lines(package, message, &mut lines);
        }
        for service in &file.service {
            for call in &service.method {
                let stream = |is: bool| if is { "stream " } else { "" };
                lines.insert(format!(
                    "call {package}.{}/{} {}{} -> {}{}",
                    service.name(),
                    call.name(),
                    stream(call.client_streaming()),
                    call.input_type(),
                    stream(call.server_streaming()),
                    call.output_type(),
                ));
            }
        }
    }
    lines
}

fn enum_lines(above: &str, own: &EnumDescriptorProto, lines: &mut BTreeSet<String>) {
    for value in &own.value {
        lines.insert(format!("enum {above}.{} {} = {}", own.name(), value.name(), value.number()));
    }
}

fn message_lines(above: &str, message: &DescriptorProto, lines: &mut BTreeSet<String>) {
    let name = format!("{above}.{}", message.name());
    lines.insert(format!("message {name}"));
    for field in &message.field {
        lines.insert(format!(
            "field {name} {} = {} {}",
            field.name(),
            field.number(),
            kind(field, message)
        ));
    }
    for own in &message.enum_type {
        enum_lines(&name, own, lines);
    }
    for inner in &message.nested_type {
        message_lines(&name, inner, lines);
    }
}

/// Describes the wire type of a field and its type in generated code.
fn kind(field: &FieldDescriptorProto, message: &DescriptorProto) -> String {
    let label = match field.label() {
        Label::Repeated => "repeated ",
        Label::Required => "required ",
        Label::Optional if field.proto3_optional() => "optional ",
        Label::Optional => "",
    };
    let one_of = field.oneof_index.filter(|_| !field.proto3_optional());
    let one_of = one_of.and_then(|at| message.oneof_decl.get(usize::try_from(at).ok()?));
    let one_of = one_of.map_or(String::new(), |one_of| format!(" of {}", one_of.name()));
    let own = match field.r#type() {
        Type::Message | Type::Enum | Type::Group => field.type_name().to_owned(),
        Type::Double => "double".to_owned(),
        Type::Float => "float".to_owned(),
        Type::Int64 => "int64".to_owned(),
        Type::Uint64 => "uint64".to_owned(),
        Type::Int32 => "int32".to_owned(),
        Type::Fixed64 => "fixed64".to_owned(),
        Type::Fixed32 => "fixed32".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::String => "string".to_owned(),
        Type::Bytes => "bytes".to_owned(),
        Type::Uint32 => "uint32".to_owned(),
        Type::Sfixed32 => "sfixed32".to_owned(),
        Type::Sfixed64 => "sfixed64".to_owned(),
        Type::Sint32 => "sint32".to_owned(),
        Type::Sint64 => "sint64".to_owned(),
    };
    format!("{label}{own}{one_of}")
}

/// Returns the released items that are missing or changed.
fn broken<'r>(released: &'r str, now: &BTreeSet<String>) -> Vec<&'r str> {
    let lines = released.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter(|line| !now.contains(*line)).collect()
}

#[test]
fn released_items_are_unchanged() {
    let now = lines();
    // Prints the new content of `proto/released.txt`, for a release.
    let text: String = now.iter().flat_map(|line| [line, "\n"]).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("released.txt");
    std::fs::write(&path, format!("{}{text}", header(RELEASED))).unwrap();
    let broken = broken(RELEASED, &now);
    assert!(
        broken.is_empty(),
        "these released items are missing or changed; restore them, or create noteweft.v2:\n{}",
        broken.join("\n")
    );
}

/// Returns the comment lines at the top.
fn header(text: &str) -> String {
    text.lines().take_while(|line| line.starts_with('#')).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn breaking_changes_are_detected_and_additions_are_allowed() {
    let now = lines();
    let field = now.iter().find(|line| line.starts_with("field ")).unwrap();
    let (name, rest) = field.split_once(" = ").unwrap();
    let (number, kind) = rest.split_once(' ').unwrap();
    for (what, changed) in [
        ("another number", format!("{name} = 9{number} {kind}")),
        ("another type", format!("{name} = {number} sfixed32")),
        ("another name", format!("{name}_old = {number} {kind}")),
        ("a removed method", "call noteweft.v1.SearchService/Guess .a -> .b".to_owned()),
        ("a removed message", "message noteweft.v1.Gone".to_owned()),
        ("a removed enum value", "enum noteweft.v1.Phase PHASE_GONE = 99".to_owned()),
    ] {
        assert_eq!(broken(&changed, &now), [changed.as_str()], "{what}");
    }
    assert_eq!(broken(field, &now), [""; 0], "all other items are additions");
}

/// Style rules that tools for other languages rely on. Source: buf's lint category STANDARD, and COMMENTS.
#[test]
fn names_and_comments_follow_the_rules() {
    let mut breaches = Vec::new();
    for file in files() {
        let package = file.package().to_owned();
        let mut breach = |what: String| breaches.push(format!("{}: {what}", file.name()));
        let folder = package.replace('.', "/");
        if !file.name().starts_with(&format!("{folder}/")) {
            breach(format!("is not in the folder {folder}"));
        }
        let version = package.rsplit('.').next().unwrap_or_default();
        if version.strip_prefix('v').is_none_or(|n| n.parse::<u32>().is_err()) {
            breach(format!("the package {package} does not end with a version"));
        }
        for service in &file.service {
            service_breaches(service, &package, &mut breach);
        }
        for own in &file.enum_type {
            enum_breaches(own, &mut breach);
        }
        for message in &file.message_type {
            message_breaches(message, &mut breach);
        }
        uncommented(&file, &mut breach);
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

fn service_breaches(
    service: &ServiceDescriptorProto,
    package: &str,
    breach: &mut impl FnMut(String),
) {
    if !service.name().ends_with("Service") {
        breach(format!("the service {} does not end with Service", service.name()));
    }
    for call in &service.method {
        let wanted = |suffix: &str| format!(".{package}.{}{suffix}", call.name());
        // A streaming method may share the messages of its unary counterpart.
        let whole = call.name().trim_end_matches("Stream");
        let shared = |suffix: &str| format!(".{package}.{whole}{suffix}");
        for (is, suffix) in [(call.input_type(), "Request"), (call.output_type(), "Response")] {
            if is != wanted(suffix) && is != shared(suffix) {
                breach(format!(
                    "{} uses the message {is} instead of {}",
                    call.name(),
                    wanted(suffix)
                ));
            }
        }
    }
}

fn enum_breaches(own: &EnumDescriptorProto, breach: &mut impl FnMut(String)) {
    let prefix = format!("{}_", upper_snake(own.name()));
    for value in &own.value {
        if !value.name().starts_with(&prefix) {
            breach(format!("{} does not start with {prefix}", value.name()));
        }
        if value.number() == 0 && value.name() != format!("{prefix}UNSPECIFIED") {
            breach(format!("{} is 0 instead of {prefix}UNSPECIFIED", value.name()));
        }
    }
}

fn message_breaches(message: &DescriptorProto, breach: &mut impl FnMut(String)) {
    for field in &message.field {
        let name = field.name();
        let is_lower =
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_lower || name.starts_with('_') || name.ends_with('_') || name.contains("__") {
            breach(format!("{}.{name} is not in lower_snake_case", message.name()));
        }
    }
    for own in &message.enum_type {
        enum_breaches(own, breach);
    }
    for inner in &message.nested_type {
        message_breaches(inner, breach);
    }
}

fn upper_snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_uppercase());
    }
    snake
}

/// Reports each message, field, enum, value, service and method without a comment.
fn uncommented(file: &FileDescriptorProto, breach: &mut impl FnMut(String)) {
    // The field numbers in `descriptor.proto` that lead to each.
    let mut wanted: Vec<(Vec<i32>, String)> = Vec::new();
    for (own, at) in file.message_type.iter().zip(0..) {
        message_paths(own, vec![4, at], &mut wanted);
    }
    for (own, at) in file.enum_type.iter().zip(0..) {
        enum_paths(own, vec![5, at], &mut wanted);
    }
    for (service, at) in file.service.iter().zip(0..) {
        wanted.push((vec![6, at], service.name().to_owned()));
        let calls = service.method.iter().zip(0..);
        wanted.extend(calls.map(|(call, nth)| (vec![6, at, 2, nth], call.name().to_owned())));
    }
    let known = file.source_code_info.iter().flat_map(|info| &info.location);
    let commented: BTreeSet<&[i32]> = known
        .filter(|location| !location.leading_comments().trim().is_empty())
        .map(|location| location.path.as_slice())
        .collect();
    assert!(commented.len() > 1, "comments of {} are there", file.name());
    for (path, name) in wanted {
        if !commented.contains(path.as_slice()) {
            breach(format!("{name} has no comment"));
        }
    }
}

fn message_paths(message: &DescriptorProto, path: Vec<i32>, wanted: &mut Vec<(Vec<i32>, String)>) {
    // Entry messages of maps are generated.
    if message.options.as_ref().is_some_and(|options| options.map_entry()) {
        return;
    }
    let below = |kind: i32, at: i32| [&path[..], &[kind, at]].concat();
    for (field, at) in message.field.iter().zip(0..) {
        wanted.push((below(2, at), format!("{}.{}", message.name(), field.name())));
    }
    for (inner, at) in message.nested_type.iter().zip(0..) {
        message_paths(inner, below(3, at), wanted);
    }
    for (own, at) in message.enum_type.iter().zip(0..) {
        enum_paths(own, below(4, at), wanted);
    }
    wanted.push((path, message.name().to_owned()));
}

fn enum_paths(own: &EnumDescriptorProto, path: Vec<i32>, wanted: &mut Vec<(Vec<i32>, String)>) {
    for (value, at) in own.value.iter().zip(0..) {
        wanted.push(([&path[..], &[2, at]].concat(), value.name().to_owned()));
    }
    wanted.push((path, own.name().to_owned()));
}
