//! Starts PostgreSQL.
//!
//! `initdb` makes the data folder, and no other program fills it. Every user of this machine can reach the port or the
//! socket, so the server demands a password. The password is made for this server alone, unless the URL has one.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Error, Result, StoreUrl};
use tokio_postgres::config::SslMode;

use super::address::{self, DEFAULT_PORT, Host, Login, Peer};
use super::config::PostgresqlConfig;
use super::connection::PostgresqlConnection;
use super::{RECIPE, SCHEME, tls};
use crate::certificate::Certificates;
use crate::network;

/// The longest time for `initdb`, and for the server until it answers; on an idle machine both together take a
/// second.
const START: Duration = Duration::from_mins(1);

/// The data folder, in the server's directory.
const DATA_FOLDER: &str = "data";

/// The file of the superuser's password, which is not needed once the data folder is made.
const PASSWORD_FILE: &str = "password";

/// The certificate and the key of the server, in its directory, when it has TLS.
const CERTIFICATE_FILE: &str = "server.pem";
const KEY_FILE: &str = "key.pem";

/// The superuser where the URL names no user, and the database that `initdb` makes.
const USER: &str = "larder";
const DATABASE: &str = "postgres";

/// The number of sessions that a server takes at once, besides those that are reserved for its
/// superuser.
const MAX_CONNECTIONS: u32 = 500;

/// Starts a server as the options say, and waits until it answers.
pub(super) fn start(url: &StoreUrl, config: &PostgresqlConfig) -> Result<(Server, Peer)> {
    let launch = Launch {
        url,
        config,
        programs: Programs::find()?,
        certificates: config.tls.then(|| Certificates::make(SCHEME)).transpose()?,
    };
    managed::on_free_port(|| launch.attempt())
}

/// The data folder of a server that was started.
pub(super) fn data_folder(server: &Server) -> PathBuf {
    server.directory().join(DATA_FOLDER)
}

/// The programs of one version, from one folder: those of two versions do not fit each other.
struct Programs {
    initdb: PathBuf,
    postgres: PathBuf,
}

impl Programs {
    fn find() -> Result<Self> {
        // `PATH` may have only a link to one of the programs.
        let postgres = managed::find(SCHEME, &RECIPE)?;
        let postgres = postgres.canonicalize().unwrap_or(postgres);
        let initdb = postgres.with_file_name("initdb");
        if initdb.is_file() {
            return Ok(Self { initdb, postgres });
        }
        let what =
            format!("{} has no initdb beside it: {}", postgres.display(), RECIPE.source.command());
        Err(Error::Unavailable { engine: SCHEME, what, source: None })
    }
}

/// The settings with which a server is started.
struct Launch<'a> {
    url: &'a StoreUrl,
    config: &'a PostgresqlConfig,
    programs: Programs,
    certificates: Option<Certificates>,
}

impl Launch<'_> {
    fn attempt(&self) -> Result<(Server, Peer)> {
        let directory = ScratchDir::create(SCHEME)?;
        let account = account(directory.path())?;
        let login = self.login()?;
        self.make_data_folder(&directory, account.as_ref(), &login)?;
        let host = self.host(directory.path())?;
        let mut command = Command::new(&self.programs.postgres);
        command.arg("-D").arg(DATA_FOLDER).args(settings(self.config, &host));
        prepare(&mut command, account.as_ref());
        let connector = match &self.certificates {
            Some(Certificates { authority, server, key }) => {
                for (name, text) in [(CERTIFICATE_FILE, server), (KEY_FILE, key)] {
                    managed::write_private(
                        SCHEME,
                        &directory.path().join(name),
                        text,
                        account.as_ref(),
                    )?;
                }
                tls::trusting(authority)?
            }
            None => tls::connector(self.config)?,
        };
        let encryption = if self.config.tls { SslMode::Require } else { SslMode::Disable };
        let peer = Peer::new(&host, &login, connector, encryption, self.config);
        // A shutdown as usual would write data that is then deleted.
        let server = Server::start(SCHEME, command, directory, account.as_ref())?;
        let mut server = server.ended_by(libc::SIGQUIT);
        let mut control = PostgresqlConnection::new(Arc::new(peer.clone()), None)?;
        // No other server accepts this password.
        server.answer(START, || control.connect().ok())?;
        drop(control);
        forget_segment(&data_folder(&server));
        Ok((server, peer))
    }

    /// The login in the URL, or the default user with a random password.
    fn login(&self) -> Result<Login> {
        let named =
            |text: Option<&str>| text.filter(|text| !text.is_empty()).map(ToOwned::to_owned);
        let user = named(self.url.user()).unwrap_or_else(|| USER.into());
        let password = match named(self.url.password()) {
            Some(password) if password.contains(['\n', '\r']) => {
                let reason = "the password of a server that larder starts has no line break".into();
                return Err(Error::InvalidUrl { url: self.url.to_string(), reason });
            }
            Some(password) => password,
            None => managed::random_password(SCHEME)?,
        };
        Ok(Login { user: Some(user), password: Some(password), database: Some(DATABASE.into()) })
    }

    fn make_data_folder(
        &self,
        directory: &ScratchDir,
        account: Option<&Account>,
        login: &Login,
    ) -> Result<()> {
        let password_file = directory.path().join(PASSWORD_FILE);
        managed::write_private(
            SCHEME,
            &password_file,
            login.password.as_deref().unwrap_or_default(),
            account,
        )?;
        let mut command = Command::new(&self.programs.initdb);
        command
            .args(["--pgdata", DATA_FOLDER, "--pwfile", PASSWORD_FILE])
            .args(["--username", login.user.as_deref().unwrap_or(USER)])
            .args(["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C"])
            // The folder need not survive a crash of the machine.
            .arg("--no-sync");
        prepare(&mut command, account);
        managed::run(SCHEME, command, directory, account, START)?;
        fs::remove_file(&password_file).map_err(|source| {
            let what = format!("removing {}", password_file.display());
            Error::Io { engine: SCHEME, what, source }
        })
    }

    /// The address for the server.
    fn host(&self, directory: &Path) -> Result<Host> {
        if self.config.socket {
            network::check_socket_path(SCHEME, &address::socket_in(directory, DEFAULT_PORT))?;
            return Ok(Host::Unix(directory.into(), DEFAULT_PORT));
        }
        Ok(Host::Tcp(Ipv4Addr::LOCALHOST.to_string(), managed::free_port(SCHEME)?))
    }
}

