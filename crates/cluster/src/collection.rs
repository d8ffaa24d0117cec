//! Collections: sets of vaults with one log.

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::Object;
use weft_model::TextHash;

use crate::error::TaskError;
use crate::{ClusterError, Database, roles};

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// A collection.
#[derive(Clone, Debug)]
pub struct Collection {
    pub(crate) database: Arc<Database>,
    pub(crate) id: i32,
    name: String,
    uid: String,
}

/// Counts of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionStatus {
    /// Number of the newest commit; 0 without commits.
    pub head: u64,
    /// Time since the newest commit, in seconds; `None` without commits.
    pub seconds_since_commit: Option<u64>,
    /// Number of vaults.
    pub n_vaults: u64,
    /// Number of notes.
    pub n_notes: u64,
    /// Number of states of notes that are stored, removals included.
    pub n_versions: u64,
    /// Number of stored vectors.
    pub n_vectors: u64,
    /// Number of texts that wait for a vector.
    pub n_jobs: u64,
    /// Number of texts that a model rejected.
    pub n_rejected: u64,
    /// First number of the log whose state can be read; 0 if nothing was removed.
    pub floor: u64,
    /// Number of states of notes that were removed since the collection was created.
    pub n_removed_versions: u64,
    /// Number of vectors that were removed since the collection was created.
    pub n_removed_vectors: u64,
}

/// A setting that answers depend on, which all nodes of a collection must share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSetting {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Its value if nothing sets it; `None` if it has no default.
    pub default: Option<String>,
}

impl Collection {
    /// Creates a collection with these vaults. If it exists, adds the vaults that it does not have.
    pub fn create(
        database: &Arc<Database>,
        name: &str,
        vaults: &[&str],
    ) -> Result<Self, ClusterError> {
        check_name("collection", name)?;
        vaults.iter().try_for_each(|vault| check_name("vault", vault))?;
        let (id, uid) = database.run("create a collection", async {
            let mut client = database.client().await?;
            database.require_schema(&client).await?;
            let transaction = client.transaction().await?;
            let insert = "insert into noteweft.collection (name) values ($1) on conflict do nothing";
            transaction.execute(insert, &[&name]).await?;
            let select = "select id, head, uid::text from noteweft.collection
                 where name = $1 for update";
            let row = transaction.query_one(select, &[&name]).await?;
            let (id, head): (i32, i64) = (row.get(0), row.get(1));
            let insert = "insert into noteweft.vault (collection, name, since)
                 select $1::int, name, $2::bigint from unnest($3::text[]) as name on conflict do nothing";
            let n_new = transaction.execute(insert, &[&id, &(head + 1), &vaults]).await?;
            if n_new > 0 {
                raise_head(&transaction, id, head + 1, None, None).await?;
            }
            transaction.commit().await?;
            Ok((id, row.get(2)))
        })?;
        Ok(Self { database: Arc::clone(database), id, name: name.to_owned(), uid })
    }

    /// Opens an existing collection.
    pub fn open(database: &Arc<Database>, name: &str) -> Result<Self, ClusterError> {
        let (id, uid) = database.run("open a collection", async {
            let client = database.client().await?;
            database.require_schema(&client).await?;
            let select = "select id, uid::text from noteweft.collection where name = $1";
            match client.query_opt(select, &[&name]).await? {
                Some(row) => Ok((row.get(0), row.get(1))),
                None => {
                    let (name, known) = (name.to_owned(), names(&client).await?);
                    Err(ClusterError::UnknownCollection { name, known }.into())
                }
            }
        })?;
        Ok(Self { database: Arc::clone(database), id, name: name.to_owned(), uid })
    }

    /// Returns the names of all collections, ascending.
    pub fn names(database: &Database) -> Result<Vec<String>, ClusterError> {
        database.run("list the collections", async {
            let client = database.client().await?;
            database.require_schema(&client).await?;
            names(&client).await
        })
    }

    /// Name of the collection.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Id that no other collection has, not even an erased one of the same name.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Records the settings that answers depend on, or fails if other nodes use different ones; the error shows the first one that differs.
    ///
    /// A setting that the recorded ones lack, because an earlier release recorded them, must have its default.
    pub fn require_settings(&self, settings: &[SharedSetting]) -> Result<(), ClusterError> {
        let line = |setting: &SharedSetting| format!("{} = {}", setting.key, setting.value);
        let lines: Vec<String> = settings.iter().map(line).collect();
        self.database.run("compare the settings", async {
            let client = self.database.client().await?;
            let update = "update noteweft.collection set settings = coalesce(settings, $2)
                 where id = $1 returning settings";
            let row = client.query_one(update, &[&self.id, &lines.join("\n")]).await?;
            let recorded: String = row.get(0);
            let recorded: HashMap<&str, &str> =
                recorded.lines().filter_map(|line| line.split_once(" = ")).collect();
            let differs = |setting: &&SharedSetting| match recorded.get(&*setting.key) {
                Some(value) => *value != setting.value,
                None => setting.default.as_ref() != Some(&setting.value),
            };
            let Some(ours) = settings.iter().find(differs) else { return Ok(()) };
            let theirs = match recorded.get(&*ours.key) {
                Some(value) => format!("`{} = {value}`", ours.key),
                None => "its default".to_owned(),
            };
            let difference = format!("`{}` here, {theirs} in the collection", line(ours));
            Err(ClusterError::Settings { name: self.name.clone(), difference }.into())
        })
    }

