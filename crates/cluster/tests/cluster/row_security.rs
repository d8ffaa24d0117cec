//! Row security: roles of PostgreSQL that share a database, each bound to its collections.

use weft_cluster::{
    ClusterError, Collection, Commit, Database, EmbeddingJob, FileChange, NodeReport, SharedSetting,
};
use weft_model::TextHash;
use weft_testkit::Postgres;

use crate::{connect_as, create, model};

/// Text that both collections embed.
const SHARED: TextHash = TextHash(7);

/// Starts a server with the collections `fern` and `moss`, for a role each, `fern_node` and `moss_node`, and a row in each table.
fn two_tenants() -> Option<Postgres> {
    let server = Postgres::start()?;
    let owner = connect_as(&server, "postgres");
    owner.migrate().unwrap();
    for (name, part) in [("fern", 0.6), ("moss", 0.8)] {
        let role = format!("{name}_node");
        create(&server, &owner, name, &role);
        let notes = Collection::open(&connect_as(&server, &role), name).unwrap();
        let (key, value) = ("of".to_owned(), name.to_owned());
        notes.require_settings(&[SharedSetting { key, value, default: None }]).unwrap();
        let note = FileChange::put("notes", "secret.md", format!("# A secret of {name}\n").into());
        let commit = Commit { batch: Some([1; 16]), ..Commit::of(vec![note]) };
        notes.commit(&commit).unwrap();
        notes.store_vectors(&model("a"), &[(SHARED, vec![part, 0.5])]).unwrap();
        let job = EmbeddingJob { hash: TextHash(8), text: format!("a secret of {name}") };
        notes.add_jobs(&model("a"), &[job]).unwrap();
        notes.take_lease("push:notes", name, 600).unwrap().unwrap();
        let graph = format!(
            "insert into noteweft.graph
             select id, 'a', 1, 1, 0, 0, 0, null, 1 from noteweft.collection where name = '{name}';
             insert into noteweft.graph_chunk
             select id, 'a', 1, 0, 'a' from noteweft.collection where name = '{name}';
             insert into noteweft.folder
             select id, 'notes', 'a', 1 from noteweft.collection where name = '{name}'"
        );
        server.query_as(&role, &graph).unwrap();
        let (address, version) = ("127.0.0.1:7700".to_owned(), "0.1.0".to_owned());
        let report = NodeReport { id: role, address, version, generation: 1, digest: 1 };
        notes.report_node(&report).unwrap();
    }
    Some(server)
}

/// Returns the name of each table, from the catalog so that none is forgotten, with its column that names a collection.
fn tables(server: &Postgres) -> Vec<(String, &'static str)> {
    let select = "select relname from pg_class
         where relnamespace = 'noteweft'::regnamespace and relkind in ('r', 'p')
           and relname <> 'migration' order by relname";
    let names = server.query_as("postgres", select).unwrap();
    let column = |name: &str| if name == "collection" { "id" } else { "collection" };
    names.lines().map(|name| (name.to_owned(), column(name))).collect()
}

/// Returns all rows of a collection as one text.
fn rows(server: &Postgres, collection: &str) -> String {
    let id = id(server, collection);
    let rows = tables(server).into_iter().map(|(table, column)| {
        let select = format!(
            "select row::text from noteweft.{table} as row where {column} = {id} order by 1"
        );
        let rows = server.query_as("postgres", &select).unwrap();
        assert!(!rows.is_empty(), "the test writes no row of {table}");
        format!("{table}\n{rows}\n")
    });
    rows.collect()
}

fn id(server: &Postgres, collection: &str) -> String {
    let select = format!("select id from noteweft.collection where name = '{collection}'");
    server.query_as("postgres", &select).unwrap()
}

