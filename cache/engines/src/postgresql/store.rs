//! The open server, shared by its sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_host::delay_proxy::DelayProxy;
use larder_host::disk;
use larder_host::managed::{Server, end_all};
use larder_store::{
    Capabilities, Catalog, Durability, FileSystem, Ownership, Reach, Result, Session, Stats, Store,
    StoreInfo, StoreUrl,
};

use super::address::Peer;
use super::config::{Persistence, PostgresqlConfig};
use super::connection::PostgresqlConnection;
use super::introspection::Introspection;
use super::table::OwnTable;
use super::{SCHEME, managed};
use crate::network;
use crate::sql::connection::{Connection, Row, Statement, Value};
use crate::sql::dialect::{POSTGRESQL, POSTGRESQL_MAX_KEY_LEN};
use crate::sql::expiry::Expiry;
use crate::sql::session::SqlSession;
use crate::sql::statements::Statements;
use crate::sql::table::{Limits, Table};

/// The largest value. A field takes up to 1 GiB. A statement has the same limit, with all copies of the value that the
/// server makes on the way.
const MAX_VALUE_LEN: usize = 256 << 20;

/// The time between two searches for expired rows.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// Opens the server that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = PostgresqlConfig::from_url(url)?;
    let (server, peer) = match Peer::from_url(url, &config)? {
        Some(peer) => (None, peer),
        None => managed::start(url, &config).map(|(server, peer)| (Some(server), peer))?,
    };
    let timeout = config.timeout.0;
    let round_trips = peer.round_trips();
    let destinations = || peer.place().destination(SCHEME).map(|destination| vec![destination]);
    let delay_proxy =
        network::delay_proxy_for(SCHEME, config.via, timeout, round_trips, destinations)?;
    let peer = match delay_proxy.as_ref().and_then(|delay_proxy| delay_proxy.addresses().first()) {
        Some(address) => peer.through(*address),
        None => peer,
    };
    let peer = Arc::new(peer);
    let options = match config.table {
        Persistence::Unlogged => "UNLOGGED",
        Persistence::Logged => "",
    };
    let statements = Statements::new(&POSTGRESQL, &config.namespace, options);
    let mut control = PostgresqlConnection::new(Arc::clone(&peer), None)?;
    let introspection = Introspection::of(&mut control)?;
    let wanted = url.option("table").map(|_| config.table);
    let own = OwnTable::open(&mut control, &config, wanted, &statements)?;
    let limits = Limits { key_len: POSTGRESQL_MAX_KEY_LEN, value_len: MAX_VALUE_LEN };
    let may_clear = server.is_some();
    let table = Arc::new(Table { may_clear, ..Table::new(SCHEME, statements, limits) });
    let control = Arc::new(Mutex::new(control));
    let expiry = Expiry::start(Arc::clone(&table), Sweeper(Arc::clone(&control)), EXPIRY_INTERVAL)?;
    let shared = Shared {
        expiry: Some(expiry),
        control,
        own,
        table,
        peer,
        n_connections: AtomicU64::new(0),
        delay_proxy,
        server,
    };
    let info = shared.describe(url, &config, &introspection);
    Ok(Arc::new(PostgresqlStore { shared: Arc::new(shared), info }))
}

/// An open server.
#[derive(Debug)]
struct PostgresqlStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

/// The state that sessions share; the started server and the relay end with the last session.
#[derive(Debug)]
pub(super) struct Shared {
    expiry: Option<Expiry>,
    /// For unmeasured questions about the store.
    control: Arc<Mutex<PostgresqlConnection>>,
    own: OwnTable,
    table: Arc<Table>,
    peer: Arc<Peer>,
    n_connections: AtomicU64,
    delay_proxy: Option<DelayProxy>,
    server: Option<Server>,
}

/// The control connection, for the thread that removes expired rows. The thread works often enough to open the
/// connection again soon after a restart of the server, and so to hold the table.
struct Sweeper(Arc<Mutex<PostgresqlConnection>>);

impl Connection for Sweeper {
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64> {
        lock(&self.0).change(statement, values)
    }

    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        lock(&self.0).rows(statement, values, row)
    }
}

fn lock(control: &Mutex<PostgresqlConnection>) -> MutexGuard<'_, PostgresqlConnection> {
    control.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn count_connection(&self) {
        self.n_connections.fetch_add(1, Ordering::Relaxed);
    }

    fn control(&self) -> MutexGuard<'_, PostgresqlConnection> {
        lock(&self.control)
    }

    fn describe(
        &self,
        url: &StoreUrl,
        config: &PostgresqlConfig,
        introspection: &Introspection,
    ) -> StoreInfo {
        let mut settings: BTreeMap<String, String> = introspection.settings.clone();
        settings.insert("namespace".into(), config.namespace.clone());
        settings.insert("table".into(), self.own.persistence.as_str().into());
        settings.insert("tls".into(), introspection.tls.clone().unwrap_or_else(|| "off".into()));
        settings.extend(network::delay_proxy_settings(config.via, self.delay_proxy.as_ref()));
        let data_paths: Vec<PathBuf> = self.server.iter().map(managed::data_folder).collect();
        let file_system = data_paths.first().and_then(|path| disk::file_system(path).ok());
        let in_memory = file_system.as_ref().is_some_and(FileSystem::is_memory);
        let durability = introspection.durability(self.own.persistence);
        StoreInfo {
            scheme: SCHEME,
            url: url.to_string(),
            version: introspection.version.clone(),
            settings,
            // A sync to memory survives no more than the page cache does.
            durability: if in_memory { durability.min(Durability::OsCache) } else { durability },
            ownership: match self.server {
                Some(_) => Ownership::Managed,
                None => Ownership::External,
            },
            server_pids: match &self.server {
                Some(server) => vec![server.pid()],
                None => introspection.pid.into_iter().collect(),
            },
            addresses: vec![self.peer.reached_at()],
            data_paths,
            file_system,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.expiry = None;
        if self.server.is_none() {
            let now_ms = self.table.now_ms();
            let close = || self.own.close(&mut self.control(), now_ms);
            // A server that was restarted has cut the connection off, so try again. A server that is gone keeps its
            // table, and no caller is left to report a failure to.
            let _ = close().or_else(|_| close());
        }
    }
}

impl Store for PostgresqlStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let Shared { table, peer, server, .. } = &*self.shared;
        Capabilities {
            // An unlogged table stays until its server crashes.
            persistent: server.is_none(),
            reach: if peer.is_unix() { Reach::Host } else { Reach::Network },
            ..table.capabilities()
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let Shared { table, peer, .. } = &*self.shared;
        let shared = Some(Arc::clone(&self.shared));
        let connection = PostgresqlConnection::new(Arc::clone(peer), shared)?;
        Ok(Box::new(SqlSession::new(Arc::clone(table), connection)))
    }

    fn close(&self) -> Result<()> {
        end_all(&self.shared.server)
    }

    fn stats(&self) -> Result<Stats> {
        let Shared { table, own, n_connections, .. } = &*self.shared;
        let mut control = self.shared.control();
        let mut stats = table.stats(&mut *control)?;
        let size = control.simple(&own.size_question())?;
        stats.bytes = size.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        stats.connections = Some(n_connections.load(Ordering::Relaxed));
        Ok(stats)
    }
}
