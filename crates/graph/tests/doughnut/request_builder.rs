//! One-line requests, and results as text.

use weft_graph::doughnut::{
    Budget, Doughnut, Options, Relation, Relations, Request, Resume, Surroundings, doughnut,
};
use weft_model::{Estimator, NoteId, NoteSet, Tokens, tokens::Characters, tokens::Unit};
use weft_testkit::Notebook;

/// Request for a note of a notebook. By default, every note costs one token.
#[derive(Clone)]
pub(crate) struct RequestBuilder<'n> {
    notebook: &'n Notebook,
    focus: &'n str,
    budget: Budget,
    estimator: &'n dyn Estimator,
    filter: NoteSet,
    relations: Relations<'n>,
    options: Options,
    resume: Option<Resume>,
}

/// A result with uris instead of ids.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedResult {
    pub(crate) answer: Doughnut,
    /// `Relation uri`, and `+Relation` for each further relation.
    pub(crate) related: Vec<String>,
    pub(crate) path: Vec<String>,
    pub(crate) children: Vec<String>,
    pub(crate) referrings: Vec<String>,
    pub(crate) prior: Vec<String>,
    pub(crate) younger: Vec<String>,
    pub(crate) skipped: Vec<String>,
}

/// A budget that is never exhausted.
pub(crate) const AMPLE: u64 = 1_000_000_000;

pub(crate) fn around<'n>(notebook: &'n Notebook, focus: &'n str) -> RequestBuilder<'n> {
    RequestBuilder {
        notebook,
        focus,
        budget: Budget::Related(Tokens::new(AMPLE)),
        estimator: &Unit,
        filter: NoteSet::All,
        relations: Relations::Structure,
        options: Options::default(),
        resume: None,
    }
}

impl<'n> RequestBuilder<'n> {
    pub(crate) fn budget(self, tokens: u64) -> Self {
        Self { budget: Budget::Related(Tokens::new(tokens)), ..self }
    }

    pub(crate) fn total_budget(self, tokens: u64) -> Self {
        Self { budget: Budget::Total(Tokens::new(tokens)), ..self }
    }

    pub(crate) fn estimator(self, estimator: &'n dyn Estimator) -> Self {
        Self { estimator, ..self }
    }

    pub(crate) fn characters(self) -> Self {
        self.estimator(&Characters { per_token: 3.75 })
    }

    pub(crate) fn without(self, uris: &[&str]) -> Self {
        let out: Vec<NoteId> =
            uris.iter().map(|uri| self.notebook.id(self.notebook.find(uri))).collect();
        let all = (0..self.notebook.notes.len()).map(|at| self.notebook.id(at));
        Self { filter: all.filter(|note| !out.contains(note)).collect(), ..self }
    }

    pub(crate) fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    pub(crate) fn surroundings(self, surroundings: &'n dyn Surroundings) -> Self {
        Self { relations: Relations::Auto(surroundings), ..self }
    }

    pub(crate) fn after(self, page: &NamedResult) -> Self {
        Self { resume: page.answer.resume.clone(), ..self }
    }

    pub(crate) fn run(self) -> NamedResult {
        let Self { notebook, focus, budget, estimator, filter, relations, options, resume } = self;
        let graph = notebook.graph();
        let request = Request {
            focus: notebook.id(notebook.find(focus)),
            budget,
            filter: &filter,
            relations,
            options,
            resume: resume.as_ref(),
            stop: &|| false,
        };
        let answer = doughnut(&graph, notebook, estimator, &request).expect("the focus exists");
        let uri = |note: NoteId| graph.uri(note).to_string();
        let uris = |notes: &[NoteId]| notes.iter().copied().map(uri).collect::<Vec<_>>();
        let related = answer.related_notes.iter().map(|note| {
            let also: String = note.also_relations.iter().map(|also| format!(" +{also}")).collect();
            format!("{} {}{also}", note.relation, uri(note.note))
        });
        NamedResult {
            related: related.collect(),
            path: uris(&answer.focus_note.contextual_path),
            children: uris(&answer.focus_note.children),
            referrings: uris(&answer.focus_note.referrings),
            prior: uris(&answer.focus_note.prior_siblings),
            younger: uris(&answer.focus_note.younger_siblings),
            skipped: answer
                .skipped
                .iter()
                .map(|skipped| {
                    format!("{} {} {}", skipped.relation, uri(skipped.note), skipped.tokens.get())
                })
                .collect(),
            answer,
        }
    }
}

impl NamedResult {
    /// Returns the related notes of one relation, in order.
    pub(crate) fn of_relation(&self, relation: Relation) -> Vec<&str> {
        self.related
            .iter()
            .filter_map(|line| {
                let mut words = line.split(' ');
                (words.next() == Some(relation.name())).then(|| words.next()).flatten()
            })
            .collect()
    }

    /// Returns the related notes without their further relations.
    pub(crate) fn without_further_relations(&self) -> Vec<&str> {
        self.related.iter().map(|line| line.split(" +").next().unwrap_or(line)).collect()
    }
}

/// Estimator that reads the cost from the details: `cost 7`; otherwise one token.
pub(crate) struct CostFromDetails;

impl Estimator for CostFromDetails {
    fn estimate(&self, text: &str) -> Tokens {
        let digits = text.split_once("cost ").map_or("1", |(_, rest)| rest);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        Tokens::new(digits[..end].parse().expect("a number"))
    }
}
