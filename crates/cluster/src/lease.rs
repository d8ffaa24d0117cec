//! Leases: what only one process may do at a time.

use deadpool_postgres::Transaction;

use crate::error::TaskError;
use crate::{ClusterError, Collection};

/// A lease that this process held when it was taken or renewed.
///
/// A commit that names it fails once another process has taken the lease, even if this process does not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Task of the holder, such as `watch:notes`.
    pub role: String,
    /// Number of the holder; each new one gets the next number.
    pub epoch: i64,
}

impl Collection {
    /// Takes a lease for `seconds` if it is free; otherwise returns the name of its holder.
    pub fn take_lease(
        &self,
        role: &str,
        holder: &str,
        seconds: u32,
    ) -> Result<Result<Lease, String>, ClusterError> {
        self.database.run("take a lease", async {
            let client = self.database.client().await?;
            let seconds = f64::from(seconds);
            let insert =
                "insert into noteweft.lease as lease (collection, role, epoch, holder, until)
                 values ($1, $2, 1, $3, now() + make_interval(secs => $4))
                 on conflict (collection, role) do update
                   set epoch = lease.epoch + 1, holder = excluded.holder, until = excluded.until
                   where lease.until <= now()
                 returning epoch";
            let taken = client.query_opt(insert, &[&self.id, &role, &holder, &seconds]).await?;
            if let Some(row) = taken {
                return Ok(Ok(Lease { role: role.to_owned(), epoch: row.get(0) }));
            }
            let select = "select holder from noteweft.lease where collection = $1 and role = $2";
            let row = client.query_opt(select, &[&self.id, &role]).await?;
            Ok(Err(row.map(|row| row.get(0)).unwrap_or_default()))
        })
    }

    /// Extends a lease to `seconds` from now; returns false if another process took it.
    pub fn renew_lease(&self, lease: &Lease, seconds: u32) -> Result<bool, ClusterError> {
        self.set_until(lease, seconds)
    }

    /// Ends a lease, so that another process can take it at once.
    pub fn release_lease(&self, lease: &Lease) -> Result<(), ClusterError> {
        self.set_until(lease, 0).map(drop)
    }

    fn set_until(&self, lease: &Lease, seconds: u32) -> Result<bool, ClusterError> {
        self.database.run("renew a lease", async {
            let client = self.database.client().await?;
            let update = "update noteweft.lease set until = now() + make_interval(secs => $4)
                 where collection = $1 and role = $2 and epoch = $3";
            let columns: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&self.id, &lease.role, &lease.epoch, &f64::from(seconds)];
            Ok(client.execute(update, &columns).await? > 0)
        })
    }

    /// Returns true if no other process took the lease since; keeps it from being taken until the transaction ends.
    pub(crate) async fn is_held(
        &self,
        transaction: &Transaction<'_>,
        lease: &Lease,
    ) -> Result<bool, TaskError> {
        let select = "select 1 from noteweft.lease
             where collection = $1 and role = $2 and epoch = $3 for share";
        let row = transaction.query_opt(select, &[&self.id, &lease.role, &lease.epoch]).await?;
        Ok(row.is_some())
    }
}
