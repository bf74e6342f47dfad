//! The open server, shared by its sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_host::delay_proxy::DelayProxy;
use larder_host::disk;
use larder_host::managed::{Server, end_all};
use larder_store::{
    Capabilities, Catalog, Clock, Durability, Error, FileSystem, Ownership, Reach, Result, Session,
    Stats, Store, StoreInfo, StoreUrl,
};

use super::address::Address;
use super::config::MysqlConfig;
use super::connection::MysqlConnection;
use super::introspection::Introspection;
use super::table::Sweeper;
use super::{SCHEME, managed, table};
use crate::network;
use crate::sql::dialect::MYSQL;
use crate::sql::expiry::Expiry;
use crate::sql::session::SqlSession;
use crate::sql::statements::Statements;
use crate::sql::table::{Limits, Table};

/// The largest size of a request or a row beside its value: a key, a tag, some numbers, and the length of each.
const AROUND_VALUE: usize = 4096;

/// The longest stay of expired rows. No session reads them.
const EXPIRY: Duration = Duration::from_secs(1);

/// Opens the server that a URL names, or starts one.
pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = MysqlConfig::from_url(url)?;
    // An error means that another caller has chosen for the whole process, and any choice will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (server, address) = match Address::from_url(url, &config)? {
        Some(address) => (None, address),
        None => managed::start(&config).map(|(server, address)| (Some(server), address))?,
    };
    // The introspection bypasses the relay, so that an error describes the failure of the server itself.
    let mut control = MysqlConnection::control(Arc::new(address.clone()));
    let introspection = Introspection::of(&mut control, &address)?;
    if introspection.packet_len <= AROUND_VALUE {
        let reason = format!(
            "{address} takes packets of {} bytes, which leaves no room for values; raise its max_allowed_packet",
            introspection.packet_len
        );
        return Err(Error::InvalidOptions { engine: SCHEME, reason });
    }
    let mut address = address.settled(introspection.is_encrypted, introspection.packet_len);
    let name = &config.namespace;
    let statements = Statements::new(&MYSQL, name, table::OPTIONS);
    let (found, hold) = if server.is_some() {
        (table::prepare(&mut control, &address, name, &statements.create)?, None)
    } else {
        let held = table::prepare_and_hold(&mut control, &address, name, &statements.create)?;
        (held.0, Some(held.1))
    };
    let limits =
        Limits { key_len: found.key_len, value_len: introspection.packet_len - AROUND_VALUE };
    let destination = || Ok(vec![address.place().destination(SCHEME)?]);
    let delay_proxy = network::delay_proxy(SCHEME, config.via, config.timeout.0, destination);
    let ours = OurTable {
        // The entries of a managed server end with it.
        drop_from: (found.is_new && server.is_none()).then(|| address.clone()),
        name: name.clone(),
    };
    let delay_proxy = delay_proxy?;
    if let Some(delay_proxy) =
        delay_proxy.as_ref().and_then(|delay_proxy| delay_proxy.addresses().first())
    {
        address = address.through(*delay_proxy);
    }
    let mut table = Table::new(SCHEME, statements, limits);
    table.may_clear = server.is_some();
    let table = Arc::new(table);
    let address = Arc::new(address);
    let sweeper = Sweeper { rows: MysqlConnection::control(Arc::clone(&address)), hold };
    let shared = Shared {
        expiry: Expiry::start(Arc::clone(&table), sweeper, EXPIRY)?,
        table,
        address,
        n_connections: AtomicU64::new(0),
        ours,
        delay_proxy,
        server,
    };
    let info = shared.describe(url, &config, &introspection);
    Ok(Arc::new(MysqlStore { shared: Arc::new(shared), info }))
}

/// An open server.
#[derive(Debug)]
struct MysqlStore {
    shared: Arc<Shared>,
    info: StoreInfo,
}

/// The state that sessions share. It ends with the last session, in the order of its fields: no thread uses the table
/// any more when it is dropped.
#[derive(Debug)]
pub(super) struct Shared {
    #[expect(dead_code, reason = "works until it is dropped")]
    expiry: Expiry,
    table: Arc<Table>,
    address: Arc<Address>,
    n_connections: AtomicU64,
    ours: OurTable,
    delay_proxy: Option<DelayProxy>,
    server: Option<Server>,
}

/// The store's table. Its drop removes the table, if this store made it, it is empty and no other store uses it.
#[derive(Debug)]
struct OurTable {
    /// `None` where the table existed before, or ends with its server.
    drop_from: Option<Address>,
    name: String,
}

impl Drop for OurTable {
    fn drop(&mut self) {
        if let Some(address) = self.drop_from.take() {
            let mut control = MysqlConnection::control(Arc::new(address));
            // There is no caller left to report a failure to, and an empty table does no harm.
            let now_ms = i64::try_from(Clock::system().now_ms()).unwrap_or(i64::MAX);
            let _ = table::drop_if_unused(&mut control, &self.name, now_ms);
        }
    }
}

impl Shared {
    /// The address of the server.
    pub(super) fn address(&self) -> &Arc<Address> {
        &self.address
    }

    pub(super) fn count_connection(&self) {
        self.n_connections.fetch_add(1, Ordering::Relaxed);
    }

    fn describe(
        &self,
        url: &StoreUrl,
        config: &MysqlConfig,
        introspection: &Introspection,
    ) -> StoreInfo {
        let mut settings = introspection.settings();
        settings.insert("tls".into(), if introspection.is_encrypted { "on" } else { "off" }.into());
        settings.insert("namespace".into(), config.namespace.clone());
        settings.extend(network::delay_proxy_settings(config.via, self.delay_proxy.as_ref()));
        let data_paths: Vec<_> = self.server.iter().map(managed::tables).collect();
        let file_system = data_paths.first().and_then(|path| disk::file_system(path).ok());
        // A sync to memory survives no more than the page cache does.
        let in_memory = file_system.as_ref().is_some_and(FileSystem::is_memory);
        let is_managed = self.server.is_some();
        StoreInfo {
            scheme: SCHEME,
            url: url.to_string(),
            version: introspection.version(),
            settings,
            durability: if in_memory { Durability::OsCache } else { introspection.durability() },
            ownership: if is_managed { Ownership::Managed } else { Ownership::External },
            server_pids: match &self.server {
                Some(server) => vec![server.pid()],
                None => introspection.pid(&self.address).into_iter().collect(),
            },
            addresses: vec![self.address.reached_at()],
            data_paths,
            file_system,
        }
    }
}

impl Store for MysqlStore {
    fn info(&self) -> StoreInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let Shared { table, address, server, .. } = &*self.shared;
        Capabilities {
            persistent: server.is_none(),
            evicts: false,
            reach: if address.is_unix() { Reach::Host } else { Reach::Network },
            ..table.capabilities()
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let connection = MysqlConnection::of_session(Arc::clone(&self.shared));
        Ok(Box::new(SqlSession::new(Arc::clone(&self.shared.table), connection)))
    }

    fn close(&self) -> Result<()> {
        end_all(&self.shared.server)
    }

    fn stats(&self) -> Result<Stats> {
        let Shared { table, address, n_connections, ours, .. } = &*self.shared;
        let mut control = MysqlConnection::control(Arc::clone(address));
        let mut stats = table.stats(&mut control)?;
        stats.bytes = table::n_bytes(&mut control, &ours.name)?;
        stats.connections = Some(n_connections.load(Ordering::Relaxed));
        Ok(stats)
    }
}