/// The account that the server runs under; `None` means the account of this process.
fn account(directory: &Path) -> Result<Option<Account>> {
    let account = Account::for_server(&["postgres", "nobody"], directory);
    if account.as_ref().is_some_and(|account| account.name == "root") {
        let what = format!(
            "postgres does not run as root, and no other account can reach {}; set TMPDIR to a folder that all may enter",
            directory.display()
        );
        return Err(Error::Unavailable { engine: SCHEME, what, source: None });
    }
    Ok(account)
}

/// The preparations that are the same for both programs.
fn prepare(command: &mut Command, account: Option<&Account>) {
    // PostgreSQL settings in the environment are for another server.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").env("TZ", "UTC");
    if let Some(account) = account {
        account.run(command);
    }
}

/// The settings of a server, as arguments. Settings without an option have PostgreSQL's defaults, with two exceptions.
/// They are the number of sessions, and memory that is shared by name, which would remain after the server is killed.
fn settings(config: &PostgresqlConfig, host: &Host) -> Vec<String> {
    let (hosts, port, folder) = match host {
        Host::Tcp(host, port) => (host.as_str(), *port, String::new()),
        Host::Unix(folder, port) => ("", *port, folder.display().to_string()),
    };
    let on = |setting: bool| if setting { "on" } else { "off" }.to_owned();
    let mut settings = vec![
        ("listen_addresses", hosts.to_owned()),
        ("port", port.to_string()),
        ("unix_socket_directories", folder),
        ("max_connections", MAX_CONNECTIONS.to_string()),
        ("shared_buffers", format!("{}kB", config.shared_buffers.0 / 1024)),
        ("fsync", on(config.fsync)),
        ("shared_memory_type", "mmap".to_owned()),
        ("dynamic_shared_memory_type", "mmap".to_owned()),
        ("ssl", on(config.tls)),
    ];
    if config.tls {
        settings.push(("ssl_cert_file", format!("../{CERTIFICATE_FILE}")));
        settings.push(("ssl_key_file", format!("../{KEY_FILE}")));
    }
    let argument = |(name, value): (&str, String)| ["-c".to_owned(), format!("{name}={value}")];
    settings.into_iter().flat_map(argument).collect()
}

/// Has the kernel drop the one segment of System V memory that a server makes, once the server and all its children are
/// gone: a killed server does not drop it. The segment only marks the data folder as in use, which no other program
/// needs.
fn forget_segment(data_folder: &Path) {
    let pid_file = fs::read_to_string(data_folder.join("postmaster.pid")).unwrap_or_default();
    if let Some(segment) = segment_in(&pid_file) {
        // SAFETY: IPC_RMID takes no structure, and so no memory is read or written. Attached memory stays until it is
        // detached.
        unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// The segment that the seventh line of `postmaster.pid` names: its key and its number.
fn segment_in(pid_file: &str) -> Option<libc::c_int> {
    pid_file.lines().nth(6)?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segment_is_on_the_seventh_line() {
        let text =
            "4711\n/data\n1700000000\n5432\n/run\n127.0.0.1\n  1234567        98304\nready\n";
        assert_eq!(segment_in(text), Some(98304));
        assert_eq!(segment_in("4711\n/data\n"), None);
    }
}
