//! Properties of model families, recognized by name: the prefixes they were trained with, and their pooling.

use serde::{Deserialize, Serialize};
use weft_index::embedder::Role;

use super::pooling::Pooling;

/// Text to prepend for a model. Empty if the model needs none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prefixes {
    /// Prefix of a query, with its trailing space.
    pub query: String,
    /// Prefix of a document, with its trailing space.
    pub document: String,
}

impl Prefixes {
    /// Prepends the prefix for `role`.
    pub(crate) fn apply(&self, text: &str, role: Role) -> String {
        let prefix = match role {
            Role::Query => &self.query,
            Role::Document => &self.document,
        };
        [prefix, text].concat()
    }

    /// Returns true if no prefix is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.query.is_empty() && self.document.is_empty()
    }
}

/// A family: the words that its models' names contain, and the parameters from their model cards.
struct Family {
    words: &'static [&'static str],
    query: &'static str,
    document: &'static str,
    pooling: Pooling,
}

const RETRIEVE: &str = "Represent this sentence for searching relevant passages: ";
const INSTRUCT: &str =
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";
const RETRIEVE_ZH: &str = "为这个句子生成表示以用于检索相关文章：";

/// The first row whose words all occur in a name applies, so more specific rows come first.
///
/// Source: each family's model card, "usage".
const FAMILIES: &[Family] = &[
    family(&["e5", "instruct"], INSTRUCT, "", Pooling::Mean),
    family(&["e5"], "query: ", "passage: ", Pooling::Mean),
    family(&["bge", "m3"], "", "", Pooling::Cls),
    family(&["bge", "zh"], RETRIEVE_ZH, "", Pooling::Cls),
    family(&["bge"], RETRIEVE, "", Pooling::Cls),
    family(&["nomic", "embed"], "search_query: ", "search_document: ", Pooling::Mean),
    family(&["modernbert", "embed"], "search_query: ", "search_document: ", Pooling::Mean),
    family(&["mxbai", "embed"], RETRIEVE, "", Pooling::Cls),
    family(&["arctic", "embed", "v2"], "query: ", "", Pooling::Cls),
    family(&["arctic", "embed"], RETRIEVE, "", Pooling::Cls),
    family(
        &["embeddinggemma"],
        "task: search result | query: ",
        "title: none | text: ",
        Pooling::Mean,
    ),
    family(&["gte", "en", "v1"], "", "", Pooling::Cls),
];

const fn family(
    words: &'static [&'static str],
    query: &'static str,
    document: &'static str,
    pooling: Pooling,
) -> Family {
    Family { words, query, document, pooling }
}

/// Returns the prefixes and pooling of the family that `name` belongs to; no prefixes and mean pooling for an unknown name.
pub(crate) fn lookup(name: &str) -> (Prefixes, Pooling) {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let family =
        FAMILIES.iter().find(|family| family.words.iter().all(|word| words.contains(word)));
    family.map_or((Prefixes::default(), Pooling::Mean), |family| {
        let prefixes =
            Prefixes { query: family.query.to_owned(), document: family.document.to_owned() };
        (prefixes, family.pooling)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_is_recognized_by_model_name() {
        let cases = [
            ("intfloat/multilingual-e5-small", "query: ", "passage: ", Pooling::Mean),
            ("intfloat/multilingual-e5-large-instruct", INSTRUCT, "", Pooling::Mean),
            ("Xenova/bge-small-en-v1.5", RETRIEVE, "", Pooling::Cls),
            ("BAAI/bge-small-zh-v1.5", RETRIEVE_ZH, "", Pooling::Cls),
            ("BAAI/bge-m3", "", "", Pooling::Cls),
            (
                "nomic-ai/nomic-embed-text-v1.5",
                "search_query: ",
                "search_document: ",
                Pooling::Mean,
            ),
            ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", "", Pooling::Cls),
            ("Snowflake/snowflake-arctic-embed-xs", RETRIEVE, "", Pooling::Cls),
            ("Alibaba-NLP/gte-base-en-v1.5", "", "", Pooling::Cls),
            ("thenlper/gte-base", "", "", Pooling::Mean),
            ("all-MiniLM-L6-v2", "", "", Pooling::Mean),
            ("some/feature5-model", "", "", Pooling::Mean),
        ];
        for (name, query, document, pooling) in cases {
            let expected =
                (Prefixes { query: query.to_owned(), document: document.to_owned() }, pooling);
            assert_eq!(lookup(name), expected, "{name}");
        }
    }
}
