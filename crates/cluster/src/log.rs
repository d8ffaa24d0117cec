//! The log of a collection: commits, and what they changed.

use std::collections::{BTreeMap, HashMap, HashSet};

use deadpool_postgres::Transaction;
use weft_indexer::hash_of;
use weft_model::TextHash;

use crate::collection::{bytes_of, check_name, raise_head, stored_hash};
use crate::error::TaskError;
use crate::{ClusterError, Collection, CommitError, FolderId, Lease};

/// Changes that become visible together.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The changes, at most one for each file.
    pub changes: Vec<FileChange>,
    /// Id of the commit. A second commit with the same id changes nothing and returns the number of the first one, so a client that did not learn the outcome may repeat it.
    pub batch: Option<[u8; 16]>,
    /// Lease that must be held.
    pub lease: Option<Lease>,
    /// Folder that the changes come from; `None` for all other writers.
    pub folder: Option<FolderId>,
}

impl Commit {
    /// Creates a commit of some changes.
    #[must_use]
    pub const fn of(changes: Vec<FileChange>) -> Self {
        Self { changes, batch: None, lease: None, folder: None }
    }
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Name of the vault; a new name creates a vault.
    pub vault: String,
    /// Path in the vault.
    pub path: String,
    /// Required state before the commit.
    pub expected: Expected,
    /// New content.
    pub content: NewContent,
    /// Modification time, nanoseconds since 1970; `None` for the time of the commit.
    pub modified_ns: Option<i64>,
}

impl FileChange {
    /// Creates or replaces a file, whatever is there.
    #[must_use]
    pub fn put(vault: &str, path: &str, bytes: Vec<u8>) -> Self {
        Self::new(vault, path, Expected::Anything, NewContent::Bytes(bytes))
    }

    /// Changes a file that is in the expected state.
    #[must_use]
    pub fn new(vault: &str, path: &str, expected: Expected, content: NewContent) -> Self {
        let (vault, path) = (vault.to_owned(), path.to_owned());
        Self { vault, path, expected, content, modified_ns: None }
    }
}

/// Required state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any state.
    Anything,
    /// Content with this hash; `None` for no file.
    Content(Option<TextHash>),
}

/// New content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewContent {
    /// No file.
    Removed,
    /// These bytes.
    Bytes(Vec<u8>),
    /// The bytes with this hash, which another file of the collection has or had.
    Stored(TextHash),
}

/// A file at some number of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedFile {
    /// Path in the vault.
    pub path: String,
    /// Hash of its content.
    pub hash: TextHash,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Number of the commit that wrote it.
    pub generation: u64,
}

/// A state of a file after a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VaultChange {
    pub(crate) path: String,
    /// Hash of its content; `None` if it was removed.
    pub(crate) hash: Option<TextHash>,
    /// True if the change came from the folder.
    pub(crate) is_own: bool,
}

impl Collection {
    /// Returns the number of the newest commit. All commits up to it are visible.
    pub fn head(&self) -> Result<u64, ClusterError> {
        self.database.run("read the head of the log", async {
            let client = self.database.client().await?;
            let select =
                client.prepare_cached("select head from noteweft.collection where id = $1").await?;
            let row = client.query_opt(&select, &[&self.id]).await?;
            Ok(row.ok_or_else(|| self.erased())?.get::<_, i64>(0).cast_unsigned())
        })
    }

    /// Returns the first number whose state can be read; 0 if nothing was removed. The commits up to it are not in the log any more.
    pub fn floor(&self) -> Result<u64, ClusterError> {
        self.database.run("read the floor of the log", async {
            let client = self.database.client().await?;
            let select = client
                .prepare_cached("select floor from noteweft.collection where id = $1")
                .await?;
            let row = client.query_opt(&select, &[&self.id]).await?;
            Ok(row.ok_or_else(|| self.erased())?.get::<_, i64>(0).cast_unsigned())
        })
    }

