//! Starts `larder serve`, Larder's own server, over the store of the option `store`.
//!
//! The server runs as this user, because it opens the store as this process would: with this user's files and
//! libraries. A store of files without a path lies in a directory that vanishes with the server. A comparison asks for
//! the same where the store has a path. A watchdog of this process removes the directory if this process is killed. A
//! database behind the server has a directory and a watchdog of the server's own.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use larder_host::managed::{self, Server};
use larder_host::place::Place;
use larder_host::scratch::ScratchDir;
use larder_store::{Catalog, Engine, Error, Medium, OptionDoc, Result, StoreUrl, option_docs};

use super::address::Node;
use super::config::{MemcachedConfig, MemcachedProgram, schema};
use super::managed::{Started, place_in_pool, socket_node};
use super::{ENGINE, LARDER, SCHEME, introspection, store_probe};
use crate::network;

/// The longest start. The store behind the server may be a database, whose start takes seconds.
const START: Duration = Duration::from_mins(1);

/// The file of the server's output, in its directory.
const LOG: &str = "server.log";

/// The beginning of the line that names the address at which the server listens.
const SERVING: &str = "larder: serving ";

/// The engine whose file without a path lies in shared memory, and that folder.
const SHARED: (&str, &str) = ("mmap", "/dev/shm");

/// Starts as many servers as the options ask for, each over a store of its own, and waits until they answer.
pub(super) fn start(
    config: &MemcachedConfig,
    url: &StoreUrl,
    catalog: &Catalog,
) -> Result<Started> {
    let store = ServedStore::of(config, url.is_scratch(), catalog)?;
    let program = managed::find(SCHEME, &LARDER)?;
    let mut started = Started::default();
    for _ in 0..config.nodes {
        let url = store.place(&mut started)?;
        started.servers.push(launch(&program, config, &url)?);
    }
    for (server, number) in started.servers.iter_mut().zip(0..) {
        let directory = server.directory().to_owned();
        let mut node = server.answer(START, || {
            let port = port(&fs::read_to_string(directory.join(LOG)).ok()?);
            let node = if config.socket {
                socket_node(&directory)
            } else {
                Node::tcp(&Ipv4Addr::LOCALHOST.to_string(), port?, None).ok()?
            };
            introspection::answers(&Arc::new(node.clone()), config.timeout.0).then_some(node)
        })?;
        place_in_pool(&mut node, number);
        started.nodes.push(node);
    }
    if let Some(first) = started.nodes.first() {
        started.store_abilities =
            Some(store_probe::of(&Arc::new(first.clone()), config.timeout.0)?);
    }
    Ok(started)
}

fn launch(program: &Path, config: &MemcachedConfig, url: &str) -> Result<Server> {
    let directory = ScratchDir::create(SCHEME)?;
    let mut command = Command::new(program);
    command
        .args(["serve", url])
        .args(["-t", &config.server_threads.to_string()])
        .args(["-I", &config.item_size.0.to_string()]);
    if let Some(connections) = config.max_connections {
        command.args(["-c", &connections.to_string()]);
    }
    if config.socket {
        command.arg("-s").arg(network::socket_path(SCHEME, directory.path())?);
    } else {
        // Port 0 is any free one.
        command.args(["-l", "127.0.0.1", "-p", "0"]);
    }
    Server::start(SCHEME, command, directory, None)
}

/// The port in the server's output, as in `larder: serving memory: on 127.0.0.1:34879`. A line without its end may have
/// only the beginning of a port.
fn port(output: &str) -> Option<u16> {
    let mut lines = output.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let line = lines.find_map(|line| line.strip_prefix(SERVING))?;
    line.rsplit_once(':')?.1.parse().ok()
}

/// The options of a URL that the store behind the server has, and a client of memcached has not.
pub(super) fn options_behind(url: &StoreUrl, catalog: &Catalog) -> Vec<(String, String)> {
    let store = url.option("store").unwrap_or_default();
    let scheme = store.split(':').next().unwrap_or_default();
    let Ok(engine) = catalog.find(scheme) else { return Vec::new() };
    if url.option("server") != Some(MemcachedProgram::Larder.as_str()) {
        return Vec::new();
    }
    let [own, theirs] = [schema(), (engine.options)()].map(|schema| option_docs(&schema));
    let has = |options: &[OptionDoc], name: &str| options.iter().any(|it| it.name == name);
    let names = url.option_names().filter(|name| !has(&own, name) && has(&theirs, name));
    names.filter_map(|name| Some((name.into(), url.option(name)?.into()))).collect()
}