#[test]
fn role_reaches_no_row_of_another_collection() {
    let Some(server) = two_tenants() else { return };
    let (own, other) = (id(&server, "fern"), id(&server, "moss"));
    let (own_rows, other_rows) = (rows(&server, "fern"), rows(&server, "moss"));
    let ask = |statement: &str| server.query_as("fern_node", statement);
    let is_refusal = |outcome: &Result<String, String>| {
        outcome.as_ref().is_err_and(|error| {
            error.contains("permission denied") || error.contains("row-level security")
        })
    };
    let tables = tables(&server);
    assert!(tables.len() > 8, "{tables:?}");
    for (table, column) in &tables {
        let count = |role, condition: &str| {
            let select = format!("select count(*) from noteweft.{table} where {condition}");
            server.query_as(role, &select).unwrap()
        };
        let n_own = count("postgres", &format!("{column} = {own}"));
        assert_ne!(n_own, count("postgres", "true"), "{table} has rows of both");
        assert_eq!(count("fern_node", "true"), n_own, "{table} is read");
        // A copy of an own row that belongs to the other collection.
        let insert = format!(
            "insert into noteweft.{table} overriding system value
             select (jsonb_populate_record(null::noteweft.{table},
               to_jsonb(row) || '{{\"{column}\": {other}}}')).* from noteweft.{table} as row"
        );
        let update = format!("update noteweft.{table} set {column} = {other}");
        // The number of a collection is generated, so it cannot be set.
        let update = (*column != "id").then_some(update);
        let truncate = format!("truncate noteweft.{table} cascade");
        for statement in [insert, truncate].into_iter().chain(update) {
            let outcome = ask(&statement);
            assert!(is_refusal(&outcome), "{statement}: {outcome:?}");
        }
        let outcome = ask(&format!("delete from noteweft.{table} where {column} = {other}"));
        assert!(outcome.is_ok() || is_refusal(&outcome), "{table}: {outcome:?}");
    }
    assert_eq!(rows(&server, "fern"), own_rows);
    for statement in [
        "update noteweft.collection set head = 99, settings = 'changed'",
        "update noteweft.job set holder = 'changed'",
        "update noteweft.folder set seen = 99",
        "update noteweft.lease set epoch = 99, holder = 'changed'",
        "update noteweft.node set address = 'changed'",
        "delete from noteweft.job",
        "delete from noteweft.node",
    ] {
        assert_eq!(ask(statement), Ok(String::new()), "{statement}");
    }
    let head = format!("select head from noteweft.collection where id = {own}");
    assert_eq!(server.query_as("postgres", &head).unwrap(), "99", "the changes reached own rows");
    for statement in [
        "set row_security = off; select count(*) from noteweft.vector",
        "set role moss_node",
        "alter table noteweft.vector disable row level security",
        "update noteweft.version set hash = null",
        "delete from noteweft.collection",
        "update noteweft.collection set name = 'mine'",
        "create table noteweft.mine (x int)",
    ] {
        let outcome = ask(statement);
        let is_refused = outcome.as_ref().is_err_and(|error| error.contains("must be owner"));
        assert!(is_refused || is_refusal(&outcome), "{statement}: {outcome:?}");
    }
    assert_eq!(rows(&server, "moss"), other_rows, "the other collection is unchanged");
}

#[test]
fn node_finds_no_collection_and_no_vector_of_another_role() {
    let Some(server) = two_tenants() else { return };
    let database = connect_as(&server, "fern_node");
    assert_eq!(Collection::names(&database).unwrap(), ["fern"]);
    let error = Collection::open(&database, "moss").unwrap_err();
    let ClusterError::UnknownCollection { known, .. } = error else { panic!("{error}") };
    assert_eq!(known, ["fern"]);
    let fern = Collection::open(&database, "fern").unwrap();
    let vectors = fern.vectors(&model("a"), &[SHARED, TextHash(8)], u64::MAX >> 1).unwrap();
    assert_eq!(vectors, [(SHARED, vec![0.6, 0.5])], "not those of equal texts elsewhere");
    assert_eq!(fern.verify().unwrap(), [""; 0]);
    // Collections come and go by the owner only.
    let created = Collection::create(&database, "moss", &["notes"]);
    assert!(matches!(created, Err(ClusterError::Refused { .. })), "{created:?}");
    assert!(matches!(fern.bind_role("moss_node"), Err(ClusterError::Refused { .. })));
    assert!(matches!(fern.erase(), Err(ClusterError::Refused { .. })));
    let owner = connect_as(&server, "postgres");
    assert_eq!(Collection::names(&owner).unwrap(), ["fern", "moss"]);
}

