//! Export and import: a collection as a folder, and vectors from the store of an index.
//!
//! ```text
//! collection.json          format, generation, and the number of notes and vectors; written last
//! notes/<vault>/…          the notes of each vault, with their modification times
//! vectors/<model>.vec      records: text hash (16 bytes), length in bytes and crc32 of hash and vector (4 each, little-endian), vector
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use weft_index::{Disk, EmbeddingStore, Store};
use weft_indexer::scan::{self, ScanArea, ScanError, ScanOptions};
use weft_model::{NoteKind, TextHash};

use crate::collection::{bytes_of, check_name, stored_hash};
use crate::shared_vectors::{TextVector, decoded, encoded, model_key};
use crate::transfer::{create_empty, failed};
use crate::verify::hex;
use crate::{ClusterError, Collection, PushOptions, TransferError};

/// Newest format of exports that this release reads and writes.
const FORMAT: u32 = 1;

/// File that describes an export.
const MANIFEST_FILE: &str = "collection.json";

/// Folder of the vaults.
const NOTES_FOLDER: &str = "notes";

/// Folder of the vectors.
const VECTORS_FOLDER: &str = "vectors";

/// Extension of files of vectors.
const VECTORS_EXTENSION: &str = "vec";

/// Bytes of a record before its vector.
const RECORD_HEAD: usize = 24;

/// Maximum bytes of a vector.
const MAX_VECTOR_BYTES: usize = 4 * weft_index::vector::MAX_DIMENSION;

/// Number of vectors that are read or stored at a time.
const VECTORS_AT_ONCE: usize = 1000;

/// Description of an export.
#[derive(Debug, Serialize, Deserialize)]
struct ExportManifest {
    format: u32,
    collection: String,
    generation: u64,
    /// Number of notes of each vault.
    vaults: BTreeMap<String, usize>,
    /// Number of vectors of each model, by its key in hexadecimal digits.
    vectors: BTreeMap<String, usize>,
}

/// Result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Number of the log whose state was written.
    pub generation: u64,
    /// Number of vaults.
    pub n_vaults: usize,
    /// Number of notes.
    pub n_notes: usize,
    /// Size of the notes, in bytes.
    pub n_bytes: u64,
    /// Number of vectors, including the records of texts that a model rejects.
    pub n_vectors: usize,
}

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Newest number of the log that contains the import.
    pub generation: u64,
    /// Number of notes that were written, moved or removed.
    pub n_changed: usize,
    /// Number of vectors that were read.
    pub n_vectors: usize,
    /// Number of vectors that the collection did not have.
    pub n_new_vectors: usize,
    /// Number of damaged vectors, which were skipped.
    pub n_damaged: usize,
}

impl Collection {
    /// Writes all vaults and vectors at the newest number of the log into a new or empty folder.
    ///
    /// Earlier versions of notes, nodes, leases and pending texts are not part of an export.
    pub fn export(&self, folder: &Path) -> Result<ExportReport, TransferError> {
        create_empty(folder)?;
        let generation = self.head()?;
        let mut report = ExportReport { generation, ..ExportReport::default() };
        let (collection, vaults) = (self.name().to_owned(), BTreeMap::new());
        let vectors = BTreeMap::new();
        let mut manifest =
            ExportManifest { format: FORMAT, collection, generation, vaults, vectors };
        for vault in self.vaults(generation)? {
            check_name("vault", &vault)?;
            let notes = folder.join(NOTES_FOLDER).join(&vault);
            std::fs::create_dir_all(&notes).map_err(failed(&notes))?;
            let written = self.write_vault(&vault, generation, &notes)?;
            report.n_vaults += 1;
            report.n_notes += written.n_notes;
            report.n_bytes += written.n_bytes;
            manifest.vaults.insert(vault, written.n_notes);
        }
        let vectors = folder.join(VECTORS_FOLDER);
        std::fs::create_dir_all(&vectors).map_err(failed(&vectors))?;
        for model in self.models_of_vectors()? {
            let name = hex(&model);
            let path = vectors.join(&name).with_extension(VECTORS_EXTENSION);
            let n_vectors = self.write_vectors(&model, generation, &path)?;
            report.n_vectors += n_vectors;
            manifest.vectors.insert(name, n_vectors);
        }
        let path = folder.join(MANIFEST_FILE);
        let bytes = serde_json::to_vec_pretty(&manifest).map_err(std::io::Error::from);
        let written = bytes.and_then(|bytes| std::fs::write(&path, bytes));
        written.map_err(failed(&path))?;
        Ok(report)
    }

