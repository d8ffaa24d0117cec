//! Folders that notes are pushed from and pulled into, and how far each has seen the log.

use std::path::Path;

use weft_indexer::hash_of;

use crate::{ClusterError, Collection};

/// Identity of a folder: its path on one machine. A copy of the folder is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderId(String);

impl FolderId {
    /// Returns the identity of the folder at `path` on the machine that `machine` names.
    #[must_use]
    pub fn new(machine: &str, path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = [machine.as_bytes(), b"\0", path.as_os_str().as_encoded_bytes()].concat();
        // The hash shows nothing of the machine to other users of the collection.
        Self(format!("{:?}", hash_of(&name)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Collection {
    /// Returns the number up to which a folder has the commits of others; `None` if that was never marked.
    pub(crate) fn seen(&self, vault: &str, folder: &FolderId) -> Result<Option<u64>, ClusterError> {
        self.database.run("read a folder", async {
            let client = self.database.client().await?;
            let select = "select seen from noteweft.folder
                 where collection = $1 and vault = $2 and id = $3";
            let row = client.query_opt(select, &[&self.id, &vault, &folder.0]).await?;
            Ok(row.map(|row| row.get::<_, i64>(0).cast_unsigned()))
        })
    }

    /// Marks that a folder has the commits of others up to `seen`.
    pub(crate) fn mark_seen(
        &self,
        vault: &str,
        folder: &FolderId,
        seen: u64,
    ) -> Result<(), ClusterError> {
        self.database.run("mark a folder", async {
            let client = self.database.client().await?;
            let insert = "insert into noteweft.folder (collection, vault, id, seen)
                 values ($1, $2, $3, $4)
                 on conflict (collection, vault, id) do update set seen = excluded.seen";
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&self.id, &vault, &folder.0, &seen.cast_signed()];
            client.execute(insert, &columns).await?;
            Ok(())
        })
    }
}
