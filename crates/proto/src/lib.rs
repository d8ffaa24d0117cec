//! The wire contract `noteweft.v1`: its messages, clients and servers as generated from `proto/`, and their JSON.
//!
//! It uses nothing else of Noteweft, so other programs can depend on it alone.
#![forbid(unsafe_code)]

mod field;
mod json;
mod property;

pub use field::with_own_names;
pub use property::NoComparison;

/// The package names of the contract.
pub mod noteweft {
    /// Version 1 of the contract. The comments stand in `proto/noteweft/v1/`.
    #[allow(
        missing_docs,
        unused_qualifications,
        clippy::all,
        clippy::allow_attributes_without_reason,
        reason = "generated"
    )]
    pub mod v1 {
        tonic::include_proto!("noteweft.v1");
    }
}

/// The compiled contract with all it imports, encoded as a `FileDescriptorSet`: what reflection serves.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("descriptor_set");
