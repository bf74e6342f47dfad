//! Starts a `mongod`, or its stand-in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_host::managed::{self, Account, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Error, Result, StoreUrl};

use super::address::Target;
use super::config::{MongodbConfig, MongodbProgram};
use super::link::Link;
use super::{JAVA, MONGOD, SCHEME, STAND_IN, introspection};
use crate::certificate::Certificates;

/// The longest wait for a server's first answer; the stand-in takes a second on an idle machine.
const START: Duration = Duration::from_secs(30);

/// The certificates and the key, when it has TLS; `mongod` wants the last two in one file.
const AUTHORITY_FILE: &str = "authority.pem";
const SERVER_FILE: &str = "server.pem";
const KEY_FILE: &str = "key.pem";

/// The parts of the first line of the stand-in.
const LISTENS: &str = " listens on 127.0.0.1:";

/// The server that was started, and the way to it.
pub(super) struct Started {
    pub(super) server: Server,
    pub(super) target: Target,
    /// Name and version, as the stand-in tells them.
    pub(super) stand_in: Option<String>,
}

/// Starts the server that the options ask for, and waits until it answers.
pub(super) fn start(url: &StoreUrl, config: &MongodbConfig) -> Result<Started> {
    if url.user().is_some() || !url.path().is_empty() {
        let reason = "a user and a database are for a server that the URL names; write mongodb://user:password@h1/cache";
        return Err(Error::InvalidUrl { url: url.to_string(), reason: reason.into() });
    }
    let (program, file) = choose(config)?;
    config.check_memory(program)?;
    config.check_sync_delay(program)?;
    let launch = Launch { url, config, file };
    match program {
        MongodbProgram::StandIn => launch.stand_in(),
        MongodbProgram::Mongod => managed::on_free_port(|| launch.mongod()),
    }
}

/// The server that is started: the named one, or the first that is installed.
fn choose(config: &MongodbConfig) -> Result<(MongodbProgram, PathBuf)> {
    let mongod = || managed::find(SCHEME, &MONGOD).map(|file| (MongodbProgram::Mongod, file));
    let stand_in = || managed::find(SCHEME, &STAND_IN).map(|file| (MongodbProgram::StandIn, file));
    match config.server {
        Some(MongodbProgram::Mongod) => mongod(),
        Some(MongodbProgram::StandIn) => stand_in(),
        None => mongod().or_else(|_| stand_in()).map_err(|_| Error::Unavailable {
            engine: SCHEME,
            what: format!(
                "{} is not installed: {}; for a stand-in that says nothing of its speed: {}",
                MONGOD.program,
                MONGOD.source.command(),
                STAND_IN.source.command()
            ),
            source: None,
        }),
    }
}

/// The settings with which one server is started.
struct Launch<'a> {
    url: &'a StoreUrl,
    config: &'a MongodbConfig,
    file: PathBuf,
}

impl Launch<'_> {
    fn mongod(&self) -> Result<Started> {
        let directory = ScratchDir::create(SCHEME)?;
        let account = Account::for_server(&["mongodb", "mongod", "nobody"], directory.path());
        let port = managed::free_port(SCHEME)?;
        let mut command = Command::new(&self.file);
        command.args(["--dbpath", ".", "--bind_ip", "127.0.0.1", "--nounixsocket"]);
        command.args(["--port", &port.to_string()]);
        if let Some(memory) = self.config.memory {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the option is in gigabytes, with decimals"
            )]
            let gigabytes = memory.0 as f64 / f64::from(1 << 30);
            command.args(["--wiredTigerCacheSizeGB", &gigabytes.to_string()]);
        }
        if let Some(delay) = self.config.sync_delay {
            command.args(["--syncdelay", &delay.0.as_secs_f64().to_string()]);
        }
        let authority = self.certify(directory.path(), account.as_ref())?;
        if authority.is_some() {
            command
                .args(["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", SERVER_FILE])
                .args(["--tlsCAFile", AUTHORITY_FILE, "--tlsAllowConnectionsWithoutCertificates"]);
        }
        if let Some(account) = &account {
            account.run(&mut command);
        }
        // Its entries end with it in any case.
        let mut server =
            Server::start(SCHEME, command, directory, account.as_ref())?.without_grace();
        let target = Target::started(self.url, self.config, port, authority.as_deref())?;
        let link = Link::new(&target, &Arc::default())?;
        let pid = i64::from(server.pid());
        server.answer(START, || {
            // Another server may have taken the port, which this one will then complain of.
            let status =
                introspection::ask(&link, mongodb::bson::doc! { "serverStatus": 1 }).ok()??;
            (introspection::number(&status, "pid") == Some(pid)).then_some(())
        })?;
        Ok(Started { server, target, stand_in: None })
    }

    fn stand_in(&self) -> Result<Started> {
        let java = managed::find(SCHEME, &JAVA)?;
        let directory = ScratchDir::create(SCHEME)?;
        let authority = self.certify(directory.path(), None)?;
        let mut command = Command::new(java);
        command.arg("-XX:+UseSerialGC");
        if let Some(memory) = self.config.memory {
            command.arg(format!("-Xmx{}", memory.0));
        }
        command.arg("-jar").arg(&self.file).arg("0");
        if authority.is_some() {
            command.args([SERVER_FILE, KEY_FILE]);
        }
        // As this user, because the archive is in this user's folder.
        let mut server = Server::start(SCHEME, command, directory, None)?.without_grace();
        let log = server.directory().join("server.log");
        let (name, port) = server.answer(START, || {
            let said = fs::read_to_string(&log).ok()?;
            let line = said.lines().find(|line| line.contains(LISTENS))?;
            let (name, port) = line.split_once(LISTENS)?;
            // A number is whole when its line is.
            let is_whole = said.contains(&format!("{line}\n"));
            Some((name.to_owned(), port.parse::<u16>().ok().filter(|_| is_whole)?))
        })?;
        let target = Target::started(self.url, self.config, port, authority.as_deref())?;
        Ok(Started { server, target, stand_in: Some(name) })
    }

    /// Writes certificates of the server's own where it uses TLS; the path of the authority's certificate.
    fn certify(&self, folder: &Path, account: Option<&Account>) -> Result<Option<String>> {
        if !self.config.is_encrypted(self.url) {
            return Ok(None);
        }
        let certificates = Certificates::make(SCHEME)?;
        let both = format!("{}{}", certificates.server, certificates.key);
        for (name, text) in [
            (AUTHORITY_FILE, &certificates.authority),
            (SERVER_FILE, &both),
            (KEY_FILE, &certificates.key),
        ] {
            managed::write_private(SCHEME, &folder.join(name), text, account)?;
        }
        Ok(Some(folder.join(AUTHORITY_FILE).to_string_lossy().into_owned()))
    }
}