    /// Commits changes and returns the number of the commit; the number of the newest commit if they change nothing.
    pub fn commit(&self, commit: &Commit) -> Result<u64, CommitError> {
        let names: HashSet<&str> = commit.changes.iter().map(|change| &*change.vault).collect();
        names.into_iter().try_for_each(|vault| check_name("vault", vault))?;
        self.database.run("commit changes", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            let committed = self.commit_in(&transaction, commit).await?;
            if committed.is_ok() {
                transaction.commit().await?;
            } else {
                transaction.rollback().await?;
            }
            Ok(committed)
        })?
    }

    /// Adds the changes to a transaction.
    async fn commit_in(
        &self,
        transaction: &Transaction<'_>,
        commit: &Commit,
    ) -> Result<Result<u64, CommitError>, TaskError> {
        let Commit { changes, batch, lease, folder } = commit;
        // The lock is taken first, so that commits of one collection neither interleave nor deadlock.
        let head = self.lock_head(transaction).await?;
        let batch = batch.as_ref().map(<[u8; 16]>::as_slice);
        if let Some(batch) = batch {
            let select =
                "select generation from noteweft.commit where collection = $1 and batch = $2";
            if let Some(row) = transaction.query_opt(select, &[&self.id, &batch]).await? {
                return Ok(Ok(row.get::<_, i64>(0).cast_unsigned()));
            }
        }
        if let Some(lease) = lease
            && !self.is_held(transaction, lease).await?
        {
            return Ok(Err(CommitError::Fenced { role: lease.role.clone() }));
        }
        let now = self.hashes_in(transaction, changes).await?;
        let mut rows = Rows::default();
        for change in changes {
            let FileChange { vault, path, expected, content, modified_ns } = change;
            let actual = now.get(&(vault, path)).copied();
            if let Expected::Content(expected) = expected
                && *expected != actual
            {
                let (vault, path) = (vault.clone(), path.clone());
                return Ok(Err(CommitError::Conflict { vault, path, actual }));
            }
            let hash = match content {
                NewContent::Removed => None,
                NewContent::Bytes(bytes) => Some(hash_of(bytes)),
                NewContent::Stored(hash) => Some(*hash),
            };
            if hash == actual {
                continue;
            }
            if let (NewContent::Bytes(bytes), Some(hash)) = (content, hash) {
                rows.new_hashes.push(bytes_of(hash));
                rows.bodies.push(bytes);
            }
            rows.vaults.push(vault);
            rows.paths.push(path);
            rows.hashes.push(hash.map(bytes_of));
            rows.modified.push(*modified_ns);
        }
        if rows.paths.is_empty() {
            return Ok(Ok(head.cast_unsigned()));
        }
        rows.insert(transaction, self.id, head + 1).await?;
        let folder = folder.as_ref().map(FolderId::as_str);
        raise_head(transaction, self.id, head + 1, batch, folder).await?;
        Ok(Ok((head + 1).cast_unsigned()))
    }

    /// Locks the collection's row until the transaction ends, and returns its head.
    pub(crate) async fn lock_head(&self, transaction: &Transaction<'_>) -> Result<i64, TaskError> {
        let select = "select head from noteweft.collection where id = $1 for update";
        let select = transaction.prepare_cached(select).await?;
        let row = transaction.query_opt(&select, &[&self.id]).await?;
        Ok(row.ok_or_else(|| self.erased())?.get(0))
    }

    /// Returns the present hashes of the files that `changes` name.
    async fn hashes_in<'c>(
        &self,
        transaction: &Transaction<'_>,
        changes: &'c [FileChange],
    ) -> Result<HashMap<(&'c String, &'c String), TextHash>, TaskError> {
        let (vaults, paths): (Vec<&str>, Vec<&str>) =
            changes.iter().map(|change| (&*change.vault, &*change.path)).unzip();
        let select = "select key.n, newest.hash
             from unnest($2::text[], $3::text[]) with ordinality as key (vault, path, n)
             cross join lateral (
               select hash from noteweft.version
               where collection = $1 and vault = key.vault and path = key.path
               order by generation desc limit 1) as newest
             where newest.hash is not null";
        let select = transaction.prepare_cached(select).await?;
        let mut hashes = HashMap::new();
        for row in transaction.query(&select, &[&self.id, &vaults, &paths]).await? {
            let change = usize::try_from(row.get::<_, i64>(0) - 1).ok();
            let change = change.and_then(|at| changes.get(at));
            let hash = stored_hash(row.get(1))?;
            hashes.extend(change.map(|change| ((&change.vault, &change.path), hash)));
        }
        Ok(hashes)
    }

    /// Returns the names of the vaults at a number of the log, ascending.
    pub fn vaults(&self, at: u64) -> Result<Vec<String>, ClusterError> {
        self.database.run("list the vaults", async {
            let client = self.database.client().await?;
            let select = "select name from noteweft.vault
                 where collection = $1 and since <= $2 order by name";
            let select = client.prepare_cached(select).await?;
            let rows = client.query(&select, &[&self.id, &at.cast_signed()]).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    /// Returns the paths of each vault that the commits after `after` and up to `upto` changed, ascending.
    pub fn changes(
        &self,
        after: u64,
        upto: u64,
    ) -> Result<BTreeMap<String, Vec<String>>, ClusterError> {
        self.database.run("read the log", async {
            let client = self.database.client().await?;
            let select = "select distinct vault, path from noteweft.version
                 where collection = $1 and generation > $2 and generation <= $3
                 order by vault, path";
            let select = client.prepare_cached(select).await?;
            let (after, upto) = (after.cast_signed(), upto.cast_signed());
            let mut changes: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for row in client.query(&select, &[&self.id, &after, &upto]).await? {
                changes.entry(row.get(0)).or_default().push(row.get(1));
            }
            Ok(changes)
        })
    }

    /// Returns the states that the commits after `after` and up to `upto` gave files of a vault, by path and then in their order.
    pub(crate) fn changes_of_vault(
        &self,
        vault: &str,
        folder: &FolderId,
        (after, upto): (u64, u64),
    ) -> Result<Vec<VaultChange>, ClusterError> {
        self.database.run("read the log of a vault", async {
            let client = self.database.client().await?;
            let select = "select path, hash, folder is not distinct from $5
                 from noteweft.version join noteweft.commit using (collection, generation)
                 where collection = $1 and vault = $2 and generation > $3 and generation <= $4
                   and commit.generation > $3 and commit.generation <= $4
                 order by path, generation";
            let select = client.prepare_cached(select).await?;
            let numbers = [after, upto].map(u64::cast_signed);
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                [&self.id, &vault, &numbers[0], &numbers[1], &folder.as_str()];
            let change = |row: &tokio_postgres::Row| {
                let hash = row.get::<_, Option<&[u8]>>(1).map(stored_hash).transpose()?;
                Ok(VaultChange { path: row.get(0), hash, is_own: row.get(2) })
            };
            client.query(&select, &columns).await?.iter().map(change).collect()
        })
    }

    /// Returns the files of a vault at a number of the log, ordered by path: all of them, or those at the given paths.
    pub fn files(
        &self,
        vault: &str,
        at: u64,
        paths: Option<&[String]>,
    ) -> Result<Vec<LoggedFile>, ClusterError> {
        self.database.run("list the files of a vault", async {
            let client = self.database.client().await?;
            let select = "select path, hash, size, modified_ns, generation from (
                   select distinct on (path) path, hash, size, modified_ns, generation
                   from noteweft.version
                   where collection = $1 and vault = $2 and generation <= $3
                     and ($4::text[] is null or path = any ($4))
                   order by path, generation desc) as newest
                 where hash is not null";
            let rows = client.query(select, &[&self.id, &vault, &at.cast_signed(), &paths]).await?;
            let file = |row: &tokio_postgres::Row| {
                Ok(LoggedFile {
                    path: row.get(0),
                    hash: stored_hash(row.get(1))?,
                    size: row.get::<_, i64>(2).cast_unsigned(),
                    modified_ns: row.get(3),
                    generation: row.get::<_, i64>(4).cast_unsigned(),
                })
            };
            let mut files =
                rows.iter().map(file).collect::<Result<Vec<LoggedFile>, TaskError>>()?;
            // The collation of the database may order paths in another way.
            files.sort_by(|a, b| a.path.cmp(&b.path));
            Ok(files)
        })
    }

    /// Returns the content of a file at a number of the log; `None` if it does not exist there.
    pub fn read(&self, vault: &str, path: &str, at: u64) -> Result<Option<Vec<u8>>, ClusterError> {
        self.database.run("read a file", async {
            let client = self.database.client().await?;
            let select = "select body from noteweft.blob
                 where collection = $1 and hash = (
                   select hash from noteweft.version
                   where collection = $1 and vault = $2 and path = $3 and generation <= $4
                   order by generation desc limit 1)";
            let select = client.prepare_cached(select).await?;
            let at = at.cast_signed();
            let row = client.query_opt(&select, &[&self.id, &vault, &path, &at]).await?;
            Ok(row.map(|row| row.get(0)))
        })
    }

    /// Returns the error of a file whose text the database does not have.
    pub(crate) fn missing_text(&self, path: &str) -> ClusterError {
        let place = self.database.place().to_owned();
        ClusterError::Damaged { place, reason: format!("the text of `{path}` is missing") }
    }

    /// Returns texts by their hashes, without order.
    pub fn blobs(&self, hashes: &[TextHash]) -> Result<Vec<(TextHash, Vec<u8>)>, ClusterError> {
        self.database.run("read files", async {
            let client = self.database.client().await?;
            let hashes: Vec<Vec<u8>> = hashes.iter().map(|hash| bytes_of(*hash)).collect();
            let select = "select hash, body from noteweft.blob
                 where collection = $1 and hash = any ($2)";
            let select = client.prepare_cached(select).await?;
            let rows = client.query(&select, &[&self.id, &hashes]).await?;
            rows.iter().map(|row| Ok((stored_hash(row.get(0))?, row.get(1)))).collect()
        })
    }
}

/// The rows of a commit, by column.
#[derive(Default)]
struct Rows<'c> {
    vaults: Vec<&'c String>,
    paths: Vec<&'c String>,
    hashes: Vec<Option<Vec<u8>>>,
    modified: Vec<Option<i64>>,
    new_hashes: Vec<Vec<u8>>,
    bodies: Vec<&'c Vec<u8>>,
}

