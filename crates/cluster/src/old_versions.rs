//! Removal of what no node needs any more: old versions, their texts, and vectors.

use std::collections::HashSet;
use std::time::Duration;

use deadpool_postgres::Transaction;
use weft_index::embedder::ModelIdentity;
use weft_model::TextHash;

use crate::collection::stored_hash;
use crate::error::TaskError;
use crate::shared_vectors::model_key;
use crate::{ClusterError, Collection, CommitError, Lease};

/// Role of the process that removes.
const ROLE: &str = "remove-old-versions";

/// Time for which the lease is held, in seconds; it is renewed with each window of commits.
const LEASE_SECONDS: u32 = 300;

/// Time in seconds after its last report until a node counts as stopped.
const LIVE_SECONDS: f64 = 300.0;

/// Number of commits whose older versions are looked up at a time.
const COMMITS_AT_ONCE: u64 = 200;

/// Number of rows that one transaction removes; writers wait for it.
const ROWS_AT_ONCE: usize = 1000;

/// Number of vectors that are looked at at a time.
const VECTORS_AT_ONCE: i64 = 1000;

/// Result of a removal of versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedVersions {
    /// First number of the log whose state can still be read.
    pub floor: u64,
    /// Number of removed states of notes.
    pub n_versions: u64,
}

/// State of a node. Its texts and those of the vector graph in use determine the vectors that are needed.
#[derive(Clone, Copy, Debug)]
pub struct NeededVectors<'a> {
    /// Model of the collection; vectors of others are not needed.
    pub model: &'a ModelIdentity,
    /// Number of the state.
    pub generation: u64,
    /// Texts of the state.
    pub texts: &'a HashSet<TextHash>,
}

/// A version of a file.
type VersionKey = (String, String, i64);

/// Model and text of a vector.
type VectorKey = (Vec<u8>, Vec<u8>);

impl Collection {
    /// Takes the lease of a removal; `None` if another process removes.
    pub fn removal_lease(&self, holder: &str) -> Result<Option<Lease>, ClusterError> {
        Ok(self.take_lease(ROLE, holder, LEASE_SECONDS)?.ok())
    }

    /// Raises the floor to the newest commit that is older than `keep` and applied by every running node, and removes the versions that only states below need.
    ///
    /// Every state from the floor on stays as it is. Writers wait only for single batches. `O(changes since the last removal)`.
    pub fn remove_old_versions(
        &self,
        lease: &Lease,
        keep: Duration,
    ) -> Result<RemovedVersions, CommitError> {
        let (floor, mut swept) = self.raise_floor(lease, keep)?;
        let mut removed = RemovedVersions { floor, n_versions: 0 };
        while swept < floor {
            let upto = floor.min(swept + COMMITS_AT_ONCE);
            let old = self.old_versions(swept, upto, floor)?;
            for keys in old.chunks(ROWS_AT_ONCE) {
                removed.n_versions += self.remove_versions(lease, keys)?;
            }
            self.set_swept(lease, upto)?;
            swept = upto;
            self.renew_lease(lease, LEASE_SECONDS)?;
        }
        Ok(removed)
    }

