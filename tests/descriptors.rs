//! Messages of every RPC, built from descriptors.

use std::collections::HashMap;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};
use weft_tests::TestChannel;

/// Time to listen to a stream without end.
const LISTEN: Duration = Duration::from_millis(150);

/// An RPC.
#[derive(Clone, Debug)]
pub(crate) struct Rpc {
    /// Path in a request.
    pub(crate) path: String,
    /// Full name of the request message.
    pub(crate) input: String,
}

/// Messages and enums of the API, by full name.
pub(crate) struct Contract {
    pub(crate) calls: Vec<Rpc>,
    messages: HashMap<String, DescriptorProto>,
    enums: HashMap<String, EnumDescriptorProto>,
}

impl Contract {
    pub(crate) fn read() -> Self {
        let set = FileDescriptorSet::decode(weft_proto::FILE_DESCRIPTOR_SET).expect("descriptors");
        let mut contract =
            Self { calls: Vec::new(), messages: HashMap::new(), enums: HashMap::new() };
        for file in set.file {
            let package = format!(".{}", file.package());
            for service in &file.service {
                contract.calls.extend(service.method.iter().map(|call| Rpc {
                    path: format!("/{}.{}/{}", file.package(), service.name(), call.name()),
                    input: call.input_type().to_owned(),
                }));
            }
            contract.take_enums(&package, file.enum_type);
            contract.take_messages(&package, file.message_type);
        }
        contract
    }

    fn take_messages(&mut self, above: &str, messages: Vec<DescriptorProto>) {
        for message in messages {
            let name = format!("{above}.{}", message.name());
            self.take_enums(&name, message.enum_type.clone());
            self.take_messages(&name, message.nested_type.clone());
            self.messages.insert(name, message);
        }
    }

    fn take_enums(&mut self, above: &str, enums: Vec<EnumDescriptorProto>) {
        for own in enums {
            self.enums.insert(format!("{above}.{}", own.name()), own);
        }
    }

    /// Encodes a message of the type `name` with field values from `make`; fields beyond the depth stay empty.
    pub(crate) fn message(&self, name: &str, depth: usize, make: &mut dyn FieldValues) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in self.messages.get(name).map_or(&[][..], |message| &message.field) {
            for _ in 0..make.n_values(field.name(), field.label() == Label::Repeated) {
                self.value(field, depth, make, &mut bytes);
            }
        }
        bytes
    }

    fn value(
        &self,
        field: &FieldDescriptorProto,
        depth: usize,
        make: &mut dyn FieldValues,
        into: &mut Vec<u8>,
    ) {
        let number = u64::from(field.number().unsigned_abs());
        match field.r#type() {
            Type::Double | Type::Fixed64 | Type::Sfixed64 => {
                varint(number << 3 | 1, into);
                into.put_u64_le(make.double().to_bits());
            }
            Type::Float | Type::Fixed32 | Type::Sfixed32 => {
                varint(number << 3 | 5, into);
                #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
                into.put_u32_le((make.double() as f32).to_bits());
            }
            Type::Int64
            | Type::Uint64
            | Type::Int32
            | Type::Uint32
            | Type::Sint32
            | Type::Sint64
            | Type::Bool => {
                varint(number << 3, into);
                varint(make.number(), into);
            }
            Type::Enum => {
                let values = self.enums.get(field.type_name()).map_or(0, |own| own.value.len());
                varint(number << 3, into);
                varint(make.choice(values as u64), into);
            }
            Type::String => delimited(number, &make.text(field.name()), into),
            Type::Bytes => delimited(number, &make.text(field.name()), into),
            Type::Message | Type::Group => {
                if depth > 0 {
                    let inner = self.message(field.type_name(), depth - 1, make);
                    delimited(number, &inner, into);
                }
            }
        }
    }
}

/// Source of field values.
pub(crate) trait FieldValues {
    /// Returns the number of values of the field `name`.
    fn n_values(&mut self, name: &str, is_repeated: bool) -> usize;
    /// Returns a number, or a boolean.
    fn number(&mut self) -> u64;
    /// Returns the index of one of `n` values of an enum.
    fn choice(&mut self, n: u64) -> u64;
    /// Returns a floating-point number.
    fn double(&mut self) -> f64;
    /// Returns a text for the field `name`, not necessarily UTF-8.
    fn text(&mut self, name: &str) -> Vec<u8>;
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    into.push(number.to_le_bytes()[0]);
}

fn delimited(number: u64, bytes: &[u8], into: &mut Vec<u8>) {
    varint(number << 3 | 2, into);
    varint(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

/// Sends `bytes` as the request of `call` and returns the first messages of the response.
pub(crate) async fn ask(
    channel: &TestChannel,
    call: &Rpc,
    bytes: Vec<u8>,
) -> Result<Vec<Vec<u8>>, Status> {
    ask_with(channel, call, bytes, None).await
}

/// Sends a request with the value of an `authorization` header, as [`ask`] does without one.
pub(crate) async fn ask_with(
    channel: &TestChannel,
    call: &Rpc,
    bytes: Vec<u8>,
    authorization: Option<&str>,
) -> Result<Vec<Vec<u8>>, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone()).max_decoding_message_size(1 << 30);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let path = PathAndQuery::try_from(&call.path).map_err(|_| Status::internal("no path"))?;
    let mut request = Request::new(tokio_stream::iter([bytes]));
    if let Some(value) = authorization {
        let value = value.parse().map_err(|_| Status::internal("no header"))?;
        request.metadata_mut().insert("authorization", value);
    }
    // A unary response is a stream of one message.
    let mut messages = client.streaming(request, path, RawCodec).await?.into_inner();
    let mut came = Vec::new();
    while let Ok(next) = tokio::time::timeout(LISTEN, messages.message()).await {
        match next? {
            Some(message) => came.push(message),
            None => break,
        }
    }
    Ok(came)
}

/// Codec that passes messages as bytes.
#[derive(Clone, Copy, Debug)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for RawCodec {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut item = vec![0; from.remaining()];
        from.copy_to_slice(&mut item);
        Ok(Some(item))
    }
}
