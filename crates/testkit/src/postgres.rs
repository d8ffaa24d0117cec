//! A PostgreSQL server for tests.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Folders of the server's programs, newest version first.
const PROGRAMS: [&str; 5] = [
    "/usr/lib/postgresql/18/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/local/bin",
];

/// User and group that run the server if the tests run as root, which PostgreSQL refuses.
const NOBODY: u32 = 65534;

/// Time within which the server must accept connections.
const START: Duration = Duration::from_secs(60);

/// Parameters of a server: it has no port, need not survive the machine, and a standby reconnects at once.
const PARAMETERS: [&str; 4] =
    ["listen_addresses=", "fsync=off", "max_connections=200", "wal_retrieve_retry_interval=100ms"];

/// A server on a Unix socket, in a temporary folder. It is stopped on drop.
pub struct Postgres {
    folder: TempDir,
    programs: &'static Path,
    server: Option<Child>,
}

impl Postgres {
    /// Starts a server; returns `None` if PostgreSQL is not installed, so that the test can be skipped.
    ///
    /// # Panics
    ///
    /// If the server does not start, or if it is not installed and `WEFT_REQUIRE_POSTGRES` is 1.
    #[must_use]
    pub fn start() -> Option<Self> {
        let mut server = Self::stopped()?;
        let arguments = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"];
        server.run(server.command("initdb").args(arguments).arg(server.data()));
        server.resume();
        Some(server)
    }

    /// Creates the folder of a server that has no data yet.
    #[expect(clippy::disallowed_methods, reason = "a check requires the tests that others skip")]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn stopped() -> Option<Self> {
        let programs = PROGRAMS.map(Path::new).into_iter().find(|it| it.join("initdb").exists());
        let Some(programs) = programs else {
            let is_required = std::env::var("WEFT_REQUIRE_POSTGRES").is_ok_and(|it| it == "1");
            assert!(!is_required, "PostgreSQL is not installed; install the package `postgresql`");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let server = Self { folder, programs, server: None };
        if server.is_root() {
            chown(server.folder.path(), Some(NOBODY), Some(NOBODY)).expect("the folder's owner");
        }
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(server.folder.path(), all).expect("the folder's permissions");
        fs::write(server.dsn_file(), server.dsn()).expect("a file");
        Some(server)
    }

    /// Starts a standby that streams from this server.
    ///
    /// # Panics
    ///
    /// If it does not start.
    #[must_use]
    pub fn start_standby(&self) -> Self {
        let mut standby = Self::stopped().expect("the programs of this server");
        standby.follow(self);
        standby
    }

    /// Stops this server, drops its data, and starts it again as a standby that streams from `primary`.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn follow(&mut self, primary: &Self) {
        self.kill();
        if self.data().exists() {
            fs::remove_dir_all(self.data()).expect("removed data");
        }
        let mut copy = self.command("pg_basebackup");
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-d"]);
        self.run(copy.arg(primary.dsn()).arg("-D").arg(self.data()));
        self.resume();
    }

    /// Makes a standby the primary, and returns once it accepts writes.
    ///
    /// # Panics
    ///
    /// If it is not a standby.
    pub fn promote(&self) {
        self.run(self.command("pg_ctl").args(["promote", "-w", "-D"]).arg(self.data()));
    }

    /// Runs a statement and returns its result as text.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    pub fn query(&self, statement: &str) -> String {
        let result = self.query_as("postgres", statement);
        result.unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// Sets a parameter of the running server. The servers that are copied from it have it, too.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    pub fn set(&self, parameter: &str, value: &str) {
        self.query(&format!("alter system set {parameter} = '{value}'"));
        self.query("select pg_reload_conf()");
    }

    fn run(&self, command: &mut Command) {
        let is_done = command.status().is_ok_and(|status| status.success());
        assert!(is_done, "{command:?} failed: {}", self.log());
    }

    /// Returns the server that all tests of this process share; it ends with the process.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start), which also says when the result is `None`.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<(Postgres, Child)>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let server = Self::start()?;
            let guard = server.guard();
            Some((server, guard))
        });
        shared.as_ref().map(|(server, _)| server)
    }

    /// Starts a process that ends the server and removes its folder once this process has ended, however it did.
    fn guard(&self) -> Child {
        // Its standard input ends with this process.
        const SCRIPT: &str = "cat; kill -QUIT \"$1\"; sleep 1; rm -rf \"$2\"";
        let server = self.server.as_ref().map(|server| server.id().to_string());
        let mut guard = Command::new("sh");
        guard.args(["-c", SCRIPT, "guard", &server.unwrap_or_default()]).arg(self.folder.path());
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        guard.spawn().expect("sh")
    }

    /// Starts the server again after [`kill`](Self::kill).
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn resume(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        for parameter in PARAMETERS {
            command.args(["-c", parameter]);
        }
        self.server = Some(command.spawn().expect("postgres"));
        let started = Instant::now();
        loop {
            let mut ready = self.command("pg_isready");
            ready.arg("-h").arg(self.folder.path());
            if ready.status().is_ok_and(|status| status.success()) {
                return;
            }
            assert!(started.elapsed() < START, "PostgreSQL did not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server without a checkpoint, as a crash does.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let mut stop = self.command("pg_ctl");
            let stopped = stop.args(["stop", "-m", "immediate", "-D"]).arg(self.data()).status();
            if !stopped.is_ok_and(|status| status.success()) {
                let _ = server.kill();
            }
            let _ = server.wait();
        }
    }

    /// Returns the folder of its socket, which is its host in a connection string.
    #[must_use]
    pub fn host(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the connection string of the server's default database, as its superuser.
    #[must_use]
    pub fn dsn(&self) -> String {
        self.dsn_as("postgres")
    }

    /// Returns the connection string of the server's default database for a role.
    #[must_use]
    pub fn dsn_as(&self, role: &str) -> String {
        format!("host={} user={role} dbname=postgres", self.folder.path().display())
    }

    /// Runs statements as a role, in one transaction; returns their rows as lines with `|` between columns, or the error.
    ///
    /// # Panics
    ///
    /// If `psql` cannot be run.
    pub fn query_as(&self, role: &str, statements: &str) -> Result<String, String> {
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.dsn_as(role)]);
        psql.args(["-c", statements]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = psql.output().expect("psql");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Returns the path of a file with the connection string.
    #[must_use]
    pub fn dsn_file(&self) -> PathBuf {
        self.folder.path().join("postgres.dsn")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn is_root(&self) -> bool {
        let facts = fs::metadata("/proc/self").or_else(|_| fs::metadata(self.folder.path()));
        facts.is_ok_and(|facts| facts.uid() == 0)
    }

    /// Returns a program of PostgreSQL, to be run by an unprivileged user, with its output in the log.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .expect("the log");
        let errors = log.try_clone().expect("the log");
        command.current_dir("/").stdin(Stdio::null()).stdout(log).stderr(errors);
        if self.is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}
