//! Starts MariaDB or MySQL.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Error, Recipe, Result};

use super::address::Address;
use super::config::{MysqlConfig, MysqlProgram, SocketOption};
use super::connection::MysqlConnection;
use super::{MARIADB, MYSQL, SCHEME};
use crate::certificate::Certificates;
use crate::network::{self, Place, SOCKET_FILE};

/// The program that fills an empty directory with the tables of MariaDB's accounts.
const INSTALLER: Recipe = Recipe::server("mariadb-install-db", "mariadb-server");

/// The longest time for a server to make its files, and then to answer; each step takes less than a
/// second.
const START: Duration = Duration::from_mins(1);

/// The name of the store's account, and of its database.
const ACCOUNT: &str = "larder";

/// Accounts that a server needs for itself; no client can log in to them.
const INTERNAL: &str = "'mariadb.sys', 'mysql.sys', 'mysql.session', 'mysql.infoschema'";

/// The directory of the server's files, and the file of statements that it runs before it lets a client in.
const DATA: &str = "data";
const INIT_FILE: &str = "accounts.sql";

/// The files of the certificates and of the server's key, with TLS.
const AUTHORITY_FILE: &str = "authority.pem";
const SERVER_FILE: &str = "server.pem";
const KEY_FILE: &str = "key.pem";

/// Starts a server as the options say, and waits until it answers. Tries another port when another process has taken
/// the free one.
pub(super) fn start(config: &MysqlConfig) -> Result<(Server, Address)> {
    managed::on_free_port(|| attempt_start(config))
}

/// The directory of the tables of the store's database.
pub(super) fn tables(server: &Server) -> PathBuf {
    server.directory().join(DATA).join(ACCOUNT)
}

fn attempt_start(config: &MysqlConfig) -> Result<(Server, Address)> {
    let program = match config.server {
        MysqlProgram::Mariadb => managed::find(SCHEME, &MARIADB)?,
        MysqlProgram::Mysql => find_mysql()?,
    };
    let directory = ScratchDir::create(SCHEME)?;
    let path = directory.path().to_owned();
    let account = Account::for_server(&["mysql"], &path);
    install(config, &program, &directory, account.as_ref())?;
    let password = managed::random_password(SCHEME)?;
    let mut files = vec![(INIT_FILE, accounts(&password))];
    if config.tls {
        let Certificates { authority, server, key } = Certificates::make(SCHEME)?;
        files.extend([(AUTHORITY_FILE, authority), (SERVER_FILE, server), (KEY_FILE, key)]);
    }
    for (name, text) in &files {
        managed::write_private(SCHEME, &path.join(name), text, account.as_ref())?;
    }
    let place = if config.socket == SocketOption::On {
        let socket = network::socket_path(SCHEME, &path)?;
        Place::Unix(socket)
    } else {
        Place::Tcp(Ipv4Addr::LOCALHOST.to_string(), managed::free_port(SCHEME)?)
    };
    let mut command = Command::new(program);
    command.args(settings(config, &path, &place)).args(user_option(account.as_ref()));
    run_as(account.as_ref(), &mut command);
    let authorities = config.tls.then(|| path.join(AUTHORITY_FILE));
    let address = Address::managed(place, ACCOUNT, &password, authorities, config.timeout.0);
    // The server's entries end with it in any case.
    let mut server = Server::start(SCHEME, command, directory, account.as_ref())?.without_grace();
    let asked = Arc::new(address.clone());
    // Another server may have taken the port; it does not let this account in.
    server.answer(START, || MysqlConnection::control(Arc::clone(&asked)).ask("SELECT 1").ok())?;
    Ok((server, address))
}

/// MySQL's own server. An error where the program of this name is MariaDB's.
fn find_mysql() -> Result<PathBuf> {
    let program = managed::find(SCHEME, &MYSQL)?;
    let version = Command::new(&program).arg("--version").output();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    if version.is_ok_and(|version| version.contains("MariaDB")) {
        let what = format!("{} is MariaDB; leave out server=mysql", program.display());
        return Err(Error::Unavailable { engine: SCHEME, what, source: None });
    }
    Ok(program)
}

