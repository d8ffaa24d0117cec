//! Tantivy schema of the keyword index.
//!
//! `text` holds every term of a note with positions; the boosted fields repeat the terms of the title, other names, headings, tags, folders, properties and lists of links.
//! `exact` holds the forms of words that analysis folds away.
//! `names` holds each name of a note as a single term, `sections` the name of each section, with the index of its first passage as position.
//! `passages` holds the passages of the body, as numbers in the encoding of `passage_list`.
//! `terms` stores the note's own term list, which is read back to rank related notes and to correct counts when the note is replaced.

use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};

/// Format version. Incremented whenever the analysis or the schema changes, so that older indexes are rebuilt.
pub(super) const FORMAT: u32 = 12;

/// Name under which the index looks up `EncodedTokenizer`.
pub(super) const TOKENIZER: &str = "weft";

/// Number of boosted fields. They are the first of [`SchemaFields::repeated`].
pub(super) const N_BOOSTED: usize = 7;

/// Index of the lists of links in [`SchemaFields::repeated`].
pub(super) const LINK_LISTS: usize = 6;

/// Index of the exact forms in [`SchemaFields::repeated`], after the boosted fields.
pub(super) const EXACT: usize = N_BOOSTED;

/// Fields of the schema.
#[derive(Clone, Debug)]
pub(super) struct SchemaFields {
    pub(super) note: Field,
    pub(super) version: Field,
    pub(super) length: Field,
    pub(super) language: Field,
    pub(super) text: Field,
    /// Title, other names, headings, tags, folders, properties, lists of links, exact forms.
    pub(super) repeated: [Field; N_BOOSTED + 1],
    pub(super) names: Field,
    pub(super) sections: Field,
    pub(super) passages: Field,
    pub(super) terms: Field,
}

pub(super) const NOTE: &str = "note";
pub(super) const VERSION: &str = "version";
pub(super) const LENGTH: &str = "length";
pub(super) const LANGUAGE: &str = "language";
pub(super) const PASSAGES: &str = "passages";

/// Builds the schema and returns it with its fields.
pub(super) fn schema() -> (Schema, SchemaFields) {
    let terms_with = |option| {
        let indexing = TextFieldIndexing::default();
        let indexing =
            indexing.set_tokenizer(TOKENIZER).set_fieldnorms(false).set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut builder = Schema::builder();
    let fields = SchemaFields {
        note: builder.add_u64_field(NOTE, INDEXED | FAST),
        version: builder.add_u64_field(VERSION, FAST),
        length: builder.add_u64_field(LENGTH, FAST),
        language: builder.add_u64_field(LANGUAGE, FAST),
        text: builder.add_text_field("text", terms_with(IndexRecordOption::WithFreqsAndPositions)),
        repeated: [
            "title",
            "aliases",
            "headings",
            "tags",
            "folders",
            "properties",
            "link_lists",
            "exact",
        ]
        .map(|name| builder.add_text_field(name, terms_with(IndexRecordOption::WithFreqs))),
        names: builder.add_text_field("names", terms_with(IndexRecordOption::Basic)),
        sections: builder
            .add_text_field("sections", terms_with(IndexRecordOption::WithFreqsAndPositions)),
        passages: builder.add_u64_field(PASSAGES, FAST),
        terms: builder.add_bytes_field("terms", BytesOptions::default().set_stored()),
    };
    (builder.build(), fields)
}
