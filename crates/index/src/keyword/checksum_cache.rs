//! Checksum cache: files whose checksums were verified. A file is verified again after its metadata changes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tantivy::Index;
use tantivy::directory::Directory as _;
use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentMeta};

use super::keyword_error::{IndexLocation, KeywordError};
use crate::disk::FileStamp;

/// Files whose checksums were verified, each with its file stamp at that time; `None` for files in memory.
#[derive(Debug, Default)]
pub(super) struct ChecksumCache(HashMap<PathBuf, Option<FileStamp>>);

impl ChecksumCache {
    /// Verifies the checksums of the files of the last commit that are new or were modified since the last verification, or of all files if `all` is set.
    ///
    /// Cost: a stat call for each file, and a read of each verified file.
    /// Fails with [`KeywordError::Corrupt`] if a file is missing or its checksum differs.
    pub(super) fn verify(
        &mut self,
        index: &Index,
        location: &IndexLocation,
        all: bool,
    ) -> Result<(), KeywordError> {
        let listed = || -> Result<Vec<PathBuf>, KeywordError> {
            let metas = index.load_metas().map_err(|error| location.tantivy(error))?;
            Ok(metas.segments.iter().flat_map(files_of).collect())
        };
        loop {
            let files = listed()?;
            let outcome = self.verify_each(&files, index, location, all);
            // Background merges delete the files of merged segments.
            if outcome.is_ok() || listed()? == files {
                return outcome;
            }
        }
    }

    fn verify_each(
        &mut self,
        files: &[PathBuf],
        index: &Index,
        location: &IndexLocation,
        all: bool,
    ) -> Result<(), KeywordError> {
        let mut verified = HashMap::with_capacity(files.len());
        for file in files {
            // Taken before the file is read, so that a concurrent change is detected next time.
            let now = FileStamp::of(&location.path().join(file));
            let known = self.0.get(file).copied();
            // The rest of a truncated file may happen to look intact, and reading it ends the process on some systems.
            if FileStamp::is_cut(known.flatten(), now) {
                return Err(location.corrupt(format!("the file was truncated: {}", file.display())));
            }
            let is_due = all || known != Some(now);
            if is_due && !is_intact(index, file).map_err(|error| location.read(error))? {
                return Err(location.corrupt(format!("checksum mismatch: {}", file.display())));
            }
            verified.insert(file.clone(), now);
        }
        self.0 = verified;
        Ok(())
    }
}

/// Reports whether all files of a segment match their checksums. Reads the files.
pub(super) fn is_segment_intact(index: &Index, segment: &SegmentMeta) -> bool {
    files_of(segment).all(|file| is_intact(index, &file).unwrap_or(false))
}

/// Reports whether a file matches its checksum. Fails if it is missing or cannot be read.
fn is_intact(index: &Index, file: &Path) -> Result<bool, OpenReadError> {
    // A mapped file would still be readable after its name is gone.
    if !index.directory().exists(file)? {
        return Err(OpenReadError::FileDoesNotExist(file.to_owned()));
    }
    // Tantivy panics on a file that is too short to hold a checksum.
    let validate = AssertUnwindSafe(|| index.directory().validate_checksum(file));
    catch_unwind(validate).unwrap_or(Ok(false))
}

/// Returns the files of a segment.
pub(super) fn files_of(segment: &SegmentMeta) -> impl Iterator<Item = PathBuf> {
    let deletions = segment.has_deletes().then_some(SegmentComponent::Delete);
    let always = [
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::Terms,
        SegmentComponent::Store,
        SegmentComponent::FastFields,
        SegmentComponent::FieldNorms,
    ];
    always.into_iter().chain(deletions).map(|component| segment.relative_path(component))
}
