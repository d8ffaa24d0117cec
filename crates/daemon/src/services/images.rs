//! Images of the vaults, for the explorer page.

use std::time::Instant;

use tonic::Status;
use weft_indexer::{VaultImage, VaultImageError, vault_image};

use super::Services;
use crate::status;

/// Maximum size of an image in bytes: enough for a photo, too little to exhaust the memory of daemon and browser.
const MAX_IMAGE_BYTES: u64 = 32 << 20;

impl Services {
    /// Returns the image that the note at `note` in a vault names `target`, on a worker like any request.
    pub(crate) async fn image(
        &self,
        vault: String,
        note: String,
        target: String,
    ) -> Result<VaultImage, Status> {
        let deadline = Instant::now() + self.0.limits.timeout;
        let found = self.compute(deadline, move |vaults, _| {
            let scan = vaults.config().settings.scan.clone();
            let root = vaults.root(&vault);
            Ok(root.map(|root| vault_image(&root, &scan, &note, &target, MAX_IMAGE_BYTES)))
        });
        match found.await? {
            Some(image) => image.map_err(|error| of_image(&error)),
            None => Err(Status::not_found("no vault has this name")),
        }
    }
}

/// Converts the error of an image.
fn of_image(error: &VaultImageError) -> Status {
    match error {
        VaultImageError::Kind { .. } => status::invalid("target", &error.to_string()),
        VaultImageError::Missing { .. } | VaultImageError::Content { .. } => {
            Status::not_found(error.to_string())
        }
        // The message would contain a path of this machine.
        VaultImageError::Scan(_) => {
            Status::failed_precondition("the image cannot be read, or is too large")
        }
    }
}
