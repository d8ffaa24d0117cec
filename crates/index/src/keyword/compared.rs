//! Which files are known to be as they were written: each carries a checksum, and what was compared is compared again when somebody has touched it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tantivy::Index;
use tantivy::directory::Directory as _;
use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentMeta};

use super::error::{KeywordError, Place};
use crate::disk::Facts;

/// The files that were compared with their checksums, and what the file system said of them then; of those in memory, nothing.
#[derive(Debug, Default)]
pub(super) struct Compared(HashMap<PathBuf, Option<Facts>>);

impl Compared {
    /// Compares the files of the last commit that are new, or that were touched since they were last compared; all of them where that is asked.
    ///
    /// Costs a question to the file system for each file, and the reading of those that are compared.
    /// Fails with [`KeywordError::Corrupt`] where one is missing or is not as it was written.
    pub(super) fn compare(
        &mut self,
        index: &Index,
        place: &Place,
        all: bool,
    ) -> Result<(), KeywordError> {
        let listed = || -> Result<Vec<PathBuf>, KeywordError> {
            let metas = index.load_metas().map_err(|error| place.tantivy(error))?;
            Ok(metas.segments.iter().flat_map(files_of).collect())
        };
        loop {
            let files = listed()?;
            let outcome = self.compare_each(&files, index, place, all);
            // Segments are merged in the background, and then their files go.
            if outcome.is_ok() || listed()? == files {
                return outcome;
            }
        }
    }

    fn compare_each(
        &mut self,
        files: &[PathBuf],
        index: &Index,
        place: &Place,
        all: bool,
    ) -> Result<(), KeywordError> {
        let mut compared = HashMap::with_capacity(files.len());
        for file in files {
            // Asked before it is read, so that what is changed meanwhile is compared again.
            let now = Facts::of(&place.path().join(file));
            let known = self.0.get(file).copied();
            // Reading it would end the process where it is mapped.
            if Facts::is_cut(known.flatten(), now) {
                return Err(place.corrupt(format!("it was cut: {}", file.display())));
            }
            let is_due = all || known != Some(now);
            if is_due && !is_whole(index, file).map_err(|error| place.read(error))? {
                return Err(place.corrupt(format!("wrong checksum: {}", file.display())));
            }
            compared.insert(file.clone(), now);
        }
        self.0 = compared;
        Ok(())
    }
}

/// Whether all files of a segment are as they were written. Reads them.
pub(super) fn is_segment_whole(index: &Index, segment: &SegmentMeta) -> bool {
    files_of(segment).all(|file| is_whole(index, &file).unwrap_or(false))
}

/// Whether a file is as it was written; fails where it is missing or cannot be read.
fn is_whole(index: &Index, file: &Path) -> Result<bool, OpenReadError> {
    // One that is mapped would be read though its name is gone.
    if !index.directory().exists(file)? {
        return Err(OpenReadError::FileDoesNotExist(file.to_owned()));
    }
    // The library panics over a file that is too short to say its checksum.
    let compare = AssertUnwindSafe(|| index.directory().validate_checksum(file));
    catch_unwind(compare).unwrap_or(Ok(false))
}

/// The files of a segment.
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
