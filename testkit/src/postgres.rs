//! An external PostgreSQL: a test starts, stops, kills and restarts it at the same place.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Recipe, Result};

use crate::holder::{is_running, within};
use crate::{PATIENCE, try_signal};

/// The package with its programs.
pub const POSTGRES: Recipe =
    Recipe { folders: &["/usr/lib/postgresql/*/bin"], ..Recipe::server("postgres", "postgresql") };

/// A server on a port of 127.0.0.1, which asks for a password, and on a socket in its folder, which does not. Dropping
/// it ends the server.
#[derive(Debug)]
pub struct Postgres {
    server: Option<Server>,
    folder: ScratchDir,
    account: Option<Account>,
    programs: PathBuf,
    settings: Vec<String>,
    port: u16,
}

impl Postgres {
    /// Makes a server with these settings (`fsync=off`) and starts it. Its superuser is `me` with the password `s@crt`.
    pub fn start(settings: &[&str]) -> Self {
        let postgres = managed::find("test", &POSTGRES).expect("postgres is there");
        let postgres = postgres.canonicalize().expect("a program is a file");
        let folder = ScratchDir::create("test").expect("a temporary directory");
        let account = Account::for_server(&["postgres", "nobody"], folder.path());
        let mut made = Self {
            server: None,
            account,
            programs: postgres.parent().expect("a program has a folder").into(),
            settings: settings.iter().map(ToString::to_string).collect(),
            port: 0,
            folder,
        };
        made.make_data_folder();
        let started = managed::on_free_port(|| {
            made.port = managed::free_port("test")?;
            made.try_restart()
        });
        started.expect("postgres starts");
        made
    }

    /// The folder for files of settings that the server can read.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into its folder that only the server may read.
    pub fn give(&self, name: &str, text: &str) {
        let file = self.folder.path().join(name);
        fs::write(&file, text).expect("a file in the temporary directory");
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&file, private).expect("a file of one's own");
        if let Some(account) = &self.account {
            account.own(&file).expect("root gives files away");
        }
    }

    /// Its port of 127.0.0.1, which is in the name of its socket too.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL, with the password.
    pub fn url(&self) -> String {
        format!("postgresql://me:s%40crt@127.0.0.1:{}/postgres", self.port)
    }

    /// The id of the process that started its other processes.
    pub fn pid(&self) -> u32 {
        self.server.as_ref().expect("it runs").pid()
    }

    /// Its answer to a query of its superuser: a line for each row, with `|` between columns.
    pub fn ask(&self, question: &str) -> String {
        let psql = Command::new(self.programs.join("psql"))
            .args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "me", "-d", "postgres"])
            .args(["-p", &self.port.to_string(), "-c", question, "-h"])
            .arg(self.folder.path())
            .output()
            .expect("psql runs");
        assert!(psql.status.success(), "{question}: {}", String::from_utf8_lossy(&psql.stderr));
        String::from_utf8_lossy(&psql.stdout).trim().to_owned()
    }

    /// Stops all its processes where they are.
    pub fn pause(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Continues all its processes.
    pub fn go_on(&self) {
        self.signal(libc::SIGCONT);
    }

    /// Kills all its processes, and waits until they have released their shared memory. The server would not start
    /// again while a process still holds a block of shared memory.
    pub fn kill(&mut self) {
        self.signal(libc::SIGSTOP);
        let first = self.pid();
        let has_stopped = || {
            let stat = fs::read_to_string(format!("/proc/{first}/stat"));
            stat.is_ok_and(|stat| stat.contains(") T "))
        };
        // Before that it may still start another process.
        assert!(within(PATIENCE, has_stopped), "postgres does not stop");
        let others = self.others();
        self.signal(libc::SIGKILL);
        self.server = None;
        let are_gone = || !others.iter().any(|pid| is_running(pid));
        assert!(within(PATIENCE, are_gone), "{others:?} outlive being killed");
    }

    /// Starts it again after [`Postgres::kill`], with the same data at the same place.
    pub fn restart(&mut self) {
        self.try_restart().expect("postgres starts again");
    }

    fn make_data_folder(&self) {
        self.give("password", "s@crt");
        let mut initdb = self.command("initdb");
        initdb
            .args(["--username", "me", "--pwfile", "password", "--no-sync"])
            .args(["--auth-host", "scram-sha-256", "--auth-local", "trust"])
            .args(["--encoding", "UTF8", "--locale", "C"]);
        let account = self.account.as_ref();
        managed::run("test", initdb, &self.folder, account, PATIENCE).expect("initdb");
    }

    fn try_restart(&mut self) -> Result<()> {
        let folder = self.folder.path().to_string_lossy();
        let mut postgres = self.command("postgres");
        for setting in [
            "listen_addresses=127.0.0.1",
            &format!("port={}", self.port),
            &format!("unix_socket_directories={folder}"),
            "dynamic_shared_memory_type=mmap",
        ] {
            postgres.args(["-c", setting]);
        }
        for setting in &self.settings {
            postgres.args(["-c", setting]);
        }
        let logs = ScratchDir::create("test")?;
        let log = logs.path().join("server.log");
        let server = Server::start("test", postgres, logs, self.account.as_ref())?;
        let mut server = server.ended_by(libc::SIGQUIT);
        server.answer(PATIENCE, || {
            let log = fs::read_to_string(&log).ok()?;
            log.contains("database system is ready to accept connections").then_some(())
        })?;
        self.server = Some(server);
        self.forget_segment();
        Ok(())
    }

    /// Makes the kernel drop the shared memory that a killed server leaves, once no process holds it. The seventh line
    /// of the file has its key and its number.
    fn forget_segment(&self) {
        let file = fs::read_to_string(self.folder.path().join("data/postmaster.pid"));
        let file = file.expect("a server that runs has it");
        let segment = file.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
        let ipcrm = Command::new("ipcrm").arg("-m").arg(segment.expect("its number")).output();
        assert!(ipcrm.is_ok_and(|ipcrm| ipcrm.status.success()), "ipcrm -m");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env("LC_ALL", "C").arg("-D").arg(self.folder.path().join("data"));
        if let Some(account) = &self.account {
            account.run(&mut command);
        }
        command
    }

    /// Sends a signal to all its running processes, each of which leads a group of its own.
    fn signal(&self, signal: libc::c_int) {
        let others = self.others();
        let others = others.iter().filter_map(|pid| pid.parse().ok());
        for pid in self.server.as_ref().map(Server::pid).into_iter().chain(others) {
            // A process may have ended meanwhile; a failing test shows its own reason.
            let _ = try_signal(pid, signal);
        }
    }

    /// The ids of the processes that the first process started.
    fn others(&self) -> Vec<String> {
        let Some(pid) = self.server.as_ref().map(Server::pid) else { return Vec::new() };
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Postgres {
    /// A process that a failed test has stopped would not receive the signal to end.
    fn drop(&mut self) {
        self.go_on();
    }
}
