//! The tools: a table, and what each row needs.

mod args;
mod context;
mod list;
mod note;
mod path;
mod related;
mod search;
mod tree;

use std::fmt::Display;
use std::pin::Pin;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tonic::Status;

use crate::clients::Clients;
use crate::problem;

/// A text to read with the same in structured form, or what went wrong.
type Outcome = Result<(String, Value), String>;

/// A call on its way.
type Calling = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A tool by name.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    describe: fn() -> Tool,
    pub(crate) call: fn(Clients, JsonObject) -> Calling,
}

/// The tools, in the order in which a model should think of them.
pub(crate) const TOOLS: [Row; 7] = [
    row::<search::Search>(),
    row::<context::Context>(),
    row::<note::GetNote>(),
    row::<list::ListNotes>(),
    row::<related::Related>(),
    row::<tree::Tree>(),
    row::<path::Path>(),
];

/// A question that a tool asks. Its fields are the tool's arguments; their documentation is what a model reads of them.
trait Question: DeserializeOwned + JsonSchema + Send + 'static {
    /// The tool's name.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// What it does and when to call it, for a model.
    const DESCRIPTION: &'static str;
    /// Fields of the contract that its arguments call otherwise: theirs, and its own.
    const RENAMED: &'static [(&'static str, &'static str)] = &[];
    /// What comes back; displayed, it is the text to read.
    type Answer: Serialize + JsonSchema + Display;

    fn ask(self, clients: Clients) -> impl Future<Output = Result<Self::Answer, Status>> + Send;
}

const fn row<Q: Question>() -> Row {
    Row {
        name: Q::NAME,
        describe: describe::<Q>,
        call: |clients, arguments| Box::pin(call::<Q>(clients, arguments)),
    }
}

/// All tools as clients list them; always the same.
pub(crate) fn list() -> Vec<Tool> {
    TOOLS.iter().map(|row| (row.describe)()).collect()
}

fn describe<Q: Question>() -> Tool {
    let hints = ToolAnnotations::with_title(Q::TITLE)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(Q::NAME, Q::DESCRIPTION, schema::<Q>())
        .with_title(Q::TITLE)
        .with_raw_output_schema(schema::<Q::Answer>().into())
        .with_annotations(hints)
}

/// The schema of `T` with everything in its place: not all clients follow references.
fn schema<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    match schema.to_value() {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

/// Takes out the `null`s that some models write for what they do not give.
fn forget_nulls(arguments: &mut JsonObject) {
    arguments.retain(|_, value| !value.is_null());
    arguments.values_mut().filter_map(Value::as_object_mut).for_each(forget_nulls);
}

async fn call<Q: Question>(clients: Clients, mut arguments: JsonObject) -> Outcome {
    forget_nulls(&mut arguments);
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
        question.ask(clients).await.map_err(|status| problem::of_status(&status, Q::RENAMED))?;
    let text = answer.to_string();
    match serde_json::to_value(answer) {
        Ok(structured) => Ok((text, structured)),
        Err(error) => Err(format!("The answer cannot be written: {error}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clients show to models, and what they check answers against. A change here changes how agents call.
    #[test]
    fn the_list_of_tools_is_stable() {
        let list = serde_json::to_string_pretty(&list()).unwrap() + "\n";
        assert!(
            list == include_str!("tools.json"),
            "if it is meant, write this to tools.json:\n{list}"
        );
    }

    #[test]
    fn each_argument_is_explained_and_none_may_be_null_or_unknown() {
        for tool in list() {
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
