//! Starts Redis or Valkey, one server or a cluster.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use larder_store::{Result, StoreUrl};

use super::address::{Greeting, Node};

use super::config::{AppendOnly, RedisConfig, RedisProgram};
use super::{RECIPE, SCHEME, VALKEY, cluster, introspection};
use crate::certificate::Certificates;
use crate::network::{self, SOCKET_FILE};
use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;

/// The longest wait for a server's first answer; it takes some milliseconds.
const START: Duration = Duration::from_secs(10);

/// The server's configuration. A command line would show a password to every user of the machine.
const CONFIG_FILE: &str = "server.conf";

/// The files of the certificates and of the server's key, with TLS.
const AUTHORITY_FILE: &str = "authority.pem";
const SERVER_FILE: &str = "server.pem";
const KEY_FILE: &str = "key.pem";

/// The server's log of writes, if it has one: a folder, or before version 7 a file.
const LOGS: [&str; 2] = ["appendonlydir", "appendonly.aof"];

/// The nodes of a cluster talk to each other on a port that is higher by this number.
const BUS_PORT: u16 = 10_000;

/// The servers that were started, and the way to them.
pub(super) struct Started {
    pub(super) servers: Vec<Server>,
    pub(super) nodes: Vec<Node>,
    pub(super) greeting: Greeting,
}

/// Starts as many servers as the options say, and waits until each answers.
pub(super) fn start(
    url: &StoreUrl,
    config: &RedisConfig,
    mut greeting: Greeting,
) -> Result<Started> {
    let certificates = config.is_encrypted().then(|| Certificates::make(SCHEME)).transpose()?;
    if let Some(certificates) = &certificates {
        greeting = greeting.trusting(&certificates.authority)?;
    }
    let recipe = Launch { url, config, greeting: &greeting, certificates: certificates.as_ref() };
    let started = (0..config.nodes).map(|_| recipe.start()).collect::<Result<Vec<_>>>()?;
    let (mut servers, nodes): (Vec<Server>, Vec<Node>) = started.into_iter().unzip();
    if nodes.len() > 1 {
        cluster::form(&mut servers, &nodes, config.timeout.0)?;
    }
    Ok(Started { servers, nodes, greeting })
}

/// The log of a server's writes.
pub(super) fn log(server: &Server) -> Option<PathBuf> {
    LOGS.map(|name| server.directory().join(name)).into_iter().find(|path| path.exists())
}

/// The settings with which one server is started.
struct Launch<'a> {
    url: &'a StoreUrl,
    config: &'a RedisConfig,
    greeting: &'a Greeting,
    certificates: Option<&'a Certificates>,
}

impl Launch<'_> {
    /// Starts a server; tries another port when another process has taken the free one.
    fn start(&self) -> Result<(Server, Node)> {
        managed::on_free_port(|| self.attempt())
    }

    fn attempt(&self) -> Result<(Server, Node)> {
        let Self { config, greeting, .. } = *self;
        let recipe = if config.server == Some(RedisProgram::Valkey) { VALKEY } else { RECIPE };
        let program = managed::find(SCHEME, &recipe)?;
        let directory = ScratchDir::create(SCHEME)?;
        let account = Account::for_server(&["redis", "valkey", "nobody"], directory.path());
        let (node, listen) = if config.socket {
            let path = network::socket_path(SCHEME, directory.path())?;
            let listen = format!("port 0\nunixsocket {SOCKET_FILE}\nunixsocketperm 700\n");
            (Node::unix(&path.to_string_lossy(), greeting)?, listen)
        } else {
            let port = free_port(config.nodes > 1)?;
            let node = Node::tcp(&Ipv4Addr::LOCALHOST.to_string(), port, greeting)?;
            let protocol = if config.is_encrypted() { "port 0\ntls-port" } else { "port" };
            (node, format!("bind 127.0.0.1\n{protocol} {port}\n"))
        };
        let text = format!("{listen}{}{}", settings(config), passwords(self.url));
        let mut files = vec![(CONFIG_FILE, text.as_str())];
        if let Some(Certificates { authority, server, key }) = self.certificates {
            files.extend([(AUTHORITY_FILE, &**authority), (SERVER_FILE, server), (KEY_FILE, key)]);
        }
        for (name, text) in files {
            managed::write_private(SCHEME, &directory.path().join(name), text, account.as_ref())?;
        }
        let mut command = Command::new(program);
        // The server's language would have to be installed.
        command.arg(CONFIG_FILE).env("LC_ALL", "C");
        if let Some(account) = &account {
            account.run(&mut command);
        }
        // The server's entries end with it in any case.
        let mut server =
            Server::start(SCHEME, command, directory, account.as_ref())?.without_grace();
        let timeout = config.timeout.0;
        let pid = server.pid();
        server.answer(START, || {
            // Another server may have taken the port; the new server then reports this.
            let facts = introspection::facts(&node, timeout).ok()?;
            (facts.get("process_id")?.parse() == Ok(pid)).then_some(())
        })?;
        Ok((server, node))
    }
}