    /// Makes the vaults of an export equal to it, and stores its vectors first, so that no text is embedded again.
    ///
    /// Other vaults stay as they are. A repetition after an interruption sends the rest.
    /// Fails before anything is changed if a note or a file of vectors is missing.
    pub fn import(
        &self,
        folder: &Path,
        options: &PushOptions,
    ) -> Result<ImportReport, TransferError> {
        let manifest = manifest(folder)?;
        // An export contains notes only, at paths that a scan reads.
        let scan = ScanOptions {
            max_file_bytes: u64::MAX,
            other_files: NoteKind::ALL.to_vec(),
            ..ScanOptions::default()
        };
        let options = PushOptions { scan, ..options.clone() };
        let incomplete = |reason| not_an_export(folder, reason);
        for (vault, n_notes) in &manifest.vaults {
            check_name("vault", vault)?;
            let notes = folder.join(NOTES_FOLDER).join(vault);
            let n_found = scan::scan(&notes, &options.scan, &ScanArea::WHOLE)?.found.len();
            if n_found != *n_notes {
                let reason = format!("the vault `{vault}` has {n_found} of {n_notes} notes");
                return Err(incomplete(reason));
            }
        }
        let mut files = Vec::new();
        for (name, n_vectors) in &manifest.vectors {
            let model = from_hex(name).ok_or_else(|| {
                incomplete(format!("`{name}` is not the key of a model in {MANIFEST_FILE}"))
            })?;
            let path = folder.join(VECTORS_FOLDER).join(name).with_extension(VECTORS_EXTENSION);
            let file = File::open(&path);
            let file = file.map_err(|source| ScanError::Read { path: path.clone(), source })?;
            files.push((model, path, BufReader::new(file), *n_vectors));
        }
        let mut report = ImportReport::default();
        for (model, path, mut file, n_vectors) in files {
            let mut read = VectorImport::new(self, model);
            for _ in 0..n_vectors {
                match record(&mut file) {
                    Ok(Some(vector)) => read.add(vector)?,
                    Ok(None) => read.report.n_damaged += 1,
                    Err(source) if source.kind() == ErrorKind::UnexpectedEof => {
                        return Err(incomplete(format!("{} is too short", path.display())));
                    }
                    Err(source) => return Err(ScanError::Read { path, source }.into()),
                }
            }
            read.end(&mut report)?;
        }
        for vault in manifest.vaults.keys() {
            let notes = folder.join(NOTES_FOLDER).join(vault);
            // A vault without notes is one as well.
            Self::create(&self.database, self.name(), &[vault.as_str()])?;
            let pushed = self.push(&notes, vault, &options)?;
            report.n_changed += pushed.n_put + pushed.n_moved + pushed.n_removed;
            if let Some(reason) = pushed.unreadable.into_iter().next() {
                return Err(incomplete(reason));
            }
        }
        report.generation = self.head()?;
        Ok(report)
    }

    /// Stores the vectors of the index with the store `store`, so that the same texts need not be embedded again.
    ///
    /// Fails if a running process uses the store.
    pub fn import_store(&self, store: &Path) -> Result<ImportReport, TransferError> {
        let mut report = ImportReport::default();
        if !EmbeddingStore::exists(store) {
            let reason = "it has no vectors of an index".to_owned();
            return Err(TransferError::NotAStore { path: store.to_owned(), reason });
        }
        // No other process changes the rows meanwhile.
        let _locked = Store::open(&Disk::default(), store, None)?;
        let mut models: BTreeMap<Vec<u8>, VectorImport<'_>> = BTreeMap::new();
        let n_damaged = EmbeddingStore::read_all(store, |model, text, vector| {
            let model = model_key(model);
            let import = models.entry(model.clone());
            let import = import.or_insert_with(|| VectorImport::new(self, model));
            import.add((text, vector.to_vec()))
        })?;
        models.into_values().try_for_each(|import| import.end(&mut report))?;
        report.n_damaged = n_damaged;
        report.generation = self.head()?;
        Ok(report)
    }

