//! Tests with a real PostgreSQL; they are skipped if it is not installed.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod commits;
mod followers;
mod graphs;
mod leases_and_nodes;
mod queue;
mod transfers;
mod write_sequences;

use std::sync::Arc;

use weft_cluster::{Collection, Database, Dsn};
use weft_index::embedder::ModelIdentity;
use weft_testkit::Postgres;

/// Starts a server with an empty collection; `None` if PostgreSQL is not installed.
fn collection() -> Option<(Postgres, Collection)> {
    let server = Postgres::start()?;
    let database = connect(&server);
    database.migrate().unwrap();
    let collection = Collection::create(&database, "team", &["notes"]).unwrap();
    Some((server, collection))
}

fn connect(server: &Postgres) -> Arc<Database> {
    Database::connect(&Dsn::read(&server.dsn_file()).unwrap()).unwrap()
}

fn model(name: &str) -> ModelIdentity {
    ModelIdentity {
        model: name.into(),
        dimension: 2,
        runner: "test".into(),
        pooling: "mean".into(),
    }
}
