//! One cache of a guest: the whole guest, or one of its tiers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use larder_host::disk;
use larder_host::managed::random_password;
use larder_host::place::Place;
use larder_store::{
    Capabilities, Catalog, Durability, Engine, Error, Mount, Ownership, Result, Stats, Store,
    StoreInfo, StoreUrl,
};
use serde::Serialize;
use serde_json::Value;

use super::store::{Demand, ownership};
use super::{Cache, Keeps, library};

/// The option with the bytes that a cache in files should hold. Pages and buckets that one key may fill can take more.
pub(super) const SIZE: &str = "size";

/// The option that mounts a file system for a cache in files, in languages that have this option. The file system is
/// mounted here, and the option is not passed to programs.
const MOUNT: &str = "mount";

/// The user of a server that is started for a client.
const USER: &str = "larder";

/// The options with which a client does not wait for the answer to a set.
const NO_WAIT: [&str; 2] = ["nowait", "noreply"];

/// MongoDB's option for the number of servers that must have a write before it is acknowledged. With `0` a client waits
/// for no server.
const ACKNOWLEDGED_BY: &str = "w";

/// One cache of a guest.
#[derive(Debug)]
pub(super) struct GuestCache {
    pub(super) cache: &'static Cache,
    pub(super) options: Value,
    /// The file of Larder's own library, for a cache that is called by it.
    pub(super) library: Option<PathBuf>,
    /// The place of its files.
    place: Option<Place>,
    /// The servers that it speaks to.
    servers: Option<Arc<dyn Store>>,
    /// The settings that its client must know.
    access: ServerAccess,
}

/// The knowledge of servers that a client needs beyond their addresses: settings to follow, and credentials. Only its
/// own program gets it.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub(super) struct ServerAccess(BTreeMap<&'static str, String>);

impl ServerAccess {
    /// No settings and no credentials.
    pub(super) const NONE: Self = Self(BTreeMap::new());

    /// The values of these names in a URL, or else in the servers' settings. With any: its user and password.
    fn of(follows: &[&'static str], url: &StoreUrl, servers: &StoreInfo) -> Self {
        let told = |name: &str| url.option(name).or(servers.settings.get(name).map(String::as_str));
        let known = follows.iter().map(|name| (*name, told(name)));
        let login = [("user", url.user()), ("password", url.password())];
        let login = login.into_iter().filter(|_| !follows.is_empty());
        let all = known.chain(login).filter_map(|(name, text)| Some((name, text?.to_owned())));
        Self(all.collect())
    }
}

/// Shows the names only, because a value may be a password.
impl fmt::Debug for ServerAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl GuestCache {
    pub(super) fn open(
        cache: &'static Cache,
        url: &StoreUrl,
        catalog: &Catalog,
        demand: Demand,
    ) -> Result<Self> {
        let engine = &cache.engine;
        let room = demand.room_bytes.map(|room| room.to_string());
        let bounded = |url: StoreUrl, engine: &Engine| match (engine.capacity_option, &room) {
            (Some(option), Some(room)) => url.or_option(option, room),
            _ => url,
        };
        let mut part = Self {
            cache,
            options: Value::Null,
            library: library::of(cache)?,
            place: None,
            servers: None,
            access: ServerAccess::NONE,
        };
        match cache.keeps {
            Keeps::Servers { scheme, follows, .. } => {
                let native = catalog.find(scheme)?;
                known_to_either(engine, native, url)?;
                let own = names(engine);
                let others = names(native);
                let theirs = url.for_engine(scheme, |name| {
                    others.iter().any(|known| known == name)
                        && !own.iter().any(|known| known == name)
                });
                let is_external = catalog.is_external(&theirs);
                let theirs = if is_external { theirs } else { bounded(theirs, native) };
                part.options = (cache.options)(engine.scheme, &cache.own_options(url))?;
                // A server must know the credentials of its client before it is started.
                let theirs = if is_external || follows.is_empty() {
                    theirs
                } else {
                    theirs.or_login(USER, &random_password(engine.scheme)?)
                };
                let servers = native.open_store(&theirs, catalog)?;
                part.access = ServerAccess::of(follows, &theirs, &servers.info());
                part.servers = Some(servers);
            }
            Keeps::Files | Keeps::FilesAndMemory => {
                let url = match &room {
                    Some(room) if names(engine).iter().any(|name| name == SIZE) => {
                        url.clone().or_option(SIZE, room)
                    }
                    _ => url.clone(),
                };
                let url = url.in_scratch();
                part.options = (cache.options)(engine.scheme, &url)?;
                let path = Path::new(url.path());
                if !url.path().is_empty() && !path.is_dir() {
                    let path = path.display();
                    let what = format!("there is no folder {path}; make it or name another");
                    return Err(Error::Unavailable { engine: engine.scheme, what, source: None });
                }
                part.place = Some(Place::on(engine.scheme, &url, mount(engine, &url)?)?);
            }
            Keeps::Memory { .. } => {
                part.options = (cache.options)(engine.scheme, &bounded(url.clone(), engine))?;
            }
            Keeps::Nothing | Keeps::Tiers => part.options = (cache.options)(engine.scheme, url)?,
        }
        Ok(part)
    }

    /// The folder of its files.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.place.as_ref().map(Place::path)
    }