    /// Returns the keys of all models that have vectors, ascending.
    fn models_of_vectors(&self) -> Result<Vec<Vec<u8>>, ClusterError> {
        self.database.run("list the models", async {
            let client = self.database.client().await?;
            let select = "select distinct model from noteweft.vector where collection = $1";
            let rows = client.query(select, &[&self.id]).await?;
            let mut models: Vec<Vec<u8>> = rows.iter().map(|row| row.get(0)).collect();
            models.sort_unstable();
            Ok(models)
        })
    }

    /// Writes the vectors of a model that commits up to `upto` stored, ordered by text; returns their number.
    fn write_vectors(&self, model: &[u8], upto: u64, path: &Path) -> Result<usize, TransferError> {
        let mut file = BufWriter::new(File::create(path).map_err(failed(path))?);
        let (mut n_vectors, mut after) = (0, None);
        loop {
            let page = self.vectors_after(model, after, upto)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (text, vector) in &page {
                write_record(&mut file, *text, vector).map_err(failed(path))?;
            }
            n_vectors += page.len();
        }
        let file = file.into_inner().map_err(|error| failed(path)(error.into_error()))?;
        file.sync_all().map_err(failed(path))?;
        Ok(n_vectors)
    }

    /// Returns the next vectors of a model after the text `after`, ordered by text.
    fn vectors_after(
        &self,
        model: &[u8],
        after: Option<TextHash>,
        upto: u64,
    ) -> Result<Vec<TextVector>, ClusterError> {
        self.database.run("read vectors", async {
            let client = self.database.client().await?;
            let select = "select text, vector, crc from noteweft.vector
                 where collection = $1 and model = $2 and text > $3 and generation <= $4
                 order by text limit $5";
            let select = client.prepare_cached(select).await?;
            let after = after.map(bytes_of).unwrap_or_default();
            let (upto, limit) = (upto.cast_signed(), VECTORS_AT_ONCE as i64);
            let rows = client.query(&select, &[&self.id, &model, &after, &upto, &limit]).await?;
            let vector = |row: &tokio_postgres::Row| {
                Ok((stored_hash(row.get(0))?, decoded(row.get(1), row.get(2))?))
            };
            rows.iter().map(vector).collect()
        })
    }
}

/// Vectors of one model that are stored in batches.
struct VectorImport<'c> {
    collection: &'c Collection,
    model: Vec<u8>,
    batch: Vec<TextVector>,
    report: ImportReport,
}

impl<'c> VectorImport<'c> {
    fn new(collection: &'c Collection, model: Vec<u8>) -> Self {
        Self { collection, model, batch: Vec::new(), report: ImportReport::default() }
    }

    fn add(&mut self, vector: TextVector) -> Result<(), TransferError> {
        self.batch.push(vector);
        if self.batch.len() >= VECTORS_AT_ONCE { self.send() } else { Ok(()) }
    }

    /// Stores the vectors that the collection does not have.
    fn send(&mut self) -> Result<(), TransferError> {
        let mut batch = std::mem::take(&mut self.batch);
        self.report.n_vectors += batch.len();
        let texts: Vec<TextHash> = batch.iter().map(|(text, _)| *text).collect();
        let known = self.collection.texts_with_vector(&self.model, &texts)?;
        batch.retain(|(text, _)| !known.contains(text));
        if !batch.is_empty() {
            self.report.n_new_vectors += batch.len();
            self.collection.insert_vectors(&self.model, &batch)?;
        }
        Ok(())
    }