/// The store behind the servers.
#[derive(Debug)]
struct ServedStore<'a> {
    /// Its URL as the server takes it, but for the places of its files.
    text: String,
    url: StoreUrl,
    /// Whether its files vanish even where the URL has a path.
    is_scratch: bool,
    catalog: &'a Catalog,
}

impl<'a> ServedStore<'a> {
    /// The store of the option `store`. A new store has the size of `m`, unless its URL names one.
    fn of(config: &MemcachedConfig, is_scratch: bool, catalog: &'a Catalog) -> Result<Self> {
        let named = |error: Error| refused(&error.to_string());
        let typed = config.store.as_str();
        let mut text = if typed.contains(':') { typed.into() } else { format!("{typed}:") };
        let scheme = text.split(':').next().unwrap_or_default();
        let engine = catalog.find(scheme).map_err(named)?;
        if typed == scheme && engine.medium == Medium::Tiers {
            // A stack has no default, and is opened as its example.
            text = engine.example.into();
        }
        for (name, value) in &config.store_options {
            let url = StoreUrl::parse(&text).map_err(named)?;
            text = format!("{text}{}{name}={}", separator(&text, &url), escaped(value));
        }
        let url = StoreUrl::parse(&text).map_err(named)?;
        let mut behind = Self { text, url, is_scratch, catalog };
        behind.check(config)?;
        // Files that stay keep the size that they have.
        let is_new = !behind.parts().iter().any(|part| behind.is_kept(part));
        let size = catalog.size_option(engine).filter(|name| behind.url.option(name).is_none());
        if let Some(size) = size.filter(|_| is_new) {
            let separator = separator(&behind.text, &behind.url);
            behind.text = format!("{}{separator}{size}={}", behind.text, config.m.0);
        }
        Ok(behind)
    }

    /// The URL itself, or those of its tiers.
    fn parts(&self) -> &[StoreUrl] {
        if self.url.tiers().is_empty() { std::slice::from_ref(&self.url) } else { self.url.tiers() }
    }

    /// Refuses a store that a server of ours should not or cannot serve.
    fn check(&self, config: &MemcachedConfig) -> Result<()> {
        let Self { url, catalog, .. } = self;
        let refuse = |reason: &str| Err(refused(reason));
        if catalog.guest(url.scheme()).is_some() {
            return refuse(&format!(
                "`{url}` is a cache of another language; write memory, mmap, lmdb or file"
            ));
        }
        if StoreUrl::mask(&config.store) != config.store {
            return refuse(&format!("the password in `{url}` would be shown; leave it out"));
        }
        if catalog.is_external(url) {
            return refuse(&format!(
                "`{url}` names a server that larder does not start; run `larder serve` over it and name its address"
            ));
        }
        for part in self.parts() {
            catalog.find(part.scheme()).map_err(|error| refused(&error.to_string()))?;
            let program = part.option("server");
            if ENGINE.means(part.scheme()) && program == Some(MemcachedProgram::Larder.as_str()) {
                return refuse(&format!(
                    "`{url}` is another `larder serve`; write the store behind that one, such as `mmap`"
                ));
            }
            if self.is_kept(part) && config.nodes > 1 {
                let (path, nodes) = (part.path(), config.nodes);
                return refuse(&format!(
                    "{nodes} servers would share {path}; leave out the path, or `nodes`"
                ));
            }
        }
        Ok(())
    }

    /// Whether a part has files at the path of its URL that stay.
    fn is_kept(&self, part: &StoreUrl) -> bool {
        let has_files = self.catalog.find(part.scheme()).is_ok_and(keeps_files);
        has_files && !part.path().is_empty() && !self.is_scratch
    }

