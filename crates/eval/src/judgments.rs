//! Queries and their relevance judgments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trec_column::encode_column;

/// A query of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalQuery {
    /// Id used in the judgments.
    pub id: String,
    /// Query text.
    pub text: String,
    /// Uris of notes to exclude from the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Answers, any of which a context should contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// Texts of relevant passages, all of which a context should contain; if empty, the bodies of the judged notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<String>,
}

/// Grade of each judged document: 0 for irrelevant, higher for more relevant.
pub type Grades = BTreeMap<String, u32>;

/// The grades of each query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgments(BTreeMap<String, Grades>);

/// Reason why a file of queries or judgments cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A line is not a query.
    #[error("line {line}: not a JSON object with `id` and `text`: {source}")]
    Query {
        /// Line number, from 1.
        line: usize,
        /// The JSON error.
        source: serde_json::Error,
    },
    /// A query has no words.
    #[error("line {line}: the query `{id}` has no text")]
    Blank {
        /// Line number, from 1.
        line: usize,
        /// Id of the query.
        id: String,
    },
    /// A query id occurs twice.
    #[error("line {line}: duplicate query `{id}`")]
    Twice {
        /// Line number, from 1.
        line: usize,
        /// Id of the query.
        id: String,
    },
    /// A line is not a judgment.
    #[error(
        "line {line}: expected `query <tab> document <tab> grade` or TREC's `query 0 document grade`, with a whole number up to {MAX_GRADE}"
    )]
    Judgment {
        /// Line number, from 1.
        line: usize,
    },
}

/// Reads queries from a file with one JSON object per line. Fields unknown to [`EvalQuery`] are ignored.
pub fn read_queries(text: &str) -> Result<Vec<EvalQuery>, ReadError> {
    let mut queries: Vec<EvalQuery> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (line, text) in lines(text) {
        let query: EvalQuery =
            serde_json::from_str(text).map_err(|source| ReadError::Query { line, source })?;
        if query.text.trim().is_empty() {
            return Err(ReadError::Blank { line, id: query.id });
        }
        if !seen.insert(query.id.clone()) {
            return Err(ReadError::Twice { line, id: query.id });
        }
        queries.push(query);
    }
    Ok(queries)
}

impl Judgments {
    /// Reads `query <tab> document [<tab> grade]`, or TREC's four columns `query 0 document grade`, separated by tabs or, in a line without tabs, by spaces. A repeated judgment replaces the earlier one.
    ///
    /// Names are read as written; [`renamed`](Self::renamed) decodes names encoded as columns.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let mut judgments = Self::default();
        for (line, text) in lines(text) {
            let (query, document, grade) = judgment(text).ok_or(ReadError::Judgment { line })?;
            judgments.judge(query, document, grade);
        }
        Ok(judgments)
    }

    /// Adds a judgment.
    pub fn judge(&mut self, query: &str, document: &str, grade: u32) {
        self.0.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
    }

    /// Returns the judgments with renamed queries and documents, for which `query` and `document` return a name.
    #[must_use]
    pub fn renamed(
        &self,
        query: impl Fn(&str) -> Option<String>,
        document: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let mut renamed = Self::default();
        for (asked, grades) in &self.0 {
            let asked = query(asked).unwrap_or_else(|| asked.clone());
            for (judged, grade) in grades {
                let judged = document(judged).unwrap_or_else(|| judged.clone());
                renamed.judge(&asked, &judged, *grade);
            }
        }
        renamed
    }

    /// Writes the judgments in the format of [`read`](Self::read), by query and document, with names encoded by [`encode_column`](crate::encode_column).
    #[must_use]
    pub fn lines(&self) -> String {
        let each = self.0.iter().flat_map(|(query, grades)| {
            grades.iter().map(move |(document, grade)| (query, document, grade))
        });
        each.map(|(query, document, grade)| {
            format!("{}\t{}\t{grade}\n", encode_column(query), encode_column(document))
        })
        .collect()
    }

    /// Returns the queries with at least one relevant document, ascending, with their grades.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Grades)> {
        let judged = self.0.iter().filter(|(_, grades)| grades.values().any(|grade| *grade > 0));
        judged.map(|(query, grades)| (query.as_str(), grades))
    }

    /// Returns the grades of a query; empty if it is not judged.
    #[must_use]
    pub fn of(&self, query: &str) -> Grades {
        self.0.get(query).cloned().unwrap_or_default()
    }
}

