//! The tools: a table of their names, descriptions and handlers.

mod context_tool;
mod get_note_tool;
mod list_notes_tool;
mod path_tool;
mod related_tool;
mod search_tool;
mod shared_arguments;
mod tree_tool;
mod write_note_tool;

use std::fmt::Display;
use std::pin::Pin;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tonic::Status;

use crate::error_text;
use crate::service_clients::Clients;

/// Text and structured content of a result, or an error message.
type ToolResult = Result<(String, Value), String>;

/// Future of a tool call.
type ToolFuture = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// Effect of a tool on the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// Changes nothing.
    Reads,
    /// May replace what exists; the same call again changes nothing more.
    Overwrites,
}

/// A tool.
pub(crate) struct ToolEntry {
    pub(crate) name: &'static str,
    effect: ToolEffect,
    describe: fn() -> Tool,
    pub(crate) call: fn(Clients, JsonObject) -> ToolFuture,
}

/// All tools, in the order in which a model should consider them.
const TOOLS: [ToolEntry; 8] = [
    entry::<search_tool::SearchTool>(),
    entry::<context_tool::ContextTool>(),
    entry::<get_note_tool::GetNoteTool>(),
    entry::<list_notes_tool::ListNotesTool>(),
    entry::<related_tool::RelatedTool>(),
    entry::<tree_tool::TreeTool>(),
    entry::<path_tool::PathTool>(),
    entry::<write_note_tool::WriteNoteTool>(),
];

/// Returns the tools of a server; those that change notes only if it may write.
pub(crate) fn available(may_write: bool) -> impl Iterator<Item = &'static ToolEntry> {
    TOOLS.iter().filter(move |tool| may_write || tool.effect == ToolEffect::Reads)
}

/// The request of a tool. Its fields are the tool's arguments, and their documentation is shown to models.
trait ToolRequest: DeserializeOwned + JsonSchema + Send + 'static {
    /// Name of the tool.
    const NAME: &'static str;
    /// Title for people.
    const TITLE: &'static str;
    /// Description for models: what it does and when to call it.
    const DESCRIPTION: &'static str;
    /// Effect on the notes, as clients see it in the annotations.
    const EFFECT: ToolEffect = ToolEffect::Reads;
    /// Fields of the gRPC request whose arguments have other names, as pairs of field and argument.
    const RENAMED: &'static [(&'static str, &'static str)] = &[];
    /// Result; its `Display` is the text content.
    type Output: Serialize + JsonSchema + Display;

    fn run(self, clients: Clients) -> impl Future<Output = Result<Self::Output, Status>> + Send;
}

const fn entry<Q: ToolRequest>() -> ToolEntry {
    ToolEntry {
        name: Q::NAME,
        effect: Q::EFFECT,
        describe: describe::<Q>,
        call: |clients, arguments| Box::pin(call::<Q>(clients, arguments)),
    }
}

/// Returns the tools of a server as listed to clients; always the same.
pub(crate) fn list(may_write: bool) -> Vec<Tool> {
    available(may_write).map(|tool| (tool.describe)()).collect()
}

fn describe<Q: ToolRequest>() -> Tool {
    let hints = ToolAnnotations::with_title(Q::TITLE)
        .read_only(Q::EFFECT == ToolEffect::Reads)
        .destructive(Q::EFFECT == ToolEffect::Overwrites)
        .idempotent(true)
        .open_world(false);
    Tool::new(Q::NAME, Q::DESCRIPTION, schema::<Q>())
        .with_title(Q::TITLE)
        .with_raw_output_schema(schema::<Q::Output>().into())
        .with_annotations(hints)
}

/// Returns the schema of `T` without references, which not all clients follow.
fn schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    let mut schema = schema.to_value();
    remove_number_formats(&mut schema);
    match schema {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

/// Removes the formats of numbers, such as `uint64`, which JSON Schema does not define: validators warn about them.
fn remove_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("type").is_some_and(|it| it.as_str() != Some("string")) {
                object.remove("format");
            }
            object.values_mut().for_each(remove_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_number_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes `null` values, which some models send for absent arguments.
fn remove_nulls(arguments: &mut JsonObject) {
    arguments.retain(|_, value| !value.is_null());
    arguments.values_mut().filter_map(Value::as_object_mut).for_each(remove_nulls);
}

async fn call<Q: ToolRequest>(clients: Clients, mut arguments: JsonObject) -> ToolResult {
    remove_nulls(&mut arguments);
    let question: Q =
        serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
            let path = error.path().to_string();
            let at = if path == "." { String::new() } else { format!("`{path}`: ") };
            let said = error.into_inner().to_string();
            let said = match said.strip_suffix("expected a sequence") {
                Some(rest) => format!("{rest}expected an array, such as [\"a\", \"b\"]"),
                None => said,
            };
            format!("{at}{said}. Correct this argument and call again.")
        })?;
    let answer =
        question.run(clients).await.map_err(|status| error_text::of_status(&status, Q::RENAMED))?;
    let text = answer.to_string();
    match serde_json::to_value(answer) {
        Ok(structured) => Ok((text, structured)),
        Err(error) => Err(format!("The result cannot be serialized: {error}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list that clients show to models and validate results against. A change here changes how agents call.
    #[test]
    fn tool_list_matches_the_snapshot() {
        let list = serde_json::to_string_pretty(&list(true)).unwrap() + "\n";
        assert!(
            list == include_str!("tools.json"),
            "if the change is intended, write this to tools.json:\n{list}"
        );
    }

    #[test]
    fn tools_that_write_are_listed_on_request_only() {
        for tool in list(false) {
            let hints = tool.annotations.unwrap();
            assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(true), Some(false)));
        }
        let all = list(true);
        let writing = all.iter().filter(|tool| {
            tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint == Some(false))
        });
        let writing: Vec<&str> = writing.map(|tool| &*tool.name).collect();
        assert_eq!((writing, all.len() - 1), (vec!["write_note"], list(false).len()));
    }

    #[test]
    fn every_argument_is_documented_and_no_argument_is_nullable_or_unknown() {
        for tool in list(true) {
            let schema = Value::Object((*tool.input_schema).clone());
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name}", tool.name);
                assert!(
                    !property.to_string().contains("null"),
                    "{}: {name}: {property}",
                    tool.name
                );
            }
            assert!(!schema.to_string().contains("$ref"), "{}", tool.name);
        }
    }
}