/// A free port of this machine; for a node with a cluster bus, the port of the bus is free too.
fn free_port(with_bus: bool) -> Result<u16> {
    let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    loop {
        let port = managed::free_port(SCHEME)?;
        let has_bus = || port.checked_add(BUS_PORT).is_some_and(is_free);
        if !with_bus || has_bus() {
            return Ok(port);
        }
    }
}

/// The settings of a server, one a line. A server does not start with a setting that it does not know. So a setting
/// that is younger than Redis 5 is written only where an option asks for it.
fn settings(config: &RedisConfig) -> String {
    let (appendonly, appendfsync) = match config.appendonly {
        AppendOnly::No => ("no", "no"),
        AppendOnly::Everysec => ("yes", "everysec"),
        AppendOnly::Always => ("yes", "always"),
    };
    let tls = format!(
        "tls-cert-file {SERVER_FILE}\n\
         tls-key-file {KEY_FILE}\n\
         tls-ca-cert-file {AUTHORITY_FILE}\n\
         tls-auth-clients no\n\
         tls-cluster yes\n",
    );
    let tls = if config.is_encrypted() { &tls } else { "" };
    let cluster = "cluster-enabled yes\ncluster-announce-ip 127.0.0.1\n";
    let cluster = if config.nodes > 1 { cluster } else { "" };
    let io_threads = match config.io_threads {
        1 => String::new(),
        n => format!("io-threads {n}\n"),
    };
    let connections =
        config.max_connections.map_or_else(String::new, |number| format!("maxclients {number}\n"));
    format!(
        "daemonize no\n\
         save \"\"\n\
         maxmemory {}\n\
         maxmemory-policy {}\n\
         appendonly {appendonly}\n\
         appendfsync {appendfsync}\n\
         {connections}{io_threads}{tls}{cluster}",
        config.memory.0,
        config.policy.as_str(),
    )
}

/// The accounts of a server: the user of the URL, or every user of this machine.
fn passwords(url: &StoreUrl) -> String {
    match (url.user().filter(|user| !user.is_empty()), url.password()) {
        (Some(user), Some(password)) => {
            let (user, password) = (quoted(user), quoted(&format!(">{password}")));
            format!("user {user} on {password} ~* +@all\nuser default off\n")
        }
        (None, Some(password)) => format!("requirepass {}\n", quoted(password)),
        _ => String::new(),
    }
}

/// A text as one word of a configuration file.
fn quoted(text: &str) -> String {
    let mut word = String::from("\"");
    for byte in text.bytes() {
        // Writing to a String does not fail.
        let _ = match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'>' | b'-' | b'_' => {
                word.write_char(char::from(byte))
            }
            byte => write!(word, "\\x{byte:02x}"),
        };
    }
    word.push('"');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The written settings that Redis 5 and Redis 6.0 know.
    const OF_REDIS_5: [&str; 9] = [
        "daemonize",
        "save",
        "maxmemory",
        "maxmemory-policy",
        "appendonly",
        "appendfsync",
        "cluster-enabled",
        "cluster-announce-ip",
        "maxclients",
    ];
    const OF_REDIS_6: [&str; 6] = [
        "io-threads",
        "tls-cert-file",
        "tls-key-file",
        "tls-ca-cert-file",
        "tls-auth-clients",
        "tls-cluster",
    ];

    #[test]
    fn an_old_server_knows_every_setting() {
        for (url, asks_for_6) in [
            ("redis:", false),
            ("redis:?appendonly=everysec&policy=allkeys-lfu&memory=1g", false),
            ("redis:?appendonly=always&nodes=3", false),
            ("redis:?max_connections=50000", false),
            ("redis:?io_threads=4", true),
            ("rediss:?nodes=3", true),
        ] {
            let url = StoreUrl::parse(url).unwrap();
            let text = settings(&RedisConfig::from_url(&url).unwrap());
            let names: Vec<&str> =
                text.lines().map(|line| line.split(' ').next().unwrap()).collect();
            let younger: Vec<&&str> =
                names.iter().filter(|name| !OF_REDIS_5.contains(name)).collect();
            assert!(younger.iter().all(|name| OF_REDIS_6.contains(name)), "{url}: {younger:?}");
            assert_eq!(!younger.is_empty(), asks_for_6, "{url}: {younger:?}");
        }
    }

    #[test]
    fn a_password_may_have_any_characters() {
        let lines = |url: &str| passwords(&StoreUrl::parse(url).unwrap());
        assert_eq!(lines("redis:"), "");
        assert_eq!(lines("redis://:a%22%20b@"), "requirepass \"a\\x22\\x20b\"\n");
        assert_eq!(
            lines("redis://me:s%0Acrt@"),
            "user \"me\" on \">s\\x0acrt\" ~* +@all\nuser default off\n"
        );
    }
}