impl Rows<'_> {
    /// Inserts the rows under the number `generation`.
    async fn insert(
        &self,
        transaction: &Transaction<'_>,
        collection: i32,
        generation: i64,
    ) -> Result<(), TaskError> {
        let Self { vaults, paths, hashes, modified, new_hashes, bodies } = self;
        let insert = "insert into noteweft.vault (collection, name, since)
             select distinct $1::int, name, $2::bigint from unnest($3::text[]) as name
             on conflict do nothing";
        let insert = transaction.prepare_cached(insert).await?;
        transaction.execute(&insert, &[&collection, &generation, vaults]).await?;
        let insert = "insert into noteweft.blob (collection, hash, body)
             select $1::int, hash, body from unnest($2::bytea[], $3::bytea[]) as new (hash, body)
             on conflict do nothing";
        let insert = transaction.prepare_cached(insert).await?;
        transaction.execute(&insert, &[&collection, new_hashes, bodies]).await?;
        // The size comes from the stored text, so a hash without a text fails here.
        let insert = "insert into noteweft.version
               (collection, vault, path, generation, hash, size, modified_ns)
             select $1::int, new.vault, new.path, $2::bigint, new.hash,
               case when new.hash is null then 0 else length(blob.body) end,
               coalesce(new.modified, (extract(epoch from now()) * 1000000)::bigint * 1000)
             from unnest($3::text[], $4::text[], $5::bytea[], $6::bigint[])
               as new (vault, path, hash, modified)
             left join noteweft.blob on blob.collection = $1 and blob.hash = new.hash";
        let insert = transaction.prepare_cached(insert).await?;
        let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
            [&collection, &generation, vaults, paths, hashes, modified];
        transaction.execute(&insert, &columns).await?;
        Ok(())
    }
}
