//! Roles of PostgreSQL: a role is bound to collections, sees no others, and may do what a node does.

use deadpool_postgres::Transaction;

use crate::ClusterError;
use crate::error::TaskError;

/// Rights that nodes need, by table. Row security limits them to the rows of their collections.
const RIGHTS: [(&str, &str); 14] = [
    ("access", "select"),
    ("blob", "select, insert, delete"),
    (
        "collection",
        "select, update (settings, head, floor, swept, versions_removed, vectors_removed)",
    ),
    ("commit", "select, insert, delete"),
    ("folder", "select, insert, update"),
    ("graph", "select, insert"),
    ("graph_chunk", "select, insert, update, delete"),
    ("job", "select, insert, update, delete"),
    ("lease", "select, insert, update"),
    ("migration", "select"),
    ("node", "select, insert, update, delete"),
    ("vault", "select, insert"),
    ("vector", "select, insert, delete"),
    ("version", "select, insert, delete"),
];

/// Key of the lock on the tables and the rights on them.
const LOCK: i64 = 0x6e6f_7465_7765_6674;

/// Lets one transaction at a time change tables and rights.
pub(crate) async fn lock_tables(transaction: &Transaction<'_>) -> Result<(), TaskError> {
    transaction.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    Ok(())
}

/// Binds a role to a collection.
pub(crate) async fn bind(
    transaction: &Transaction<'_>,
    role: &str,
    collection: i32,
) -> Result<(), TaskError> {
    lock_tables(transaction).await?;
    let select = "select rolsuper or rolbypassrls or pg_has_role(oid, relowner, 'usage')
         from pg_roles, (
           select relowner from pg_class where oid = 'noteweft.collection'::regclass) as it
         where rolname = $1";
    let found = transaction.query_opt(select, &[&role]).await?;
    let reason = match found.map(|row| row.get(0)) {
        Some(false) => None,
        Some(true) => Some(
            "row security does not apply to superusers, roles with BYPASSRLS and the owner of the tables",
        ),
        None => Some("it does not exist; create it first, with `create role` in SQL"),
    };
    if let Some(reason) = reason {
        return Err(ClusterError::Role { role: role.to_owned(), reason }.into());
    }
    let insert = "insert into noteweft.access (role, collection) values ($1, $2)
         on conflict do nothing";
    transaction.execute(insert, &[&role, &collection]).await?;
    grant_rights(transaction).await
}

/// Gives the rights of a node to each role that is bound to a collection.
pub(crate) async fn grant_rights(transaction: &Transaction<'_>) -> Result<(), TaskError> {
    let (tables, rights): (Vec<&str>, Vec<&str>) = RIGHTS.into_iter().unzip();
    let select = "select format('grant usage on schema noteweft to %I;', rolname)
           || string_agg(format('grant %s on noteweft.%I to %I;', rights, name, rolname), '')
         from pg_roles, unnest($1::text[], $2::text[]) as granted (name, rights)
         where rolname in (select role from noteweft.access)
         group by rolname";
    for row in transaction.query(select, &[&tables, &rights]).await? {
        transaction.batch_execute(row.get(0)).await?;
    }
    Ok(())
}
