//! The wire contract `noteweft.v1`: messages, clients and servers generated from `proto/`, and their JSON encoding.
//!
//! It depends on no other crate of the workspace, so other programs can use it alone.
#![forbid(unsafe_code)]

mod field_names;
mod json_encoding;
mod property_comparison;

pub use field_names::rename_field;
pub use property_comparison::InvalidComparison;

/// Package of the contract.
pub mod noteweft {
    /// Version 1 of the contract, documented in `proto/noteweft/v1/`.
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

/// The compiled contract and its imports, encoded as a `FileDescriptorSet`, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("descriptor_set");
