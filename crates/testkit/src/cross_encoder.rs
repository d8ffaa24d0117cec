//! A tiny cross-encoder: an ONNX model whose score counts the words that a query and a text share.

use std::path::Path;

/// Special tokens, in the order of their ids; those of words follow.
const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

/// Number of shared words at which a text is as likely relevant as not.
const BIAS: f32 = 1.5;

/// Element types of ONNX.
const FLOAT: u64 = 1;
const INT64: u64 = 7;

/// Writes `model.onnx` and `tokenizer.json` to `folder`. The model knows `words`, which must be lower-case.
///
/// # Errors
/// Fails if the files cannot be written.
pub fn write_cross_encoder(folder: &Path, words: &[&str]) -> std::io::Result<()> {
    std::fs::write(folder.join("model.onnx"), model(words.len()))?;
    std::fs::write(folder.join("tokenizer.json"), tokenizer(words))
}

fn tokenizer(words: &[&str]) -> String {
    let entry = |(id, word): (usize, &&str)| format!("\"{word}\": {id}");
    let vocabulary: Vec<String> = SPECIAL.iter().chain(words).enumerate().map(entry).collect();
    let token = |name: &str, kind: u8| {
        format!("{{\"SpecialToken\": {{\"id\": \"{name}\", \"type_id\": {kind}}}}}")
    };
    let text = |name: &str, kind: u8| {
        format!("{{\"Sequence\": {{\"id\": \"{name}\", \"type_id\": {kind}}}}}")
    };
    let single = [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)].join(", ");
    let pair = [&single, &text("B", 1), &token("[SEP]", 1)].map(String::as_str).join(", ");
    let special = |name: &str, id: u8| {
        format!("\"{name}\": {{\"id\": \"{name}\", \"ids\": [{id}], \"tokens\": [\"{name}\"]}}")
    };
    let special = [special("[CLS]", 2), special("[SEP]", 3)].join(", ");
    let vocabulary = vocabulary.join(", ");
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
"normalizer": {{"type": "Lowercase"}}, "pre_tokenizer": {{"type": "Whitespace"}},
"post_processor": {{"type": "TemplateProcessing", "single": [{single}], "pair": [{pair}], "special_tokens": {{{special}}}}},
"decoder": null, "model": {{"type": "WordLevel", "vocab": {{{vocabulary}}}, "unk_token": "[UNK]"}}}}"#
    )
}

/// Encodes the model: the product of the word counts of both texts, summed over the words.
fn model(n_words: usize) -> Vec<u8> {
    let n_tokens = SPECIAL.len() + n_words;
    let mut one_hot = vec![0.0_f32; n_tokens * n_words];
    for word in 0..n_words {
        one_hot[(SPECIAL.len() + word) * n_words + word] = 1.0;
    }
    let one_hot: Vec<u8> = one_hot.iter().flat_map(|value| value.to_le_bytes()).collect();
    let size = |n: usize| u64::try_from(n).unwrap_or_default();
    let to_float = [integer_attribute("to", FLOAT)];
    let reduced = |kept: u64| [integer_attribute("keepdims", kept)];
    let nodes = [
        node("Gather", &["one_hot", "input_ids"], "embedded", &[]),
        node("Cast", &["token_type_ids"], "types", &to_float),
        node("Cast", &["attention_mask"], "mask", &to_float),
        node("Mul", &["types", "mask"], "of_text", &[]),
        node("Sub", &["mask", "of_text"], "of_query", &[]),
        node("Unsqueeze", &["of_text", "last"], "text_mask", &[]),
        node("Unsqueeze", &["of_query", "last"], "query_mask", &[]),
        node("Mul", &["embedded", "text_mask"], "text_words", &[]),
        node("Mul", &["embedded", "query_mask"], "query_words", &[]),
        node("ReduceSum", &["text_words", "second"], "text_counts", &reduced(0)),
        node("ReduceSum", &["query_words", "second"], "query_counts", &reduced(0)),
        node("Mul", &["text_counts", "query_counts"], "shared", &[]),
        node("ReduceSum", &["shared", "second"], "n_shared", &reduced(1)),
        node("Sub", &["n_shared", "bias"], "logits", &[]),
    ];
    let initializers = [
        tensor("one_hot", FLOAT, &[size(n_tokens), size(n_words)], &one_hot),
        tensor("last", INT64, &[1], &2_i64.to_le_bytes()),
        tensor("second", INT64, &[1], &1_i64.to_le_bytes()),
        tensor("bias", FLOAT, &[1], &BIAS.to_le_bytes()),
    ];
    let inputs = ["input_ids", "attention_mask", "token_type_ids"];
    let inputs = inputs.map(|name| value_info(name, INT64, &[Err("batch"), Err("length")]));
    let output = value_info("logits", FLOAT, &[Err("batch"), Ok(1)]);
    let mut graph = Vec::new();
    nodes.iter().for_each(|node| bytes(&mut graph, 1, node));
    bytes(&mut graph, 2, b"cross-encoder");
    initializers.iter().for_each(|tensor| bytes(&mut graph, 5, tensor));
    inputs.iter().for_each(|input| bytes(&mut graph, 11, input));
    bytes(&mut graph, 12, &output);
    // The default operator set has no name.
    let mut operators = Vec::new();
    number(&mut operators, 2, 13);
    let mut model = Vec::new();
    number(&mut model, 1, 8);
    bytes(&mut model, 7, &graph);
    bytes(&mut model, 8, &operators);
    model
}

fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let mut node = Vec::new();
    inputs.iter().for_each(|input| bytes(&mut node, 1, input.as_bytes()));
    bytes(&mut node, 2, output.as_bytes());
    bytes(&mut node, 3, output.as_bytes());
    bytes(&mut node, 4, operator.as_bytes());
    attributes.iter().for_each(|attribute| bytes(&mut node, 5, attribute));
    node
}

fn integer_attribute(name: &str, value: u64) -> Vec<u8> {
    const INT: u64 = 2;
    let mut attribute = Vec::new();
    bytes(&mut attribute, 1, name.as_bytes());
    number(&mut attribute, 3, value);
    number(&mut attribute, 20, INT);
    attribute
}

fn tensor(name: &str, element: u64, shape: &[u64], raw: &[u8]) -> Vec<u8> {
    let mut tensor = Vec::new();
    shape.iter().for_each(|size| number(&mut tensor, 1, *size));
    number(&mut tensor, 2, element);
    bytes(&mut tensor, 8, name.as_bytes());
    bytes(&mut tensor, 9, raw);
    tensor
}

/// Encodes an input or output; a dimension is a size or the name of one.
fn value_info(name: &str, element: u64, shape: &[Result<u64, &str>]) -> Vec<u8> {
    let mut dimensions = Vec::new();
    for size in shape {
        let mut dimension = Vec::new();
        match size {
            Ok(size) => number(&mut dimension, 1, *size),
            Err(name) => bytes(&mut dimension, 2, name.as_bytes()),
        }
        bytes(&mut dimensions, 1, &dimension);
    }
    let mut tensor = Vec::new();
    number(&mut tensor, 1, element);
    bytes(&mut tensor, 2, &dimensions);
    let mut kind = Vec::new();
    bytes(&mut kind, 1, &tensor);
    let mut info = Vec::new();
    bytes(&mut info, 1, name.as_bytes());
    bytes(&mut info, 2, &kind);
    info
}

/// Appends a field of protobuf with a number.
fn number(message: &mut Vec<u8>, field: u64, value: u64) {
    variable_length(message, field << 3);
    variable_length(message, value);
}

/// Appends a field of protobuf with bytes, a text or a message.
fn bytes(message: &mut Vec<u8>, field: u64, value: &[u8]) {
    variable_length(message, field << 3 | 2);
    variable_length(message, u64::try_from(value.len()).unwrap_or_default());
    message.extend_from_slice(value);
}

fn variable_length(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    message.push(value.to_le_bytes()[0]);
}