    /// The URL for one server. Its files get their places, which `started` keeps.
    fn place(&self, started: &mut Started) -> Result<String> {
        if self.url.tiers().is_empty() {
            return self.place_part(&self.text, &self.url, started);
        }
        let (scheme, rest) = self.text.split_once(':').unwrap_or_default();
        let mut tiers = self.url.tiers().iter();
        // Behind the tiers stand the options of the stack.
        let parts = rest.split('|').map(|part| match tiers.next() {
            Some(tier) => self.place_part(part, tier, started),
            None => Ok(part.into()),
        });
        Ok(format!("{scheme}:{}", parts.collect::<Result<Vec<String>>>()?.join("|")))
    }

    fn place_part(&self, text: &str, part: &StoreUrl, started: &mut Started) -> Result<String> {
        let engine = self.catalog.find(part.scheme())?;
        if !keeps_files(engine) {
            return Ok(text.into());
        }
        let path = if self.is_kept(part) {
            // The server works in a directory of its own, where a relative path means another file.
            let path = std::path::absolute(part.path()).unwrap_or_else(|_| part.path().into());
            started.data.push(path.clone());
            path
        } else {
            let place = place(engine.scheme, part)?;
            let path = place.path().join("store");
            started.data.push(place.path().into());
            started.places.push(place);
            path
        };
        let (scheme, rest) = text.split_once(':').unwrap_or_default();
        let query = rest.split_once('?').map_or_else(String::new, |(_, query)| format!("?{query}"));
        Ok(format!("{scheme}:{}{query}", encoded(&path)))
    }
}

/// Whether an engine keeps its entries in files at the path of its URL.
fn keeps_files(engine: &Engine) -> bool {
    engine.medium == Medium::Files && !engine.has_servers()
}

/// A new directory for a store: where its engine would make one itself.
fn place(scheme: &'static str, url: &StoreUrl) -> Result<Place> {
    let (shared, folder) = (SHARED.0, Path::new(SHARED.1));
    if scheme == shared && url.path().is_empty() && url.hosts().is_empty() && folder.is_dir() {
        return ScratchDir::create_in(scheme, folder).map(Place::Own);
    }
    Place::of(scheme, &url.clone().in_scratch())
}

/// The sign before one more option of a URL. The options of a stack stand behind its tiers.
fn separator(text: &str, url: &StoreUrl) -> &'static str {
    let last = text.rsplit('|').next().unwrap_or_default();
    match (url.tiers().is_empty(), last.contains('?')) {
        (true, false) => "?",
        (false, _) if !last.starts_with('?') => "|?",
        _ => "&",
    }
}

/// A path as a URL has it.
fn encoded(path: &Path) -> String {
    escaped(&path.display().to_string())
}

/// A text as a part of a URL.
fn escaped(plain: &str) -> String {
    let mut text = String::new();
    for letter in plain.chars() {
        match letter {
            '%' => text.push_str("%25"),
            '&' => text.push_str("%26"),
            '?' => text.push_str("%3F"),
            '|' => text.push_str("%7C"),
            other => text.push(other),
        }
    }
    text
}

fn refused(reason: &str) -> Error {
    Error::InvalidOptions { engine: SCHEME, reason: format!("option `store`: {reason}") }
}