/// Has the server make its files. Until they are complete, a sync to the disk would be worth nothing.
fn install(
    config: &MysqlConfig,
    program: &Path,
    directory: &ScratchDir,
    account: Option<&Account>,
) -> Result<()> {
    let data = format!("--datadir={}", directory.path().join(DATA).display());
    let temporary = temporary(directory.path());
    let mut command = match config.server {
        MysqlProgram::Mariadb => {
            let mut command = Command::new(managed::find(SCHEME, &INSTALLER)?);
            command.args(["--no-defaults", &data, &temporary]).args([
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                // Skips the look-up of this machine's name, which may take seconds.
                "--force",
                "--loose-debug-no-sync",
            ]);
            command
        }
        MysqlProgram::Mysql => {
            let mut command = Command::new(program);
            command.args(["--no-defaults", &data, &temporary, "--initialize-insecure"]);
            command
        }
    };
    command.args(user_option(account)).arg("--innodb-flush-method=nosync");
    run_as(account, &mut command);
    managed::run(SCHEME, command, directory, account, START)
}

/// The directory of a server's temporary tables. A server removes all temporary tables that it finds there at its
/// start, so each server needs a directory of its own.
fn temporary(directory: &Path) -> String {
    format!("--tmpdir={}", directory.display())
}

/// Has a program run under an account.
fn run_as(account: Option<&Account>, command: &mut Command) {
    if let Some(account) = account {
        account.run(command);
    }
}

/// The server does not run as root unless it is told to.
fn user_option(account: Option<&Account>) -> Option<String> {
    let root = account.filter(|account| account.name == "root");
    root.map(|account| format!("--user={}", account.name))
}

/// The settings of a server. Only MariaDB or only MySQL knows a `loose` setting.
fn settings(config: &MysqlConfig, directory: &Path, place: &Place) -> Vec<String> {
    let file = |name: &str| directory.join(name).display().to_string();
    let mut settings = vec![
        "--no-defaults".into(),
        format!("--datadir={}", file(DATA)),
        temporary(directory),
        format!("--socket={}", file(SOCKET_FILE)),
        format!("--pid-file={}", file("pid")),
        format!("--init-file={}", file(INIT_FILE)),
        format!("--innodb-flush-log-at-trx-commit={}", config.flush.as_str()),
        format!("--innodb-buffer-pool-size={}", config.buffer_pool.0),
        format!("--max-allowed-packet={}", config.packet.0),
        // As many connections as memcached lets in.
        "--max-connections=1024".into(),
        // No replica reads from this server, and no monitor reads its statistics.
        "--skip-log-bin".into(),
        "--performance-schema=OFF".into(),
        "--skip-name-resolve".into(),
        "--innodb-buffer-pool-load-at-startup=OFF".into(),
        // A second port of MySQL 8.
        "--loose-mysqlx=OFF".into(),
    ];
    match place {
        Place::Tcp(host, port) => {
            settings.extend([format!("--bind-address={host}"), format!("--port={port}")]);
        }
        Place::Unix(_) => settings.push("--skip-networking".into()),
    }
    if config.tls {
        settings.extend([
            format!("--ssl-ca={}", file(AUTHORITY_FILE)),
            format!("--ssl-cert={}", file(SERVER_FILE)),
            format!("--ssl-key={}", file(KEY_FILE)),
        ]);
    }
    settings
}

/// The statements that leave only the store's account, which may log in from this machine only. The server runs them
/// before it listens: a new server would let every client in as root.
fn accounts(password: &str) -> String {
    let account = |host: &str| {
        format!(
            "CREATE USER '{ACCOUNT}'@'{host}' IDENTIFIED BY '{password}';\n\
             GRANT ALL ON {ACCOUNT}.* TO '{ACCOUNT}'@'{host}';\n"
        )
    };
    format!(
        "DELETE FROM mysql.user WHERE User NOT IN ({INTERNAL});\n\
         FLUSH PRIVILEGES;\n\
         CREATE DATABASE {ACCOUNT};\n\
         {}{}",
        account("127.0.0.1"),
        account("localhost"),
    )
}
