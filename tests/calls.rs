//! Every call of the contract, by its descriptor: what a test of all of them needs.

use std::collections::HashMap;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// How long a stream that goes on for ever is listened to.
const LISTEN: Duration = Duration::from_millis(150);

/// A call of the contract.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its path, as it stands in a request.
    pub(crate) path: String,
    /// The full name of its request.
    pub(crate) input: String,
}

/// The contract's messages and enums, by full name.
pub(crate) struct Contract {
    pub(crate) calls: Vec<Call>,
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
                contract.calls.extend(service.method.iter().map(|call| Call {
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

    /// A message of the type `name`, each of its fields made by `make`; those beyond the depth stay empty.
    pub(crate) fn message(&self, name: &str, depth: usize, make: &mut dyn Make) -> Vec<u8> {
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
        make: &mut dyn Make,
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

/// What the fields of a message hold.
pub(crate) trait Make {
    /// How many values the field `name` has.
    fn n_values(&mut self, name: &str, is_repeated: bool) -> usize;
    /// A number, or a truth.
    fn number(&mut self) -> u64;
    /// The place of one of `n` values of an enum.
    fn choice(&mut self, n: u64) -> u64;
    /// A number with a fraction.
    fn double(&mut self) -> f64;
    /// A text of the field `name`, which need not be UTF-8.
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

/// Sends `bytes` as the request of `call`, and gives the first messages of the answer as they came.
pub(crate) async fn ask(
    channel: &Channel,
    call: &Call,
    bytes: Vec<u8>,
) -> Result<Vec<Vec<u8>>, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone()).max_decoding_message_size(1 << 30);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let path = PathAndQuery::try_from(&call.path).map_err(|_| Status::internal("no path"))?;
    let request = Request::new(tokio_stream::iter([bytes]));
    // A single answer is a stream of one.
    let mut messages = client.streaming(request, path, Raw).await?.into_inner();
    let mut came = Vec::new();
    while let Ok(next) = tokio::time::timeout(LISTEN, messages.message()).await {
        match next? {
            Some(message) => came.push(message),
            None => break,
        }
    }
    Ok(came)
}

/// Messages as bytes.
#[derive(Clone, Copy, Debug)]
struct Raw;

impl Codec for Raw {
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

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut item = vec![0; from.remaining()];
        from.copy_to_slice(&mut item);
        Ok(Some(item))
    }
}
