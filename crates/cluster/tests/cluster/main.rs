//! Tests with a real PostgreSQL; they are skipped if it is not installed.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod checkpoints;
mod commits;
mod digests;
mod exports;
mod followers;
mod graphs;
mod leases_and_nodes;
mod old_versions;
mod queue;
mod row_security;
mod transfers;
mod watched_folders;
mod write_sequences;

use std::sync::Arc;

use weft_cluster::{Collection, Database, Dsn};
use weft_index::embedder::ModelIdentity;
use weft_testkit::Postgres;

/// Starts a server with an empty collection, opened with the rights of a node; `None` if PostgreSQL is not installed.
fn collection() -> Option<(Postgres, Collection)> {
    let server = Postgres::start()?;
    let database = connect_as(&server, "postgres");
    database.migrate().unwrap();
    create(&server, &database, "team", "node");
    let collection = Collection::open(&connect(&server), "team").unwrap();
    Some((server, collection))
}

/// Creates a collection with a vault, and a role that is bound to it.
fn create(server: &Postgres, database: &Arc<Database>, name: &str, role: &str) -> Collection {
    let collection = Collection::create(database, name, &["notes"]).unwrap();
    server.query(&format!("create role {role} login"));
    collection.bind_role(role).unwrap();
    collection
}

/// Connects with the rights of a node of the collection `team`.
fn connect(server: &Postgres) -> Arc<Database> {
    connect_as(server, "node")
}

fn connect_as(server: &Postgres, role: &str) -> Arc<Database> {
    Database::connect(&Dsn::parse(&server.dsn_as(role)).unwrap()).unwrap()
}

fn model(name: &str) -> ModelIdentity {
    ModelIdentity {
        model: name.into(),
        dimension: 2,
        runner: "test".into(),
        pooling: "mean".into(),
    }
}