    /// The servers, opened by their engine.
    pub(super) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.servers.as_ref()
    }

    /// The addresses of its servers.
    pub(super) fn servers(&self) -> Vec<String> {
        self.servers.as_ref().map(|servers| servers.info().addresses).unwrap_or_default()
    }

    /// The settings of its servers that its client must know.
    pub(super) fn access(&self) -> &ServerAccess {
        &self.access
    }

    /// Its capabilities, as far as a guest needs them.
    pub(super) fn capabilities(&self) -> Capabilities {
        let can = self.cache.can;
        let own = Capabilities {
            stores: self.cache.keeps != Keeps::Nothing,
            ttl: can.ttl,
            ttl_resolution: can.ttl_resolution,
            touch: can.touch,
            batch: can.batch,
            clear: true,
            evicts: can.evicts,
            reach: can.reach,
            ..Capabilities::default()
        };
        match &self.servers {
            None => own,
            Some(servers) => {
                let Capabilities { clear, evicts, reach, max_key_len, max_value_len, .. } =
                    servers.capabilities();
                Capabilities { clear, evicts, reach, max_key_len, max_value_len, ..own }
            }
        }
    }

    /// Counters, where they are known.
    pub(super) fn stats(&self) -> Result<Stats> {
        let mut stats = match &self.servers {
            Some(servers) => servers.stats()?,
            None => Stats::default(),
        };
        // These connections are those of this process's sessions. A guest reports its own connections.
        stats.connections = None;
        if matches!(self.cache.keeps, Keeps::Servers { count: false, .. }) {
            let Stats { evictions, expirations, items, bytes, capacity_bytes, .. } = stats;
            stats = Stats::default();
            stats.evictions = evictions;
            stats.expirations = expirations;
            stats.items = items;
            stats.bytes = bytes;
            stats.capacity_bytes = capacity_bytes;
        }
        if self.servers.is_none() {
            let option = self.cache.engine.capacity_option.unwrap_or(SIZE);
            let size = self.options.get(option).and_then(Value::as_u64);
            stats.capacity_bytes = size.into_iter().chain(self.mounted_bytes()).min();
        }
        Ok(stats)
    }

    /// The size of the file system that was mounted for it.
    pub(super) fn mounted_bytes(&self) -> Option<u64> {
        self.place.as_ref().and_then(Place::limit_bytes)
    }

    /// Removes all entries.
    pub(super) fn clear(&self) -> Result<()> {
        if let Some(servers) = &self.servers {
            servers.session()?.clear()?;
        }
        let Some(folder) = self.folder() else { return Ok(()) };
        let failed = |error| disk::io_error(self.cache.engine.scheme, "emptying", folder, error);
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
            if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Whether its servers are external.
    pub(super) fn is_somebodys(&self) -> bool {
        let ownership = self.servers.as_ref().map(|servers| servers.info().ownership);
        ownership == Some(Ownership::External)
    }

    /// The durability of an acknowledged value.
    pub(super) fn durability(&self) -> Durability {
        let is_on = |name: &str| self.options.get(name) == Some(&Value::Bool(true));
        let by_none = self.options.get(ACKNOWLEDGED_BY).is_some_and(|number| number == "0");
        match &self.servers {
            _ if by_none || NO_WAIT.into_iter().any(is_on) => Durability::Unacknowledged,
            Some(servers) => servers.info().durability,
            None => self.cache.can.durability,
        }
    }

    /// The settings of its servers, without those of the engine's own client; or its mounted file system.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let Some(servers) = &self.servers else {
            let mounted = self.place.as_ref().and_then(Place::mount);
            return mounted.map(|mount| (MOUNT.into(), mount.to_string())).into_iter().collect();
        };
        let clients = match self.cache.keeps {
            Keeps::Servers { of_client, .. } => of_client,
            _ => &[],
        };
        let mut settings = servers.info().settings;
        settings.retain(|name, _| !clients.contains(&name.as_str()));
        settings
    }

    /// Adds its place and its owner.
    pub(super) fn describe(&self, info: &mut StoreInfo) {
        if let Some(servers) = &self.servers {
            let theirs = servers.info();
            info.ownership = ownership(info.ownership, theirs.ownership);
            info.server_pids.extend(theirs.server_pids);
            info.addresses.extend(theirs.addresses);
        }
        if let Some(place) = &self.place {
            info.data_paths.push(place.path().into());
            info.file_system = info.file_system.take().or_else(|| place.file_system());
        }
    }
}

impl Cache {
    /// The URL with the options of this cache only.
    pub(super) fn own_options(&self, url: &StoreUrl) -> StoreUrl {
        match self.keeps {
            Keeps::Servers { .. } => {
                let own = names(&self.engine);
                url.for_engine(url.scheme(), |name| own.iter().any(|known| known == name))
            }
            _ => url.clone(),
        }
    }
}

/// The file system to be mounted for a cache in files.
fn mount(engine: &Engine, url: &StoreUrl) -> Result<Option<Mount>> {
    let asked = url.option(MOUNT).map(str::parse).transpose();
    asked.map_err(|reason: String| Error::InvalidOptions {
        engine: engine.scheme,
        reason: format!("option `{MOUNT}`: {reason}"),
    })
}

/// Refuses an option that neither the guest nor the engine of its servers knows, and lists the known options.
fn known_to_either(guest: &Engine, servers: &Engine, url: &StoreUrl) -> Result<()> {
    let known = [names(guest), names(servers)].concat();
    match url.option_names().find(|name| !known.iter().any(|known| known == name)) {
        None => Ok(()),
        Some(unknown) => Err(Error::InvalidOptions {
            engine: guest.scheme,
            reason: format!(
                "unknown option `{unknown}`; known: {}; and of {}: {}",
                names(guest).join(", "),
                servers.scheme,
                names(servers).join(", ")
            ),
        }),
    }
}

fn names(engine: &Engine) -> Vec<String> {
    engine.option_docs().into_iter().map(|option| option.name).collect()
}
