//! The channel of a test: calls one daemon, or several nodes in turn as a client that reads its own writes.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use http_body_util::{BodyExt as _, Full};
use prost::Message as _;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_varint};
use prost_types::{DescriptorProto, FileDescriptorSet};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, StdError, http};
use tonic::transport::Channel;

/// Bytes before each message of gRPC: a flag for compression and the length.
const PREFIX: usize = 5;

/// Calls one daemon, or nodes in turn.
///
/// Over nodes, each unary response raises the generation that the client has seen, and each request that can ask for a minimum generation asks for it.
#[derive(Clone, Debug)]
pub struct TestChannel {
    channels: Arc<[Channel]>,
    n_calls: Arc<AtomicUsize>,
    /// `None` for a single daemon, whose requests stay as they are.
    seen: Option<Arc<AtomicU64>>,
}

impl TestChannel {
    /// Creates a channel to one daemon.
    pub(crate) fn to_daemon(channel: Channel) -> Self {
        Self { channels: [channel].into(), n_calls: Arc::default(), seen: None }
    }

    /// Creates a channel to nodes, with the generation that its client has seen.
    pub(crate) fn to_nodes(channels: Vec<Channel>, seen: &Arc<AtomicU64>) -> Self {
        let seen = Some(Arc::clone(seen));
        Self { channels: channels.into(), n_calls: Arc::default(), seen }
    }

    /// Returns the number of daemons; each call goes to the next of them.
    #[must_use]
    pub fn n_daemons(&self) -> usize {
        self.channels.len()
    }
}

impl Service<http::Request<Body>> for TestChannel {
    type Response = http::Response<Body>;
    type Error = StdError;
    type Future = BoxFuture<Self::Response, StdError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        // The node of a call is chosen with the call.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let n_calls = self.n_calls.fetch_add(1, Ordering::Relaxed);
        let mut channel = self.channels[n_calls % self.channels.len()].clone();
        let fields = FIELDS.get(request.uri().path());
        let seen = self.seen.clone().zip(fields);
        Box::pin(async move {
            let request = match seen {
                Some((ref seen, fields)) if fields.min_generation.is_some() => {
                    with_minimum(request, fields, seen.load(Ordering::SeqCst)).await?
                }
                _ => request,
            };
            poll_fn(|context| channel.poll_ready(context)).await?;
            let response = channel.call(request).await?;
            Ok(match seen {
                Some((seen, MessageFields { generation: Some(field), .. })) => {
                    observed(response, *field, seen)
                }
                _ => response,
            })
        })
    }
}

/// Numbers of the fields of a call that concern generations.
struct MessageFields {
    min_generation: Option<u32>,
    as_of: Option<u32>,
    /// Field of the response; `None` for a stream of responses.
    generation: Option<u32>,
}

/// The fields of each call by its path, from the contract.
static FIELDS: LazyLock<HashMap<String, MessageFields>> = LazyLock::new(|| {
    let set = FileDescriptorSet::decode(weft_proto::FILE_DESCRIPTOR_SET).expect("descriptors");
    let mut messages: HashMap<String, &DescriptorProto> = HashMap::new();
    for file in &set.file {
        let name = |message: &DescriptorProto| format!(".{}.{}", file.package(), message.name());
        messages.extend(file.message_type.iter().map(|message| (name(message), message)));
    }
    let number = |message: &str, name: &str| {
        let field = messages.get(message)?.field.iter().find(|field| field.name() == name)?;
        u32::try_from(field.number()).ok()
    };
    let mut calls = HashMap::new();
    for file in &set.file {
        for service in &file.service {
            for call in &service.method {
                let path = format!("/{}.{}/{}", file.package(), service.name(), call.name());
                let generation = number(call.output_type(), "generation");
                let fields = MessageFields {
                    min_generation: number(call.input_type(), "min_generation"),
                    as_of: number(call.input_type(), "as_of"),
                    generation: generation.filter(|_| !call.server_streaming()),
                };
                calls.insert(path, fields);
            }
        }
    }
    calls
});

/// Lets a request ask for a minimum generation, unless it names a generation already, or is not a message.
async fn with_minimum(
    request: http::Request<Body>,
    fields: &MessageFields,
    generation: u64,
) -> Result<http::Request<Body>, StdError> {
    let (parts, body) = request.into_parts();
    let mut bytes = body.collect().await?.to_bytes().to_vec();
    let states = [fields.min_generation, fields.as_of];
    let names_state = message(&bytes)
        .and_then(numbers)
        .is_none_or(|found| found.iter().any(|(field, _)| states.contains(&Some(*field))));
    if let (false, Some(field)) = (names_state, fields.min_generation) {
        encode_varint(u64::from(field << 3), &mut bytes);
        encode_varint(generation, &mut bytes);
        let length = u32::try_from(bytes.len() - PREFIX)?;
        bytes[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    }
    Ok(http::Request::from_parts(parts, Body::new(Full::new(Bytes::from(bytes)))))
}

/// Raises `seen` to the generation of a response once it has arrived.
fn observed(
    response: http::Response<Body>,
    field: u32,
    seen: Arc<AtomicU64>,
) -> http::Response<Body> {
    let mut bytes = Vec::new();
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                bytes.extend_from_slice(data);
            } else if let Some(found) = message(&bytes).and_then(numbers) {
                let generation = found.into_iter().find(|(number, _)| *number == field);
                seen.fetch_max(generation.map_or(0, |(_, value)| value), Ordering::SeqCst);
            }
            frame
        }))
    })
}

/// Returns the only message of a body; `None` if it is compressed or incomplete.
fn message(body: &[u8]) -> Option<&[u8]> {
    let (prefix, message) = body.split_first_chunk::<PREFIX>()?;
    let [flag, length @ ..] = *prefix;
    (flag == 0 && u32::from_be_bytes(length) as usize == message.len()).then_some(message)
}

/// Returns the numbers among the fields of an encoded message, 0 for other kinds of fields; `None` if it is malformed.
fn numbers(mut message: &[u8]) -> Option<Vec<(u32, u64)>> {
    let mut found = Vec::new();
    while message.has_remaining() {
        let (field, kind) = decode_key(&mut message).ok()?;
        let value = if kind == WireType::Varint {
            decode_varint(&mut message).ok()?
        } else {
            prost::encoding::skip_field(kind, field, &mut message, DecodeContext::default())
                .ok()?;
            0
        };
        found.push((field, value));
    }
    Some(found)
}
