//! Queries and what is right for them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::column;

/// Something to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// The name under which it is judged.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// Notes that are left out of its answer, by uri.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// The grade of each judged document: 0 for wrong, more for better.
pub type Grades = BTreeMap<String, u32>;

/// What is right for each query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgements(BTreeMap<String, Grades>);

/// Why a file of queries or judgements cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A line that is no query.
    #[error("line {line}: it is no JSON object with `id` and `text`: {source}")]
    Query {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A query without words.
    #[error("line {line}: the query `{id}` asks nothing")]
    Blank {
        /// Which line, from 1.
        line: usize,
        /// Its id.
        id: String,
    },
    /// A query that was there before.
    #[error("line {line}: the query `{id}` was there before")]
    Twice {
        /// Which line, from 1.
        line: usize,
        /// Its id.
        id: String,
    },
    /// A line that is no judgement.
    #[error(
        "line {line}: it is neither `query <tab> document <tab> grade` nor TREC's `query 0 document grade`, with a whole number up to {MAX_GRADE}"
    )]
    Judgement {
        /// Which line, from 1.
        line: usize,
    },
}

/// The queries of a file with one JSON object a line, in its order. Fields that a [`Query`] does not have are ignored.
pub fn read_queries(text: &str) -> Result<Vec<Query>, ReadError> {
    let mut queries: Vec<Query> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (line, text) in lines(text) {
        let query: Query =
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

impl Judgements {
    /// Reads `query <tab> document [<tab> grade]`, or TREC's four columns `query 0 document grade`, divided by tabs or, in a line without one, by spaces. A document judged twice has the later grade.
    ///
    /// Names are taken as they stand; [`renamed`](Self::renamed) reads those that were written as columns.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        let mut judgements = Self::default();
        for (line, text) in lines(text) {
            let (query, document, grade) = judgement(text).ok_or(ReadError::Judgement { line })?;
            judgements.judge(query, document, grade);
        }
        Ok(judgements)
    }

    /// Adds a judgement.
    pub fn judge(&mut self, query: &str, document: &str, grade: u32) {
        self.0.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
    }

    /// The judgements with other names, where `query` and `document` give some.
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

    /// The judgements as [`read`](Self::read) takes them, by query and document, with each name as a [`column()`].
    #[must_use]
    pub fn lines(&self) -> String {
        let each = self.0.iter().flat_map(|(query, grades)| {
            grades.iter().map(move |(document, grade)| (query, document, grade))
        });
        each.map(|(query, document, grade)| {
            format!("{}\t{}\t{grade}\n", column(query), column(document))
        })
        .collect()
    }

    /// The judged queries for which something is right, ascending, with their grades.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Grades)> {
        let judged = self.0.iter().filter(|(_, grades)| grades.values().any(|grade| *grade > 0));
        judged.map(|(query, grades)| (query.as_str(), grades))
    }

    /// The grades of a query; none for one that is not judged.
    #[must_use]
    pub fn of(&self, query: &str) -> Grades {
        self.0.get(query).cloned().unwrap_or_default()
    }
}

/// The lines with content, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

/// The highest grade: a gain of 2^grade must stay a number, of which others tell something beside it.
const MAX_GRADE: u32 = 30;

fn judgement(line: &str) -> Option<(&str, &str, u32)> {
    let grade = |text: &str| text.trim().parse::<i64>().ok();
    // TREC knows grades below 0 for spam; they are as wrong as 0.
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
    fn judgements_by_tab_or_as_trec_writes_them() {
        for (name, text) in [
            ("tabs", "q\ta b\t2\nq\tc\t0\n"),
            ("TREC's columns by tabs", "q\t0\ta b\t2\nq\t0\tc\t0\n"),
            ("a mark of order and other line ends", "\u{feff}q\ta b\t2\r\n\r\nq\tc\t0"),
        ] {
            let judgements = Judgements::read(text).unwrap();
            assert_eq!(
                judgements.of("q"),
                Grades::from([("a b".into(), 2), ("c".into(), 0)]),
                "{name}"
            );
        }
        let tabs = Judgements::read("q\t0 day\t1\n").unwrap();
        assert_eq!(tabs.of("q"), Grades::from([("0 day".into(), 1)]), "tabs divide before spaces");
        let trec = Judgements::read("q 0 a 2\nq 0 c -1\np\tb\n").unwrap();
        assert_eq!(trec.of("q"), Grades::from([("a".into(), 2), ("c".into(), 0)]));
        assert_eq!(trec.of("p"), Grades::from([("b".into(), 1)]));
        assert_eq!(trec.of("none"), Grades::new());
        let judged: Vec<&str> = trec.iter().map(|(query, _)| query).collect();
        assert_eq!(judged, ["p", "q"]);
        assert_eq!(Judgements::read(&trec.lines()).unwrap(), trec);
    }

    #[test]
    fn names_that_were_written_down_come_back() {
        let judgements = Judgements::read("my q\ta b\t2\nmy q\t50%\t1\n").unwrap();
        let saved = Judgements::read(&judgements.lines()).unwrap();
        assert_eq!(saved.of("my%20q"), Grades::from([("50%25".into(), 1), ("a%20b".into(), 2)]));
        assert_eq!(saved.renamed(crate::name_of, crate::name_of), judgements);
        assert_eq!(saved.renamed(|_| None, |_| None), saved);
    }

    #[test]
    fn a_query_without_a_right_document_is_not_judged() {
        let judgements = Judgements::read("q\ta\t0\n").unwrap();
        assert_eq!(judgements.iter().count(), 0);
    }

    #[test]
    fn wrong_lines_are_named() {
        let error = |text| Judgements::read(text).unwrap_err().to_string();
        assert!(error("q\ta\t1\nnothing\n").starts_with("line 2"));
        assert!(error("q\ta\tmuch\n").starts_with("line 1"));
        let error = |text| read_queries(text).unwrap_err().to_string();
        assert_eq!(
            error("{\"id\": \"a\", \"text\": \" \"}\n"),
            "line 1: the query `a` asks nothing"
        );
        assert!(error("{\"id\": \"a\", \"text\": \"b\"}\n\n{\"id\": 1}\n").starts_with("line 3"));
        assert!(
            error("{\"id\": \"a\", \"text\": \"b\"}\n{\"id\": \"a\", \"text\": \"c\"}")
                .contains("before")
        );
    }
}
