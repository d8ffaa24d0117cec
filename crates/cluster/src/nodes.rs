//! The nodes of a collection: who serves it, how far each is, and whether their notes agree.

use crate::{ClusterError, Collection};

/// State that a node reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Id of the node, the same after a restart.
    pub id: String,
    /// Address that it serves.
    pub address: String,
    /// Release that it runs.
    pub version: String,
    /// Number of the log that it serves.
    pub generation: u64,
    /// Digest of its notes at that number.
    pub digest: u128,
}

/// State of a node as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The last report.
    pub report: NodeReport,
    /// Age of the report, in seconds.
    pub seconds_since: u64,
    /// Number of commits that the node had not applied when it reported, counted to the present head.
    pub lag: u64,
    /// Age of the oldest of these commits, in seconds; 0 without them.
    pub lag_seconds: u64,
    /// Reason why the node does not serve; `None` while it does.
    pub problem: Option<String>,
}

impl Collection {
    /// Reports the state of a node; returns the ids of serving nodes with other notes under the same number, ascending.
    pub fn report_node(&self, report: &NodeReport) -> Result<Vec<String>, ClusterError> {
        let NodeReport { id, address, version, generation, digest } = report;
        let (generation, digest) = (generation.cast_signed(), digest.to_be_bytes().to_vec());
        self.database.run("report this node", async {
            let client = self.database.client().await?;
            let insert = "insert into noteweft.node
                   (collection, id, address, version, generation, digest)
                 values ($1, $2, $3, $4, $5, $6)
                 on conflict (collection, id) do update
                   set address = excluded.address, version = excluded.version,
                     generation = excluded.generation, digest = excluded.digest, heartbeat = now()";
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
                [&self.id, id, address, version, &generation, &digest];
            client.execute(insert, &columns).await?;
            let select = "select id from noteweft.node
                 where collection = $1 and generation = $2 and digest <> $3
                   and problem is null order by id";
            let rows = client.query(select, &[&self.id, &generation, &digest]).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    /// Records why a node that reported does not serve; `None` if it serves again.
    pub fn set_node_problem(&self, id: &str, problem: Option<&str>) -> Result<(), ClusterError> {
        self.database.run("report this node", async {
            let client = self.database.client().await?;
            let update = "update noteweft.node set problem = $3
                 where collection = $1 and id = $2";
            client.execute(update, &[&self.id, &id, &problem]).await?;
            Ok(())
        })
    }

    /// Returns the nodes that reported and were not dropped, ordered by id.
    pub fn nodes(&self) -> Result<Vec<NodeStatus>, ClusterError> {
        self.database.run("list the nodes", async {
            let client = self.database.client().await?;
            let select = "select node.id, address, version, generation, digest,
                   extract(epoch from now() - heartbeat)::bigint, head - generation,
                   coalesce((
                     select extract(epoch from now() - committed)::bigint from noteweft.commit
                     where commit.collection = node.collection
                       and commit.generation > node.generation
                     order by commit.generation limit 1), 0),
                   problem
                 from noteweft.node join noteweft.collection on collection.id = node.collection
                 where node.collection = $1 order by node.id";
            let rows = client.query(select, &[&self.id]).await?;
            let status = |row: &tokio_postgres::Row| {
                let digest: Vec<u8> = row.get(4);
                let digest = digest.try_into().map(u128::from_be_bytes).unwrap_or_default();
                let count = |at: usize| row.get::<_, i64>(at).max(0).cast_unsigned();
                let (id, address, version) = (row.get(0), row.get(1), row.get(2));
                let generation = count(3);
                let report = NodeReport { id, address, version, generation, digest };
                let (lag, lag_seconds, problem) = (count(6), count(7), row.get(8));
                NodeStatus { report, seconds_since: count(5), lag, lag_seconds, problem }
            };
            Ok(rows.iter().map(status).collect())
        })
    }

    /// Removes a node, and releases the leases and jobs that it holds. A node that runs reports itself again.
    pub fn drop_node(&self, id: &str) -> Result<(), ClusterError> {
        self.database.run("drop a node", async {
            let mut client = self.database.client().await?;
            let transaction = client.transaction().await?;
            let delete = "delete from noteweft.node where collection = $1 and id = $2";
            if transaction.execute(delete, &[&self.id, &id]).await? == 0 {
                return Err(ClusterError::UnknownNode { id: id.to_owned() }.into());
            }
            let update = "update noteweft.lease set until = now()
                 where collection = $1 and holder = $2";
            transaction.execute(update, &[&self.id, &id]).await?;
            let update = "update noteweft.job set holder = null, until = '-infinity'
                 where collection = $1 and holder = $2";
            transaction.execute(update, &[&self.id, &id]).await?;
            transaction.commit().await?;
            Ok(())
        })
    }
}
