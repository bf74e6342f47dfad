//! The shared part of the tests of `mysql:`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::OnceLock;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::Recipe;
use larder_testkit::{PATIENCE, has_program, trial_where};
use libtest_mimic::Trial;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

const MARIADB: Recipe = Recipe::server("mariadbd", "mariadb-server");
const INSTALLER: Recipe = Recipe::server("mariadb-install-db", "mariadb-server");

/// How often a start with another free port is tried.
const ATTEMPTS: usize = 10;

/// The account of the engine under test, with the password `s@crt`, and the account of the tests.
const ACCOUNTS: &str = "CREATE DATABASE cache;\n\
     CREATE USER 'me'@'%' IDENTIFIED BY 's@crt';\n\
     GRANT ALL ON cache.* TO 'me'@'%';\n\
     CREATE USER 'owner'@'%' IDENTIFIED BY 'owner';\n\
     GRANT ALL ON *.* TO 'owner'@'%' WITH GRANT OPTION;\n";

/// A trial that needs a real MariaDB.
pub(crate) fn trial(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(&MARIADB), name, run)
}

/// A MariaDB that the engine under test did not start, and that can start again with its old state.
pub(crate) struct MariaDb {
    server: Option<Server>,
    folder: ScratchDir,
    account: Option<Account>,
    port: u16,
    arguments: Vec<String>,
}

impl MariaDb {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = ScratchDir::create("test").unwrap();
        let account = Account::for_server(&["mysql"], folder.path());
        let data = format!("--datadir={}/data", folder.path().display());
        let mut command = Command::new(managed::find("test", &INSTALLER).unwrap());
        let temporary = format!("--tmpdir={}", folder.path().display());
        command.args(["--no-defaults", &data, &temporary, "--force", "--skip-test-db"]).args([
            "--auth-root-authentication-method=normal",
            "--innodb-flush-method=nosync",
            "--loose-debug-no-sync",
        ]);
        // The same data files as for the server.
        command.args(arguments.iter().filter(|argument| argument.contains("data-file-path")));
        if let Some(account) = &account {
            account.run(&mut command);
        }
        managed::run("test", command, &folder, account.as_ref(), PATIENCE).unwrap();
        let init = folder.path().join("accounts.sql");
        fs::write(&init, ACCOUNTS).unwrap();
        fs::set_permissions(&init, fs::Permissions::from_mode(0o644)).unwrap();
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let mut mariadb = Self { server: None, folder, account, port: 0, arguments };
        for _ in 0..ATTEMPTS {
            mariadb.port = managed::free_port("test").unwrap();
            // Another process may take this port first.
            if mariadb.run(&[format!("--init-file={}", init.display())]) {
                return mariadb;
            }
        }
        panic!("no port was free in {ATTEMPTS} attempts");
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        self.server = None;
    }

    /// Starts the server again, on its port and with its data.
    pub(crate) fn start_again(&mut self) {
        assert!(self.run(&[]), "port {} was taken", self.port);
    }

    fn run(&mut self, further: &[String]) -> bool {
        let directory = ScratchDir::create("test").unwrap();
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let mut command = Command::new(managed::find("test", &MARIADB).unwrap());
        command
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve"])
            .arg(format!("--port={}", self.port))
            .arg(format!("--datadir={}", file("data")))
            .arg(format!("--tmpdir={}", self.folder.path().display()))
            .arg(format!("--socket={}", self.socket()))
            .arg(format!("--pid-file={}", file("pid")))
            .arg("--innodb-flush-log-at-trx-commit=2")
            .args(&self.arguments)
            .args(further);
        if let Some(account) = &self.account {
            account.run(&mut command);
        }
        let server = Server::start("test", command, directory, self.account.as_ref()).unwrap();
        let mut server = server.without_grace();
        let answered = server.answer(PATIENCE, || Conn::new(self.owner_opts()).ok().map(drop));
        match answered {
            Ok(()) => self.server = Some(server),
            Err(error) if error.to_string().contains("Address already in use") => return false,
            Err(error) => panic!("{error}"),
        }
        true
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.as_ref().unwrap().pid()
    }

    pub(crate) fn socket(&self) -> String {
        self.folder.path().join("s").display().to_string()
    }

    /// The URL of the server for the engine, with these options.
    pub(crate) fn url(&self, options: &str) -> String {
        url_at(self.port, options)
    }

    /// A connection of the account that may do everything.
    pub(crate) fn owner(&self) -> Conn {
        Conn::new(self.owner_opts()).unwrap()
    }

    fn owner_opts(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .prefer_socket(false)
            .user(Some("owner"))
            .pass(Some("owner"))
            .db_name(Some("cache"))
    }

    /// The tables of the engine's database.
    pub(crate) fn tables(&self) -> Vec<String> {
        self.owner().query("SHOW TABLES").unwrap()
    }
}

/// One server for all tests that neither stop it nor change its settings.
pub(crate) fn shared() -> &'static MariaDb {
    static SHARED: OnceLock<MariaDb> = OnceLock::new();
    SHARED.get_or_init(|| MariaDb::start(&[]))
}

/// The URL of a server, or of a relay before it, on this port.
pub(crate) fn url_at(port: u16, options: &str) -> String {
    format!("mysql://me:s%40crt@127.0.0.1:{port}/cache?{options}")
}
