//! Copies of the index, and stores made of them.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weft_daemon::{BackupWriter, Copied, OpenError, Piece, Vaults, restore};
use weft_proto::noteweft::v1::{BackupRequest, BackupResponse};

use crate::asker::{Asker, config};
use crate::cli::Global;
use crate::commands::render;
use crate::failure::Failure;
use crate::print;

/// What was copied, and where to.
#[derive(Serialize)]
pub(crate) struct Copy {
    pub(crate) folder: PathBuf,
    pub(crate) generation: u64,
    pub(crate) n_files: usize,
    pub(crate) n_bytes: u64,
}

impl Copy {
    fn new(folder: PathBuf, copied: Copied) -> Self {
        let Copied { generation, n_files, n_bytes } = copied;
        Self { folder, generation, n_files, n_bytes }
    }
}

/// Writes the newest generation into `folder`, and gives the answer as text.
pub(crate) async fn ask(asker: &Asker, folder: &Path, global: &Global) -> Result<String, Failure> {
    let folder = std::path::absolute(folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    let mut writer = BackupWriter::create(&folder)?;
    let mut pieces = asker.admin().backup(BackupRequest {}).await?.into_inner();
    while let Some(next) = pieces.message().await? {
        let BackupResponse { path, bytes, crc32, n_bytes_total: _, done, generation } = next;
        if done {
            let copy = Copy::new(folder, writer.finish(generation)?);
            return render(global.format, &copy, print::backup);
        }
        writer.take(Piece { path, bytes, crc32 })?;
    }
    Err(Failure::other("the daemon ended before the copy was complete; nothing of it is left"))
}

/// Makes the store that the flags name of the backup in `folder`, and gives the answer as text.
pub(crate) fn take_back(folder: &Path, global: &Global) -> Result<String, Failure> {
    let (config, paths) = config(global, &global.vault, &[])?;
    let store = match &config.settings.store.path {
        Some(path) => path.clone(),
        None => Vaults::store(&config, &paths).map_err(|error| {
            let whose = matches!(error, OpenError::NoVault);
            let failure = Failure::from(error);
            if whose {
                failure.hint("say whose index it is: weft restore FOLDER --vault ~/notes")
            } else {
                failure
            }
        })?,
    };
    let copied = restore(folder, &store)?;
    render(global.format, &Copy::new(store, copied), print::restored)
}
