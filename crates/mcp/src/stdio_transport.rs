//! Transport over a pair of streams: one JSON-RPC message per line.
//!
//! Unlike the transport of rmcp, it answers a line that is not a message, and a request that no server knows before a session is open, and continues.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};
use tokio::sync::{Mutex, mpsc};

/// Maximum number of bytes of a message; the limit of rmcp.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Number of messages that are read ahead of the session.
const QUEUED_MESSAGES: usize = 16;

/// A transport whose messages are read by a task of its own, because the session may cancel `receive` at any time.
pub(crate) struct StdioTransport<W> {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Arc<Mutex<W>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> StdioTransport<W> {
    /// Starts to read messages from `input`.
    pub(crate) fn new(input: impl AsyncRead + Send + Unpin + 'static, output: W) -> Self {
        let (sender, incoming) = mpsc::channel(QUEUED_MESSAGES);
        let output = Arc::new(Mutex::new(output));
        tokio::spawn(read_messages(BufReader::new(input), sender, Arc::clone(&output)));
        Self { incoming, output }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for StdioTransport<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write_line(&output, serde_json::to_vec(&message)?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

/// Sends each message to the session and answers all other lines, until the input or the session ends.
async fn read_messages(
    mut input: impl AsyncBufRead + Unpin,
    sender: mpsc::Sender<ClientJsonRpcMessage>,
    output: Arc<Mutex<impl AsyncWrite + Unpin>>,
) {
    let (mut line, mut is_open) = (Vec::new(), false);
    while let Ok(Some(is_whole)) = next_line(&mut input, &mut line).await {
        let received = if is_whole { received(&line, is_open) } else { Received::too_long() };
        let result = match received {
            Received::Message(message) => {
                is_open |= matches!(&*message, ClientJsonRpcMessage::Request(request)
                    if !matches!(request.request, ClientRequest::PingRequest(_)));
                sender.send(*message).await.map_err(io::Error::other)
            }
            Received::Invalid(answer) => write_line(&output, answer.to_string().into()).await,
            Received::Nothing => Ok(()),
        };
        if result.is_err() {
            break;
        }
    }
}

/// Reads the next line into `line`; returns false if it is too long and was discarded, `None` at the end of the input.
async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    let mut is_whole = true;
    loop {
        line.clear();
        let n_bytes = (&mut *input).take(MAX_LINE_BYTES as u64).read_until(b'\n', line).await?;
        let is_end = line.ends_with(b"\n");
        if n_bytes == 0 || (!is_end && n_bytes < MAX_LINE_BYTES) {
            // A line that the end of the input cuts off is not a message.
            return Ok(None);
        }
        if is_end {
            return Ok(Some(is_whole));
        }
        is_whole = false;
    }
}

/// A line of input.
enum Received {
    /// A message for the session.
    Message(Box<ClientJsonRpcMessage>),
    /// The answer to a line that is not a message, or to a request that cannot be passed on.
    Invalid(Value),
    /// A line without an answer.
    Nothing,
}

impl Received {
    fn invalid(code: ErrorCode, message: impl Into<Cow<'static, str>>, id: Value) -> Self {
        let error = json!({ "code": code.0, "message": message.into() });
        Self::Invalid(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn too_long() -> Self {
        let message = format!("the message is longer than {MAX_LINE_BYTES} bytes");
        Self::invalid(ErrorCode::INVALID_REQUEST, message, Value::Null)
    }
}

/// Parses a line; `is_open` states that a session was requested before.
fn received(line: &[u8], is_open: bool) -> Received {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Received::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("not JSON: {error}; send each message as one line of JSON");
            return Received::invalid(ErrorCode::PARSE_ERROR, message, Value::Null);
        }
    };
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let is_request = value.get("method").is_some_and(Value::is_string) && id.is_some();
    let message: ClientJsonRpcMessage = match serde_json::from_value(value) {
        Ok(message) => message,
        Err(_) => {
            let message = if is_request {
                "the parameters of this method are invalid"
            } else {
                "not a JSON-RPC message: send one request as one JSON object; batches are not supported"
            };
            let code =
                if is_request { ErrorCode::INVALID_PARAMS } else { ErrorCode::INVALID_REQUEST };
            return Received::invalid(code, message, id.unwrap_or_default());
        }
    };
    // A session ends if it does not begin with a request that it knows.
    if let ClientJsonRpcMessage::Request(request) = &message
        && let ClientRequest::CustomRequest(custom) = &request.request
        && !is_open
    {
        let message = unknown_method(&custom.method);
        return Received::invalid(ErrorCode::METHOD_NOT_FOUND, message, id.unwrap_or_default());
    }
    if is_open || matches!(message, ClientJsonRpcMessage::Request(_)) {
        Received::Message(Box::new(message))
    } else {
        Received::Nothing
    }
}

/// Returns the message of an error about an unknown method.
pub(crate) fn unknown_method(method: &str) -> String {
    format!("unknown method `{}`", weft_model::escape::one_line(method))
}

/// Writes a line as a whole.
async fn write_line(output: &Mutex<impl AsyncWrite + Unpin>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code and the id of the answer to a line; `None` if the session receives it.
    fn answer(line: &str, is_open: bool) -> Option<(i64, Value)> {
        match received(line.as_bytes(), is_open) {
            Received::Invalid(answer) => {
                Some((answer["error"]["code"].as_i64().unwrap(), answer["id"].clone()))
            }
            Received::Message(_) | Received::Nothing => None,
        }
    }

    #[test]
    fn lines_that_are_not_messages_are_answered() {
        let null = Value::Null;
        for is_open in [false, true] {
            for (line, expected) in [
                ("{bad json", Some((-32700, null.clone()))),
                ("\u{1}", Some((-32700, null.clone()))),
                ("{\"jsonrpc\":\"2.0\"", Some((-32700, null.clone()))),
                ("[]", Some((-32600, null.clone()))),
                ("42", Some((-32600, null.clone()))),
                (r#"{"id":3}"#, Some((-32600, json!(3)))),
                (r#"{"jsonrpc":"2.0","id":"q","method":5}"#, Some((-32600, json!("q")))),
                (r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, None),
                ("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\r\n", None),
                (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
                (" \r\n", None),
            ] {
                assert_eq!(answer(line, is_open), expected, "{line}");
            }
        }
        let unknown = r#"{"jsonrpc":"2.0","id":7,"method":"no\npe"}"#;
        assert_eq!(answer(unknown, false), Some((-32601, json!(7))));
        assert_eq!(answer(unknown, true), None, "the session answers it");
    }

    #[tokio::test]
    async fn overlong_line_is_discarded_and_the_next_one_is_read() {
        let text = [&vec![b'x'; 2 * MAX_LINE_BYTES + 5][..], b"\nnext\nlast"].concat();
        let (mut input, mut line) = (BufReader::new(&*text), Vec::new());
        assert_eq!(next_line(&mut input, &mut line).await.unwrap(), Some(false));
        assert_eq!(next_line(&mut input, &mut line).await.unwrap(), Some(true));
        assert_eq!(line, b"next\n");
        assert_eq!(next_line(&mut input, &mut line).await.unwrap(), None);
    }
}