    /// Stores the rest, and adds the counts to `report`.
    fn end(mut self, report: &mut ImportReport) -> Result<(), TransferError> {
        self.send()?;
        report.n_vectors += self.report.n_vectors;
        report.n_new_vectors += self.report.n_new_vectors;
        report.n_damaged += self.report.n_damaged;
        Ok(())
    }
}

fn manifest(folder: &Path) -> Result<ExportManifest, TransferError> {
    let path = folder.join(MANIFEST_FILE);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(not_an_export(folder, format!("{MANIFEST_FILE} is missing")));
        }
        Err(source) => return Err(ScanError::Read { path, source }.into()),
    };
    let manifest: ExportManifest = serde_json::from_slice(&bytes)
        .map_err(|error| not_an_export(folder, format!("{MANIFEST_FILE}: {error}")))?;
    if manifest.format > FORMAT {
        let reason = format!(
            "it has format {}, and this release reads up to {FORMAT}; upgrade",
            manifest.format
        );
        return Err(not_an_export(folder, reason));
    }
    Ok(manifest)
}

fn not_an_export(folder: &Path, reason: String) -> TransferError {
    TransferError::NotAnExport { path: folder.to_owned(), reason }
}

/// Writes a text and its vector.
fn write_record(file: &mut impl Write, text: TextHash, vector: &[f32]) -> std::io::Result<()> {
    let (text, vector) = (bytes_of(text), encoded(vector));
    let length = u32::try_from(vector.len()).map_err(std::io::Error::other)?;
    file.write_all(&text)?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(&checksum(&text, &vector).to_le_bytes())?;
    file.write_all(&vector)
}

/// Reads a text and its vector; `None` if they are damaged. A damaged length is an error.
fn record(file: &mut impl Read) -> std::io::Result<Option<TextVector>> {
    let mut head = [0; RECORD_HEAD];
    file.read_exact(&mut head)?;
    let (text, [length, crc]) = (&head[..16], [&head[16..20], &head[20..]].map(number));
    let length = length as usize;
    if length > MAX_VECTOR_BYTES || !length.is_multiple_of(4) {
        let reason = format!("a vector has {length} bytes");
        return Err(std::io::Error::new(ErrorKind::InvalidData, reason));
    }
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    if checksum(text, &bytes) != crc {
        return Ok(None);
    }
    let floats = bytes.as_chunks::<4>().0;
    let vector = floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(stored_hash(text).ok().map(|text| (text, vector)))
}

/// Returns the number in four bytes, little-endian.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn checksum(text: &[u8], vector: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(text);
    sum.update(vector);
    sum.finalize()
}

/// Returns the bytes of the key of a model; `None` if `text` is not one.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let key = u128::from_str_radix(text, 16).ok()?.to_be_bytes();
    (hex(&key) == text).then(|| key.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back_and_damage_is_detected() {
        let vectors = [(TextHash(7), vec![0.5, -1.0]), (TextHash(u128::MAX), Vec::new())];
        let mut bytes = Vec::new();
        for (text, vector) in &vectors {
            write_record(&mut bytes, *text, vector).unwrap();
        }
        let mut file = bytes.as_slice();
        for expected in &vectors {
            assert_eq!(record(&mut file).unwrap().as_ref(), Some(expected));
        }
        assert_eq!(record(&mut file).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let damaged = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 64;
            record(&mut bytes.as_slice())
        };
        for at in [0, 15, RECORD_HEAD, RECORD_HEAD + 7] {
            assert_eq!(damaged(at).unwrap(), None, "byte {at}");
        }
        assert_eq!(damaged(19).unwrap_err().kind(), ErrorKind::InvalidData, "length");
    }

    #[test]
    fn key_of_a_model_is_a_file_name() {
        let key: Vec<u8> = (0..16).collect();
        assert_eq!(from_hex(&hex(&key)), Some(key));
        for invalid in ["", "../../../../etc/passwd", "0", "+00102030405060708090a0b0c0d0e0f"] {
            assert_eq!(from_hex(invalid), None, "{invalid}");
        }
    }
}