/// Returns the non-empty lines with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

/// Maximum grade: a gain of 2^grade must stay small enough that other gains still matter.
const MAX_GRADE: u32 = 30;

fn judgment(line: &str) -> Option<(&str, &str, u32)> {
    let grade = |text: &str| text.trim().parse::<i64>().ok();
    // TREC uses negative grades for spam; they count as 0.
    let sound = |grade: i64| u32::try_from(grade.max(0)).ok().filter(|grade| *grade <= MAX_GRADE);
    let mut columns: Vec<&str> = line.split('\t').collect();
    if columns.len() == 1 {
        columns = line.split_whitespace().collect();
        if columns.len() != 4 {
            return None;
        }
    }
    let (query, document, grade) = match columns[..] {
        [query, document] => (query, document.trim_end(), 1),
        [query, document, number] | [query, "0" | "Q0", document, number] => {
            (query, document, sound(grade(number)?)?)
        }
        _ => return None,
    };
    (!query.is_empty()).then_some((query, document, grade))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgments_are_read_in_both_formats() {
        for (name, text) in [
            ("tabs", "q\ta b\t2\nq\tc\t0\n"),
            ("TREC's columns by tabs", "q\t0\ta b\t2\nq\t0\tc\t0\n"),
            ("a mark of order and other line ends", "\u{feff}q\ta b\t2\r\n\r\nq\tc\t0"),
        ] {
            let judgments = Judgments::read(text).unwrap();
            assert_eq!(
                judgments.of("q"),
                Grades::from([("a b".into(), 2), ("c".into(), 0)]),
                "{name}"
            );
        }
        let tabs = Judgments::read("q\t0 day\t1\n").unwrap();
        assert_eq!(tabs.of("q"), Grades::from([("0 day".into(), 1)]), "tabs divide before spaces");
        let trec = Judgments::read("q 0 a 2\nq 0 c -1\np\tb\n").unwrap();
        assert_eq!(trec.of("q"), Grades::from([("a".into(), 2), ("c".into(), 0)]));
        assert_eq!(trec.of("p"), Grades::from([("b".into(), 1)]));
        assert_eq!(trec.of("none"), Grades::new());
        let judged: Vec<&str> = trec.iter().map(|(query, _)| query).collect();
        assert_eq!(judged, ["p", "q"]);
        assert_eq!(Judgments::read(&trec.lines()).unwrap(), trec);
    }

    #[test]
    fn encoded_names_are_decoded() {
        let judgments = Judgments::read("my q\ta b\t2\nmy q\t50%\t1\n").unwrap();
        let saved = Judgments::read(&judgments.lines()).unwrap();
        assert_eq!(saved.of("my%20q"), Grades::from([("50%25".into(), 1), ("a%20b".into(), 2)]));
        assert_eq!(saved.renamed(crate::decode_column, crate::decode_column), judgments);
        assert_eq!(saved.renamed(|_| None, |_| None), saved);
    }

    #[test]
    fn query_without_relevant_document_is_not_judged() {
        let judgments = Judgments::read("q\ta\t0\n").unwrap();
        assert_eq!(judgments.iter().count(), 0);
    }

    #[test]
    fn invalid_lines_are_reported() {
        let error = |text| Judgments::read(text).unwrap_err().to_string();
        assert!(error("q\ta\t1\nnothing\n").starts_with("line 2"));
        assert!(error("q\ta\tmuch\n").starts_with("line 1"));
        let error = |text| read_queries(text).unwrap_err().to_string();
        assert_eq!(
            error("{\"id\": \"a\", \"text\": \" \"}\n"),
            "line 1: the query `a` has no text"
        );
        assert!(error("{\"id\": \"a\", \"text\": \"b\"}\n\n{\"id\": 1}\n").starts_with("line 3"));
        assert!(
            error("{\"id\": \"a\", \"text\": \"b\"}\n{\"id\": \"a\", \"text\": \"c\"}")
                .contains("duplicate query `a`")
        );
    }
}
