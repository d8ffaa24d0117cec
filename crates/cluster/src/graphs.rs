//! Vector graphs of collections: built by one node, and used by all from the same commit on.

use std::cmp::Ordering;
use std::io;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use weft_index::SharedGraph;
use weft_index::embedder::ModelIdentity;
use weft_indexer::LoggedGraph;
use weft_model::TextHash;

use crate::collection::raise_head;
use crate::shared_vectors::model_key;
use crate::verify::hex;
use crate::{ClusterError, Collection, CommitError, Lease};

/// Time after which another node may build, in seconds, if the builder disappears.
const LEASE_SECONDS: u32 = 60;

/// Interval between two renewals of the lease.
const RENEWAL: Duration = Duration::from_secs(20);

/// Size of a chunk in bytes.
const CHUNK: usize = 4 << 20;

/// The vector graph of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphStatus {
    /// Number of the commit from which on nodes use it.
    pub generation: u64,
    /// Number of the state whose vectors it was built from.
    pub built_from: u64,
    /// Number of texts in it.
    pub n_rows: u64,
    /// Size in bytes.
    pub n_bytes: u64,
}

/// A stored graph.
struct StoredGraph {
    status: GraphStatus,
    format: i32,
    hash: Vec<u8>,
    epoch: i64,
}

impl StoredGraph {
    /// Reads a row of `generation, built_from, n_rows, n_bytes, format, hash, epoch`; `None` if it says that no graph is used.
    fn of(row: &tokio_postgres::Row) -> Option<Self> {
        let count = |at: usize| row.get::<_, i64>(at).cast_unsigned();
        let status = GraphStatus {
            generation: count(0),
            built_from: count(1),
            n_rows: count(2),
            n_bytes: count(3),
        };
        let hash: Option<Vec<u8>> = row.get(5);
        Some(Self { status, format: row.get(4), hash: hash?, epoch: row.get(6) })
    }
}

fn checksum(bytes: &[u8]) -> Vec<u8> {
    blake3::hash(bytes).as_bytes()[..16].to_vec()
}

impl Collection {
    /// Returns the role of the lease that building a graph of the model needs.
    #[must_use]
    pub fn graph_role(model: &ModelIdentity) -> String {
        format!("graph:{}", hex(&model_key(model)))
    }

    /// Returns the commit whose graph is used at the number `at`; `None` if none is.
    pub fn graph(&self, model: &ModelIdentity, at: u64) -> Result<Option<u64>, ClusterError> {
        let graph = self.stored_graph(model_key(model), at)?;
        Ok(graph.map(|graph| graph.status.generation))
    }

    /// Returns the newest graph of any model; `None` if no graph is used.
    pub fn newest_graph(&self) -> Result<Option<GraphStatus>, ClusterError> {
        self.database.run("read the vector graph", async {
            let client = self.database.client().await?;
            let select = "select generation, built_from, n_rows, n_bytes, format, hash, epoch
                 from noteweft.graph where collection = $1 order by generation desc limit 1";
            let row = client.query_opt(select, &[&self.id]).await?;
            Ok(row.and_then(|row| StoredGraph::of(&row)).map(|graph| graph.status))
        })
    }

    fn stored_graph(&self, model: Vec<u8>, at: u64) -> Result<Option<StoredGraph>, ClusterError> {
        self.database.run("read the vector graph", async {
            let client = self.database.client().await?;
            let select = "select generation, built_from, n_rows, n_bytes, format, hash, epoch
                 from noteweft.graph where collection = $1 and model = $2 and generation <= $3
                 order by generation desc limit 1";
            let select = client.prepare_cached(select).await?;
            let row = client.query_opt(&select, &[&self.id, &model, &at.cast_signed()]).await?;
            Ok(row.and_then(|row| StoredGraph::of(&row)))
        })
    }

    /// Reads the graph of a commit.
    pub fn read_graph(
        &self,
        model: &ModelIdentity,
        commit: u64,
    ) -> Result<LoggedGraph, ClusterError> {
        let model = model_key(model);
        let graph = self.stored_graph(model.clone(), commit)?;
        let Some(graph) = graph.filter(|graph| graph.status.generation == commit) else {
            return Ok(LoggedGraph::Unusable);
        };
        match graph.format.cmp(&SharedGraph::FORMAT) {
            Ordering::Less => Ok(LoggedGraph::Unusable),
            Ordering::Greater => Ok(LoggedGraph::Foreign),
            Ordering::Equal => {
                let bytes = self.graph_bytes(&model, &graph)?;
                Ok(bytes.map_or(LoggedGraph::Unusable, LoggedGraph::Bytes))
            }
        }
    }

