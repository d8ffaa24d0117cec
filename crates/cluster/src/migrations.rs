//! Migrations: the tables of each release, applied in order.

use deadpool_postgres::{GenericClient, Object};

use crate::error::TaskError;
use crate::roles::{grant_rights, lock_tables};

/// The migrations with the version that each leads to.
const MIGRATIONS: [(i32, &str); 5] = [
    (1, include_str!("../migrations/1.sql")),
    (2, include_str!("../migrations/2.sql")),
    (3, include_str!("../migrations/3.sql")),
    (4, include_str!("../migrations/4.sql")),
    (5, include_str!("../migrations/5.sql")),
];

/// Version of the schema of this release.
pub(crate) const SCHEMA_VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Applies the missing migrations, gives bound roles their rights on new tables, and returns the version.
pub(crate) async fn migrate(client: &mut Object) -> Result<i32, TaskError> {
    let transaction = client.transaction().await?;
    lock_tables(&transaction).await?;
    let found = schema_version(&transaction).await?;
    if found == 0 {
        // In a restored database, the owner of the tables may have no right to create a schema.
        transaction
            .batch_execute(
                "create schema if not exists noteweft;
                 create table if not exists noteweft.migration (version int primary key)",
            )
            .await?;
    }
    for (version, migration) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        transaction.batch_execute(migration).await?;
        transaction.execute("insert into noteweft.migration values ($1)", &[version]).await?;
    }
    if found <= SCHEMA_VERSION {
        grant_rights(&transaction).await?;
    }
    transaction.commit().await?;
    Ok(found.max(SCHEMA_VERSION))
}

/// Returns the version of the schema; 0 without tables.
pub(crate) async fn schema_version(client: &impl GenericClient) -> Result<i32, TaskError> {
    // Unlike `to_regclass`, a query of the catalog sees what other transactions have created since this one began.
    let select = "select exists (
           select from pg_catalog.pg_tables where schemaname = 'noteweft' and tablename = 'migration')";
    let exists = client.query_one(select, &[]).await?;
    if !exists.get::<_, bool>(0) {
        return Ok(0);
    }
    let row =
        client.query_one("select coalesce(max(version), 0) from noteweft.migration", &[]).await?;
    Ok(row.get(0))
}