#[test]
fn roles_are_bound_and_released_while_others_work() {
    let Some(server) = two_tenants() else { return };
    let owner = connect_as(&server, "postgres");
    let names = |role: &str| Collection::names(&connect_as(&server, role)).unwrap();
    let sql = |statements: &str| server.query_as("postgres", statements).unwrap();
    let moss = Collection::open(&owner, "moss").unwrap();
    sql("create role \"odd \"\"name\" login; create role strong login bypassrls");
    moss.bind_role("odd \"name").unwrap();
    sql("alter role \"odd \"\"name\" rename to desk");
    let closed = Collection::names(&connect_as(&server, "desk"));
    assert_eq!(closed.unwrap(), [""; 0], "the binding is by name");
    sql("grant fern_node to desk");
    assert_eq!(names("desk"), ["fern"], "as a member of the other role");
    moss.bind_role("desk").unwrap();
    moss.bind_role("desk").unwrap();
    assert_eq!(names("desk"), ["fern", "moss"]);
    for (role, part) in
        [("nowhere", "create role"), ("postgres", "superuser"), ("strong", "BYPASSRLS")]
    {
        let error = moss.bind_role(role).unwrap_err().to_string();
        assert!(error.contains(role) && error.contains(part), "{error}");
    }
    sql("delete from noteweft.access where role = 'fern_node'");
    assert_eq!((names("fern_node"), names("desk")), (vec![], vec!["moss".to_owned()]));
    sql("drop owned by moss_node; drop role moss_node");
    assert_eq!(names("desk"), ["moss"]);
    // Rights that a release adds are given by the command that updates the tables.
    sql("revoke all on all tables in schema noteweft from desk, fern_node");
    let refused = Collection::names(&connect_as(&server, "desk"));
    assert!(matches!(refused, Err(ClusterError::Refused { .. })), "{refused:?}");
    owner.migrate().unwrap();
    assert_eq!(names("desk"), ["moss"]);
}

#[test]
fn database_of_the_first_schema_is_updated_with_its_notes() {
    let Some(server) = Postgres::start() else { return };
    let first = concat!(
        "create schema noteweft; create table noteweft.migration (version int primary key);",
        "insert into noteweft.migration values (1);",
        include_str!("../../migrations/1.sql"),
        "insert into noteweft.collection (name, head) values ('team', 1);",
        "insert into noteweft.vault values (1, 'notes', 1);",
        "insert into noteweft.commit values (1, 1);",
    );
    let grant = "create role keeper login; grant create on database postgres to keeper";
    server.query_as("postgres", grant).unwrap();
    server.query_as("keeper", first).unwrap();
    // A restored database lacks the rights on databases, and the owner of the tables needs none.
    server.query_as("postgres", "revoke create on database postgres from keeper").unwrap();
    let owner = connect_as(&server, "keeper");
    let outdated = Collection::open(&owner, "team");
    assert!(matches!(outdated, Err(ClusterError::OldSchema { found: 1, .. })), "{outdated:?}");
    let put = |database: &std::sync::Arc<Database>, text: &str| {
        let notes = Collection::open(database, "team").unwrap();
        let fern = FileChange::put("notes", "fern.md", text.into());
        notes.commit(&Commit::of(vec![fern])).unwrap()
    };
    owner.migrate().unwrap();
    assert_eq!(put(&owner, "by the owner"), 2);
    create(&server, &owner, "team", "node");
    assert_eq!(put(&connect_as(&server, "node"), "by a role"), 3);
}