    /// Returns the texts of the graph that is used at the number `at`, whose vectors a node that adopts it needs; no texts without an intact graph.
    ///
    /// Returns `None` if a later release built the graph.
    pub(crate) fn graph_texts(
        &self,
        model: &ModelIdentity,
        at: u64,
    ) -> Result<Option<Vec<TextHash>>, ClusterError> {
        let model = model_key(model);
        let Some(graph) = self.stored_graph(model.clone(), at)? else {
            return Ok(Some(Vec::new()));
        };
        match graph.format.cmp(&SharedGraph::FORMAT) {
            Ordering::Less => Ok(Some(Vec::new())),
            Ordering::Greater => Ok(None),
            Ordering::Equal => {
                let n_bytes = SharedGraph::n_bytes_of_texts(graph.status.n_rows);
                let bytes = self.first_bytes(&model, &graph, n_bytes)?;
                Ok(Some(SharedGraph::texts_of_bytes(&bytes).unwrap_or_default()))
            }
        }
    }

    /// Returns the bytes of a graph; `None` if they do not have its checksum.
    fn graph_bytes(
        &self,
        model: &[u8],
        graph: &StoredGraph,
    ) -> Result<Option<Vec<u8>>, ClusterError> {
        // A size beyond that of the graph would only fill the memory.
        let bytes = self.first_bytes(model, graph, graph.status.n_bytes.saturating_add(1))?;
        Ok((checksum(&bytes) == graph.hash).then_some(bytes))
    }

    /// Returns at least the first `n_bytes` bytes of a graph, or all if it has fewer.
    fn first_bytes(
        &self,
        model: &[u8],
        graph: &StoredGraph,
        n_bytes: u64,
    ) -> Result<Vec<u8>, ClusterError> {
        let mut bytes = Vec::new();
        for n in 0_i32.. {
            if bytes.len() as u64 >= n_bytes {
                break;
            }
            let chunk = self.database.run("read the vector graph", async {
                let client = self.database.client().await?;
                let select = "select bytes from noteweft.graph_chunk
                     where collection = $1 and model = $2 and epoch = $3 and n = $4";
                let select = client.prepare_cached(select).await?;
                let row = client.query_opt(&select, &[&self.id, &model, &graph.epoch, &n]).await?;
                Ok(row.map(|row| row.get::<_, Vec<u8>>(0)))
            })?;
            match chunk {
                Some(chunk) => bytes.extend(chunk),
                None => break,
            }
        }
        Ok(bytes)
    }