    /// Gives the collection another id, so that every node builds a new index. All nodes must be stopped.
    ///
    /// Requires a connection as the owner of the tables. Needed if the log lost commits, whose numbers are given again.
    pub fn renew_uid(&self) -> Result<(), ClusterError> {
        self.database.run("give the collection another id", async {
            let client = self.database.client().await?;
            let update = "update noteweft.collection set uid = gen_random_uuid() where id = $1";
            client.execute(update, &[&self.id]).await?;
            Ok(())
        })
    }

    /// Forgets the settings, so that the next node that starts sets them. All other nodes must be stopped.
    pub fn clear_settings(&self) -> Result<(), ClusterError> {
        self.database.run("clear the settings", async {
            let client = self.database.client().await?;
            let update = "update noteweft.collection set settings = null where id = $1";
            client.execute(update, &[&self.id]).await?;
            Ok(())
        })
    }

    /// Binds a role of the database to the collection: the role may do what nodes do, in the collections that it is bound to, and sees no others.
    ///
    /// Requires a connection as the owner of the tables. Fails if the role does not exist, or if row security does not apply to it.
    pub fn bind_role(&self, role: &str) -> Result<(), ClusterError> {
        self.database.run("bind a role", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            roles::bind(&transaction, role, self.id).await?;
            transaction.commit().await?;
            Ok(())
        })
    }

    /// Returns the counts of the collection. `O(notes)`.
    pub fn status(&self) -> Result<CollectionStatus, ClusterError> {
        self.database.run("count the notes", async {
            let client = self.database.client().await?;
            let select = "select
                   head,
                   (select extract(epoch from now() - max(committed))::bigint from noteweft.commit where collection = $1),
                   (select count(*) from noteweft.vault where collection = $1),
                   (select count(*) filter (where hash is not null) from (
                      select distinct on (vault, path) hash from noteweft.version
                      where collection = $1 order by vault, path, generation desc) as newest),
                   (select count(*) from noteweft.version where collection = $1),
                   (select count(*) from noteweft.vector where collection = $1 and vector <> ''),
                   (select count(*) from noteweft.job where collection = $1),
                   (select count(*) from noteweft.vector where collection = $1 and vector = ''),
                   floor, versions_removed, vectors_removed
                 from noteweft.collection where id = $1";
            let row = client.query_opt(select, &[&self.id]).await?;
            let row = row.ok_or_else(|| self.erased())?;
            let count = |at: usize| row.get::<_, i64>(at).cast_unsigned();
            Ok(CollectionStatus {
                head: count(0),
                seconds_since_commit: row.get::<_, Option<i64>>(1).map(i64::cast_unsigned),
                n_vaults: count(2),
                n_notes: count(3),
                n_versions: count(4),
                n_vectors: count(5),
                n_jobs: count(6),
                n_rejected: count(7),
                floor: count(8),
                n_removed_versions: count(9),
                n_removed_vectors: count(10),
            })
        })
    }

    /// Erases the collection with everything in it.
    pub fn erase(self) -> Result<(), ClusterError> {
        self.database.run("erase a collection", async {
            let client = self.database.client().await?;
            client.execute("delete from noteweft.collection where id = $1", &[&self.id]).await?;
            Ok(())
        })
    }

    /// Returns the error for a collection that was erased while it was open.
    pub(crate) fn erased(&self) -> TaskError {
        let (name, known) = (self.name.clone(), Vec::new());
        ClusterError::UnknownCollection { name, known }.into()
    }
}

/// Fails if a collection or a vault cannot have the name.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), ClusterError> {
    let is_valid = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    // A name of dots alone would lead out of the folder of an export.
    let is_folder = name.chars().any(|c| c != '.');
    if is_folder && name.len() <= MAX_NAME && name.chars().all(is_valid) {
        return Ok(());
    }
    Err(ClusterError::Name { what, name: name.to_owned() })
}

async fn names(client: &Object) -> Result<Vec<String>, TaskError> {
    let rows = client.query("select name from noteweft.collection order by name", &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Gives the collection, whose row is locked, its next head, and records the commit.
pub(crate) async fn raise_head(
    transaction: &deadpool_postgres::Transaction<'_>,
    collection: i32,
    head: i64,
    batch: Option<&[u8]>,
    folder: Option<&str>,
) -> Result<(), TaskError> {
    let update = "update noteweft.collection set head = $2 where id = $1";
    transaction.execute(update, &[&collection, &head]).await?;
    let insert = "insert into noteweft.commit (collection, generation, batch, folder)
         values ($1, $2, $3, $4)";
    transaction.execute(insert, &[&collection, &head, &batch, &folder]).await?;
    Ok(())
}

/// Returns the bytes of a hash as they are stored.
pub(crate) fn bytes_of(hash: TextHash) -> Vec<u8> {
    hash.0.to_be_bytes().to_vec()
}

/// Returns a stored hash.
pub(crate) fn stored_hash(bytes: &[u8]) -> Result<TextHash, TaskError> {
    match bytes.try_into() {
        Ok(bytes) => Ok(TextHash(u128::from_be_bytes(bytes))),
        Err(_) => {
            Err(TaskError::Damaged(format!("a hash has {} bytes instead of 16", bytes.len())))
        }
    }
}