    /// Returns the new floor, and the number up to which versions were removed before.
    fn raise_floor(&self, lease: &Lease, keep: Duration) -> Result<(u64, u64), CommitError> {
        self.removing(lease, async |transaction| {
            let update = "update noteweft.collection set floor = greatest(floor, least(
                   (select coalesce(max(generation), 0) from noteweft.commit
                    where collection = $1 and committed <= now() - make_interval(secs => $2)),
                   (select coalesce(min(generation), head) from noteweft.node
                    where collection = $1 and heartbeat > now() - make_interval(secs => $3))))
                 where id = $1 returning floor, swept";
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                [&self.id, &keep.as_secs_f64(), &LIVE_SECONDS];
            let row = transaction.query_one(update, &columns).await?;
            let (floor, swept): (i64, i64) = (row.get(0), row.get(1));
            let delete = "delete from noteweft.commit where collection = $1 and generation < $2";
            transaction.execute(delete, &[&self.id, &floor]).await?;
            Ok((floor.cast_unsigned(), swept.cast_unsigned()))
        })
    }

    /// Returns the versions that no state from `floor` on needs, of files that commits after `after` and up to `upto` changed.
    fn old_versions(
        &self,
        after: u64,
        upto: u64,
        floor: u64,
    ) -> Result<Vec<VersionKey>, ClusterError> {
        self.database.run("find old versions", async {
            let client = self.database.client().await?;
            let select = "select old.vault, old.path, old.generation
                 from (select distinct vault, path from noteweft.version
                       where collection = $1 and generation > $2 and generation <= $3) as changed
                 join noteweft.version as old
                   on old.collection = $1 and old.vault = changed.vault
                     and old.path = changed.path and old.generation <= $4
                 where old.hash is null or exists (
                   select from noteweft.version as newer
                   where newer.collection = $1 and newer.vault = old.vault
                     and newer.path = old.path and newer.generation > old.generation
                     and newer.generation <= $4)";
            let numbers = [after, upto, floor].map(u64::cast_signed);
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&self.id, &numbers[0], &numbers[1], &numbers[2]];
            let rows = client.query(select, &columns).await?;
            Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
        })
    }

    /// Removes versions, and the texts that no other version has.
    fn remove_versions(&self, lease: &Lease, keys: &[VersionKey]) -> Result<u64, CommitError> {
        let vaults: Vec<&str> = keys.iter().map(|(vault, _, _)| &**vault).collect();
        let paths: Vec<&str> = keys.iter().map(|(_, path, _)| &**path).collect();
        let generations: Vec<i64> = keys.iter().map(|(_, _, generation)| *generation).collect();
        self.removing(lease, async |transaction| {
            let delete = "delete from noteweft.version
                 using unnest($2::text[], $3::text[], $4::bigint[]) as old (vault, path, generation)
                 where collection = $1 and version.vault = old.vault and version.path = old.path
                   and version.generation = old.generation
                 returning version.hash";
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&self.id, &vaults, &paths, &generations];
            let rows = transaction.query(delete, &columns).await?;
            let hashes: Vec<Vec<u8>> =
                rows.iter().filter_map(|row| row.get::<_, Option<Vec<u8>>>(0)).collect();
            let delete = "delete from noteweft.blob
                 where collection = $1 and hash = any ($2) and not exists (
                   select from noteweft.version
                   where version.collection = $1 and version.hash = blob.hash)";
            transaction.execute(delete, &[&self.id, &hashes]).await?;
            let update = "update noteweft.collection
                 set versions_removed = versions_removed + $2 where id = $1";
            let n_removed = rows.len() as u64;
            transaction.execute(update, &[&self.id, &n_removed.cast_signed()]).await?;
            Ok(n_removed)
        })
    }

    fn set_swept(&self, lease: &Lease, upto: u64) -> Result<(), CommitError> {
        self.removing(lease, async |transaction| {
            let update = "update noteweft.collection set swept = $2 where id = $1";
            transaction.execute(update, &[&self.id, &upto.cast_signed()]).await?;
            Ok(())
        })
    }

    /// Removes vectors below the floor that neither the newest state nor the vector graph in use needs; returns their number.
    ///
    /// The graph in use may contain texts that no note has any more, and a node that adopts it needs their vectors.
    /// Returns `None`, and removes no more, unless `needed` is the newest state and every running node has applied it: a node that applies another one may still need them. The same holds while a node builds a graph, and for a graph of a later release.
    pub fn remove_unneeded_vectors(
        &self,
        lease: &Lease,
        needed: &NeededVectors<'_>,
    ) -> Result<Option<u64>, CommitError> {
        let in_graph = self.graph_texts(needed.model, needed.generation)?;
        let Some(in_graph) = in_graph else { return Ok(None) };
        let in_graph: HashSet<TextHash> = in_graph.into_iter().collect();
        let (mut n_removed, mut after) = (0, VectorKey::default());
        loop {
            let keys = self.vectors_below_floor(&after)?;
            let Some(last) = keys.last() else { return Ok(Some(n_removed)) };
            after.clone_from(last);
            let model = model_key(needed.model);
            let mut unneeded = Vec::new();
            for (owner, text) in keys {
                let hash = stored_hash(&text);
                let hash = hash.map_err(|error| error.of("read vectors", self.database.place()))?;
                let is_needed = needed.texts.contains(&hash) || in_graph.contains(&hash);
                if owner != model || !is_needed {
                    unneeded.push((owner, text));
                }
            }
            if unneeded.is_empty() {
                continue;
            }
            match self.remove_vectors(lease, needed.generation, &unneeded)? {
                Some(n) => n_removed += n,
                None => return Ok(None),
            }
            self.renew_lease(lease, LEASE_SECONDS)?;
        }
    }

    /// Returns the keys of the next vectors that commits up to the floor stored, ascending.
    fn vectors_below_floor(&self, after: &VectorKey) -> Result<Vec<VectorKey>, ClusterError> {
        self.database.run("find old vectors", async {
            let client = self.database.client().await?;
            let select = "select model, text from noteweft.vector
                 where collection = $1 and (model, text) > ($2, $3)
                   and generation <= (select floor from noteweft.collection where id = $1)
                 order by model, text limit $4";
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&self.id, &after.0, &after.1, &VECTORS_AT_ONCE];
            let rows = client.query(select, &columns).await?;
            Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
        })
    }

    /// Removes vectors; returns `None` if `generation` is not the state of the log and of every running node, or if a graph is being built.
    fn remove_vectors(
        &self,
        lease: &Lease,
        generation: u64,
        keys: &[VectorKey],
    ) -> Result<Option<u64>, CommitError> {
        let (models, texts): (Vec<&[u8]>, Vec<&[u8]>) =
            keys.iter().map(|(model, text)| (&**model, &**text)).unzip();
        self.removing(lease, async |transaction| {
            let select = "select head = $2 and not exists (
                   select from noteweft.node where collection = $1 and generation <> $2
                     and heartbeat > now() - make_interval(secs => $3))
                   and not exists (
                   select from noteweft.lease where collection = $1
                     and role like 'graph:%' and until > now())
                 from noteweft.collection where id = $1";
            let generation = generation.cast_signed();
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                [&self.id, &generation, &LIVE_SECONDS];
            if !transaction.query_one(select, &columns).await?.get::<_, bool>(0) {
                return Ok(None);
            }
            let delete = "delete from noteweft.vector
                 using unnest($2::bytea[], $3::bytea[]) as old (model, text)
                 where collection = $1 and vector.model = old.model and vector.text = old.text";
            let n_removed = transaction.execute(delete, &[&self.id, &models, &texts]).await?;
            let update = "update noteweft.collection
                 set vectors_removed = vectors_removed + $2 where id = $1";
            transaction.execute(update, &[&self.id, &n_removed.cast_signed()]).await?;
            Ok(Some(n_removed))
        })
    }

    /// Runs `work` in a transaction in which no commit and no other removal happens.
    fn removing<T>(
        &self,
        lease: &Lease,
        work: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, TaskError>,
    ) -> Result<T, CommitError> {
        self.database.run("remove old versions", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            self.lock_head(&transaction).await?;
            if !self.is_held(&transaction, lease).await? {
                return Ok(Err(CommitError::Fenced { role: lease.role.clone() }));
            }
            let done = work(&transaction).await?;
            transaction.commit().await?;
            Ok(Ok(done))
        })?
    }
}
