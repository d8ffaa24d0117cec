//! Migrations: the tables of each release, applied in order.

use deadpool_postgres::Object;

use crate::error::TaskError;

/// The migrations with the version that each leads to.
const MIGRATIONS: [(i32, &str); 2] =
    [(1, include_str!("../migrations/1.sql")), (3, include_str!("../migrations/3.sql"))];

/// Version of the schema of this release.
pub(crate) const SCHEMA_VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Key of the lock that lets one process migrate at a time.
const LOCK: i64 = 0x6e6f_7465_7765_6674;

/// Applies the missing migrations and returns the version.
pub(crate) async fn migrate(client: &mut Object) -> Result<i32, TaskError> {
    let transaction = client.transaction().await?;
    transaction.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction
        .batch_execute(
            "create schema if not exists noteweft;
             create table if not exists noteweft.migration (version int primary key)",
        )
        .await?;
    let row = transaction
        .query_one("select coalesce(max(version), 0) from noteweft.migration", &[])
        .await?;
    let found: i32 = row.get(0);
    for (version, migration) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        transaction.batch_execute(migration).await?;
        transaction.execute("insert into noteweft.migration values ($1)", &[version]).await?;
    }
    transaction.commit().await?;
    Ok(found.max(SCHEMA_VERSION))
}

/// Returns the version of the schema; 0 without tables.
pub(crate) async fn schema_version(client: &Object) -> Result<i32, TaskError> {
    let exists =
        client.query_one("select to_regclass('noteweft.migration') is not null", &[]).await?;
    if !exists.get::<_, bool>(0) {
        return Ok(0);
    }
    let row =
        client.query_one("select coalesce(max(version), 0) from noteweft.migration", &[]).await?;
    Ok(row.get(0))
}