    /// Commits that no graph of the model is used from now on; returns false if that of `commit` is not the one in use.
    pub fn withdraw_graph(&self, model: &ModelIdentity, commit: u64) -> Result<bool, ClusterError> {
        let model = model_key(model);
        self.database.run("withdraw the vector graph", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            let head = self.lock_head(&transaction).await?;
            let insert = "insert into noteweft.graph
                 select collection, model, $3::bigint, built_from, format, 0, 0, null::bytea, epoch
                 from noteweft.graph as used
                 where collection = $1 and model = $2 and generation = $4 and hash is not null
                   and not exists (select from noteweft.graph
                     where collection = $1 and model = $2 and generation > used.generation)";
            let (next, commit) = (head + 1, commit.cast_signed());
            let n = transaction.execute(insert, &[&self.id, &model, &next, &commit]).await?;
            if n > 0 {
                let delete = "delete from noteweft.graph_chunk where collection = $1 and model = $2
                     and epoch <= (select max(epoch) from noteweft.graph
                       where collection = $1 and model = $2)";
                transaction.execute(delete, &[&self.id, &model]).await?;
                raise_head(&transaction, self.id, next, None, None).await?;
            }
            transaction.commit().await?;
            Ok(n > 0)
        })
    }

    /// Builds a graph with `build` and commits it, while this process holds the lease for it; see [`ChangeLog::share_graph`](weft_indexer::ChangeLog::share_graph).
    pub(crate) fn share_graph(
        &self,
        model: &ModelIdentity,
        built_from: u64,
        present: Option<u64>,
        holder: &str,
        build: &mut dyn FnMut() -> io::Result<SharedGraph>,
    ) -> io::Result<bool> {
        let newest = || self.graph(model, i64::MAX.cast_unsigned()).map_err(io::Error::other);
        if newest()? != present {
            return Ok(false);
        }
        let role = Self::graph_role(model);
        let taken = self.take_lease(&role, holder, LEASE_SECONDS).map_err(io::Error::other)?;
        let Ok(lease) = taken else { return Ok(false) };
        // The last holder may have committed since.
        let built = match newest() {
            Ok(newest) if newest == present => self.while_renewed(&lease, build).map(Some),
            outcome => outcome.map(|_| None),
        };
        let outcome = built.and_then(|graph| {
            let Some(graph) = graph else { return Ok(false) };
            let committed = self.commit_graph(model, built_from, &graph, &lease);
            committed.map(|_| true).map_err(io::Error::other)
        });
        // A lease that was not released runs out.
        let _ = self.release_lease(&lease);
        outcome
    }

    /// Runs `work` while another thread renews the lease.
    fn while_renewed<T>(
        &self,
        lease: &Lease,
        work: &mut dyn FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        std::thread::scope(|scope| {
            let (stop, stopped) = bounded::<()>(0);
            std::thread::Builder::new().name("weft-graph-lease".into()).spawn_scoped(
                scope,
                move || {
                    while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                        // The commit decides if the lease is still held.
                        let _ = self.renew_lease(lease, LEASE_SECONDS);
                    }
                },
            )?;
            let outcome = work();
            drop(stop);
            outcome
        })
    }

    /// Stores a graph and commits it, under a lease that must still be held; returns the number of the commit.
    ///
    /// Removes all other graphs of the model: a node that has not adopted them yet applies this commit first.
    pub fn commit_graph(
        &self,
        model: &ModelIdentity,
        built_from: u64,
        graph: &SharedGraph,
        lease: &Lease,
    ) -> Result<u64, CommitError> {
        let (model, bytes) = (model_key(model), graph.to_bytes());
        for (n, chunk) in (0_i32..).zip(bytes.chunks(CHUNK)) {
            self.database.run("store a vector graph", async {
                let client = self.database.client().await?;
                let insert = "insert into noteweft.graph_chunk (collection, model, epoch, n, bytes)
                     values ($1, $2, $3, $4, $5)
                     on conflict (collection, model, epoch, n) do update set bytes = excluded.bytes";
                let insert = client.prepare_cached(insert).await?;
                client.execute(&insert, &[&self.id, &model, &lease.epoch, &n, &chunk]).await?;
                Ok(())
            })?;
            // Sending many chunks may take longer than the lease lasts.
            self.renew_lease(lease, LEASE_SECONDS)?;
        }
        self.database.run("commit a vector graph", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            let head = self.lock_head(&transaction).await?;
            if !self.is_held(&transaction, lease).await? {
                return Ok(Err(CommitError::Fenced { role: lease.role.clone() }));
            }
            let insert = "insert into noteweft.graph
                   (collection, model, generation, built_from, format, n_rows, n_bytes, hash, epoch)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
            let (n_rows, n_bytes) = (graph.texts().len() as u64, bytes.len() as u64);
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 9] = [
                &self.id,
                &model,
                &(head + 1),
                &built_from.cast_signed(),
                &SharedGraph::FORMAT,
                &n_rows.cast_signed(),
                &n_bytes.cast_signed(),
                &checksum(&bytes),
                &lease.epoch,
            ];
            transaction.execute(insert, &columns).await?;
            let delete = "delete from noteweft.graph_chunk
                 where collection = $1 and model = $2 and epoch < $3";
            transaction.execute(delete, &[&self.id, &model, &lease.epoch]).await?;
            raise_head(&transaction, self.id, head + 1, None, None).await?;
            transaction.commit().await?;
            Ok(Ok((head + 1).cast_unsigned()))
        })?
    }

    /// Returns one line for each graph in use whose bytes are damaged.
    pub(crate) fn problems_of_graphs(&self) -> Result<Vec<String>, ClusterError> {
        let graphs = self.database.run("verify the vector graph", async {
            let client = self.database.client().await?;
            let select = "select distinct on (model)
                   generation, built_from, n_rows, n_bytes, format, hash, epoch, model
                 from noteweft.graph where collection = $1 order by model, generation desc";
            let rows = client.query(select, &[&self.id]).await?;
            let graph = |row: &tokio_postgres::Row| Some((StoredGraph::of(row)?, row.get(7)));
            Ok(rows.iter().filter_map(graph).collect::<Vec<(StoredGraph, Vec<u8>)>>())
        })?;
        let mut problems = Vec::new();
        for (graph, model) in graphs {
            if self.graph_bytes(&model, &graph)?.is_none() {
                let commit = graph.status.generation;
                problems.push(format!(
                    "the vector graph of commit {commit} is damaged; a node that reads it has it built again"
                ));
            }
        }
        Ok(problems)
    }
}
