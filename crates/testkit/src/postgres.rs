//! A PostgreSQL server for tests.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    #[expect(clippy::disallowed_methods, reason = "a check requires the tests that others skip")]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub fn start() -> Option<Self> {
        let programs = PROGRAMS.map(Path::new).into_iter().find(|it| it.join("initdb").exists());
        let Some(programs) = programs else {
            let is_required = std::env::var("WEFT_REQUIRE_POSTGRES").is_ok_and(|it| it == "1");
            assert!(!is_required, "PostgreSQL is not installed; install the package `postgresql`");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let mut server = Self { folder, programs, server: None };
        if server.is_root() {
            chown(server.folder.path(), Some(NOBODY), Some(NOBODY)).expect("the folder's owner");
        }
        let all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(server.folder.path(), all).expect("the folder's permissions");
        let arguments = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "-D"];
        let mut init = server.command("initdb");
        let made = init.args(arguments).arg(server.data()).status().expect("initdb");
        assert!(made.success(), "initdb failed: {}", server.log());
        server.resume();
        Some(server)
    }

    /// Starts the server again after [`kill`](Self::kill).
    ///
    /// # Panics
    ///
    /// If the server does not start.
    pub fn resume(&mut self) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        command.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]);
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

    /// Returns the connection string of the server's default database.
    #[must_use]
    pub fn dsn(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.path().display())
    }

    /// Writes the connection string to a file and returns its path.
    ///
    /// # Panics
    ///
    /// If the file cannot be written.
    #[must_use]
    pub fn dsn_file(&self) -> PathBuf {
        let path = self.folder.path().join("postgres.dsn");
        fs::write(&path, self.dsn()).expect("a file");
        path
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