#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests {
    use super::*;
    use crate::ENGINES;

    fn behind(url: &StoreUrl) -> Result<ServedStore<'static>> {
        let config = MemcachedConfig::from_url(url, &ENGINES)?;
        ServedStore::of(&config, url.is_scratch(), &ENGINES)
    }

    fn parsed(options: &str) -> StoreUrl {
        StoreUrl::parse(&format!("memcached:?server=larder{options}")).unwrap()
    }

    #[test]
    fn a_store_has_the_size_of_the_servers_memory_unless_it_names_one() {
        for (options, served) in [
            ("", "memory:?size=67108864"),
            ("&store=memory&m=100", "memory:?size=104857600"),
            ("&store=memory:?size=8m", "memory:?size=8m"),
            (
                "&store=memory:?max_key=1k%26namespace=a",
                "memory:?max_key=1k&namespace=a&size=67108864",
            ),
            ("&store=null", "null:"),
            ("&store=lmdb:/tmp/x", "lmdb:/tmp/x"),
            (
                "&store=lmdb:/tmp/x&sync=nosync&checkpoint=5m&timeout=9s",
                "lmdb:/tmp/x?sync=nosync&checkpoint=5m",
            ),
            (
                "&store=lmdb:/tmp/x?size=1m&namespace=a%25%26b",
                "lmdb:/tmp/x?size=1m&namespace=a%25%26b",
            ),
            ("&store=memcached&m=1g", "memcached:?m=1073741824"),
            ("&store=tiered:moka:%7Cmemory:", "tiered:moka:|memory:|?room=67108864"),
            (
                "&store=tiered:moka:%7Cmemory:?size=1m%7C?l1_ttl=1s",
                "tiered:moka:|memory:?size=1m|?l1_ttl=1s&room=67108864",
            ),
        ] {
            let behind = behind(&parsed(options)).unwrap();
            let mut started = Started::default();
            assert_eq!(behind.place(&mut started).unwrap(), served, "{options}");
            assert!(started.places.is_empty(), "{options}");
        }
    }

    #[test]
    fn files_get_a_place_that_vanishes_unless_they_are_to_stay() {
        let folder = ScratchDir::create(SCHEME).unwrap();
        let folder = folder.path();
        let given = format!("&store=lmdb:{}/it?size=1m", folder.display());
        let placed = |url: &StoreUrl| {
            let mut started = Started::default();
            let text = behind(url).unwrap().place(&mut started).unwrap();
            (text, started)
        };
        let (text, started) = placed(&parsed(&given));
        assert_eq!(text, format!("lmdb:{}/it?size=1m", folder.display()));
        assert_eq!((started.data, started.places.len()), (vec![folder.join("it")], 0));

        let (text, started) = placed(&parsed(&given).in_scratch());
        let [place] = &started.places[..] else { panic!("{started:?}") };
        assert_eq!(text, format!("lmdb:{}/store?size=1m", place.path().display()));
        assert_eq!(
            (place.path().parent(), &*started.data),
            (Some(folder), &[place.path().into()][..])
        );

        let (text, started) = placed(&parsed("&store=tiered:mmap:%7Cfile:%7C?l1_ttl=1s"));
        let places: Vec<&Path> = started.places.iter().map(Place::path).collect();
        let [near, far] = places[..] else { panic!("{places:?}") };
        let (near_shown, far_shown) = (near.display(), far.display());
        let wanted = format!(
            "tiered:mmap:{near_shown}/store|file:{far_shown}/store|?l1_ttl=1s&room=67108864"
        );
        assert_eq!((text, started.data.len()), (wanted, 2));
        assert!(near.starts_with(SHARED.1) && far.starts_with(std::env::temp_dir()));

        let percent = Path::new("/tmp/a%b?c|d");
        let url = StoreUrl::parse(&format!("file:{}", encoded(percent))).unwrap();
        assert_eq!(Path::new(url.path()), percent);
    }

    #[test]
    fn a_store_that_cannot_be_served_is_refused_with_a_remedy() {
        for (options, needle) in [
            ("&store=memroy", "option `store`: unknown engine `memroy:`; write `memory:`"),
            ("&store=", "option `store`: unknown engine `:`; known: null: memory:"),
            (
                "&store=memcached:?server=larder",
                "is another `larder serve`; write the store behind",
            ),
            ("&store=tiered:moka:%7Cmemcached:?server=larder", "is another `larder serve`"),
            (
                "&store=memcached://h1",
                "names a server that larder does not start; run `larder serve`",
            ),
            ("&store=redis://me:secret@", "the password in `redis://me:***@` would be shown"),
            ("&store=lmdb:/tmp/x&nodes=2", "2 servers would share /tmp/x; leave out the path, or"),
            ("&store=lmdb:/tmp/x?size=1%26size=2", "given twice"),
        ] {
            let error = behind(&parsed(options)).unwrap_err().to_string();
            assert!(error.contains(needle) && !error.contains("secret"), "{options}: {error}");
        }
        assert!(behind(&parsed("&store=lmdb:/tmp/x&nodes=2").in_scratch()).is_ok());
    }

    #[test]
    fn a_port_is_read_once_its_line_is_whole() {
        let output = "larder: ignored: -v\nlarder: serving lmdb:/a on b:c on 127.0.0.1:34879";
        assert_eq!(port(output), None);
        assert_eq!(port(&format!("{output}\n")), Some(34879));
    }
}
