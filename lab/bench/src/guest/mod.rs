//! Guests: caches that live inside another language, which only a program in that language can measure.
//!
//! An ordinary [`Engine`] inside a `Cache` describes a guest, so that lists, documentation, options and the contract
//! suite treat it like any other engine. Only the work differs: a turn is written down as a plan. A program of the
//! guest's `Language` carries out the plan with its own client and clock. Its records come back, are checked against
//! the plan. `docs/guests.md` is the contract between both sides.

mod block;
mod executor;
mod files;
mod go;
mod interpreter;
mod java;
mod judge;
mod library;
mod node;
mod options;
mod patience;
mod perl;
mod php;
mod process;
pub mod protocol;
mod python;
mod readback;
mod records;
mod reply;
mod result;
mod ruby;
mod script;
mod session;
mod store;
mod tier;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use larder_store::{Durability, Engine, Guest, Reach, Recipe, Result, StoreUrl};
use serde_json::Value;

pub(crate) use executor::GuestExecutor;
pub(crate) use interpreter::INTERPRETER;
use interpreter::Interpreter;
pub(crate) use script::{memory_bytes, plan_bytes};
use store::PartFile;
pub(crate) use store::{Demand, GuestStore};

/// The longest silence of a guest before it counts as hanging.
const SILENCE: Duration = Duration::from_secs(30);

/// The program that `prepare` of a compiled language leaves in the folder of its sources. It is started in place of the
/// interpreter, which has compiled it.
const COMPILED: &str = "compiled";

/// A language that guests are written in.
#[derive(Debug)]
pub(crate) struct Language {
    /// Its name, as reports show it.
    pub(crate) name: &'static str,
    /// The interpreter and its package. Where it is missing, an interpreter among the engine's recipes is used.
    interpreter: Recipe,
    /// The arguments of the interpreter, before the folder of `open.json`.
    arguments: fn(&Launch<'_>) -> Vec<OsString>,
    /// Prepares the program for this interpreter and the engine of this scheme, once its files are in this folder.
    prepare: fn(&'static str, &Path, &Interpreter) -> Result<()>,
    /// All files of its program, with their paths.
    program: &'static [(&'static str, &'static [u8])],
    /// The most memory of its program in bytes, for a plan of this many bytes; 0 where it takes no more than the plan.
    memory_bytes: fn(u64) -> u64,
    /// The longest silence of its program.
    silence: Duration,
    /// Whether all sessions of a store speak to one program, because it takes long to start.
    is_shared: bool,
}

impl Language {
    /// Whether a folder has every source of the program as this Larder has it. `setup.sh` keeps the sources that it has
    /// compiled, so this is whether its program can be used. Their text is compared and not their age, because another
    /// version of Larder may have run the set-up.
    fn has_sources_in(&self, folder: &Path) -> bool {
        let is_same = |(name, text): &(&str, &[u8])| {
            fs::read(folder.join(name)).is_ok_and(|found| found == *text)
        };
        self.program.iter().all(is_same)
    }
}

/// The circumstances of a program's start.
#[derive(Debug, Clone, Copy)]
struct Launch<'a> {
    /// The folder that its files lie in.
    home: &'a Path,
    /// The cache, or the tiers of a stack from the nearest on.
    parts: &'a [PartFile<'a>],
    /// The most memory that its task takes, in bytes.
    plan_bytes: u64,
}

/// Prepares nothing, for a language whose interpreter reads the sources.
#[expect(clippy::unnecessary_wraps, reason = "others may fail")]
fn as_it_is(_: &'static str, _: &Path, _: &Interpreter) -> Result<()> {
    Ok(())
}

/// The memory of a program that takes no more than its written plan.
fn as_the_plan(_: u64) -> u64 {
    0
}

/// One cache of a language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cache {
    /// Its engine in the catalog.
    pub(crate) engine: Engine,
    pub(crate) language: &'static Language,
    /// Its name in the program, which is the part behind the `+` of its scheme.
    name: &'static str,
    keeps: Keeps,
    can: Abilities,
    /// Its options for the program, from the scheme and a URL without other options.
    options: fn(&'static str, &StoreUrl) -> Result<Value>,
}

/// The place of a cache's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Nowhere: a get replays the latest set.
    Nothing,
    /// In the memory of its program. They end with it, so all sessions speak to one program.
    Memory {
        /// Whether its forked processes share the entries.
        shared: bool,
    },
    /// In files, in a folder that Larder makes for it.
    Files,
    /// In files, and some entries also in the memory of its program, to which all sessions speak.
    FilesAndMemory,
    /// On the servers of an engine of the catalog, which opens and watches them.
    Servers {
        /// The engine.
        scheme: &'static str,
        /// The settings of that engine's own client, which are not settings of the servers.
        of_client: &'static [&'static str],
        /// The servers' settings, and options for that engine, that a client must follow to work on existing entries. A
        /// client that follows any also gets user and password.
        follows: &'static [&'static str],
        /// Whether that engine finds the limits, and the guest's client only confirms them. This is for a client that
        /// loses its connection with every refused value, and needs seconds for the next one.
        limits: bool,
        /// Whether the servers count requests themselves. Otherwise their engine counts its own requests, and no
        /// request of a guest.
        count: bool,
    },
    /// In caches of the same language, one behind the other.
    Tiers,
}

impl Keeps {
    /// Whether entries are in the memory of the program, and end with it.
    const fn in_memory(self) -> bool {
        matches!(self, Self::Memory { .. } | Self::FilesAndMemory)
    }
}

/// The abilities of a cache. For a cache on servers, the servers decide the rest; for tiers, the tiers decide all.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
struct Abilities {
    /// A TTL for each value.
    ttl: bool,
    /// The step of its TTLs.
    ttl_resolution: Duration,
    touch: bool,
    /// One request for many keys.
    batch: bool,
    /// Makes room by dropping entries.
    evicts: bool,
    reach: Reach,
    durability: Durability,
    /// The setting with the most bytes of a key and its value together; `None` where the cache has no such limit.
    bound: Option<&'static str>,
    /// For a cache in files, the option with the bytes that it should hold; `None` for a cache without a limit.
    size: Option<&'static str>,
    /// The settings whose product is its real capacity in bytes; empty where the option itself is the capacity.
    takes: &'static [&'static str],
}

/// The caches of all languages.
const CACHES: &[&[Cache]] = &[
    perl::CACHES,
    php::CACHES,
    java::CACHES,
    python::CACHES,
    go::CACHES,
    node::CACHES,
    ruby::CACHES,
    #[cfg(test)]
    tests::CACHES,
];

const COUNT: usize = {
    let (mut count, mut language) = (0, 0);
    while language < CACHES.len() {
        count += CACHES[language].len();
        language += 1;
    }
    count
};

/// The guests, in the order of the documentation, for [`Catalog::with_guests`](larder_store::Catalog::with_guests).
pub const GUESTS: &[Guest] = &{
    let mut guests = [CACHES[0][0].listed(); COUNT];
    let (mut at, mut language) = (0, 0);
    while language < CACHES.len() {
        let mut cache = 0;
        while cache < CACHES[language].len() {
            guests[at] = CACHES[language][cache].listed();
            at += 1;
            cache += 1;
        }
        language += 1;
    }
    guests
};

/// The guest with this scheme; `None` where the engine works in this process.
pub(crate) fn find(scheme: &str) -> Option<&'static Cache> {
    let mut caches = CACHES.iter().copied().flatten();
    caches.find(|cache| cache.engine.scheme == scheme || cache.engine.aliases.contains(&scheme))
}

impl Cache {
    /// Its entry in the catalog.
    const fn listed(&self) -> Guest {
        let (servers, size_option) = match self.keeps {
            Keeps::Nothing | Keeps::Tiers => (None, None),
            Keeps::Memory { .. } => (None, self.engine.capacity_option),
            Keeps::Files | Keeps::FilesAndMemory => (None, self.can.size),
            Keeps::Servers { scheme, .. } => (Some(scheme), None),
        };
        Guest {
            engine: self.engine,
            language: self.language.name,
            servers,
            size_option,
            in_memory: self.keeps.in_memory() || self.can.bound.is_some(),
        }
    }

    /// The cache that a URL asks for, where an option decides about the abilities of a cache.
    fn chosen(&'static self, url: &StoreUrl) -> &'static Self {
        php::chosen(self, url)
    }

    /// The tiers of a URL, from the nearest on: each a cache of the same language.
    fn tiers(&self, url: &StoreUrl) -> Result<Vec<(&'static Self, StoreUrl)>> {
        if url.tiers().is_empty() {
            return Err(larder_store::Error::InvalidUrl {
                url: url.to_string(),
                reason: format!("no tiers; write `{}`", self.engine.example),
            });
        }
        url.tiers().iter().map(|tier| self.tier(tier.clone())).collect()
    }

    /// The URL of a tier may leave out the language, because all tiers have the same.
    fn tier(&self, url: StoreUrl) -> Result<(&'static Self, StoreUrl)> {
        if url.option(INTERPRETER).is_some() {
            return Err(larder_store::Error::InvalidOptions {
                engine: self.engine.scheme,
                reason: format!(
                    "option `{INTERPRETER}`: one program runs all tiers; write the option behind the last tier, \
                     `…|?{INTERPRETER}=PATH`"
                ),
            });
        }
        let scheme = self.listed().scheme_of(url.scheme());
        let own = |cache: &&'static Self| !matches!(cache.keeps, Keeps::Tiers | Keeps::Nothing);
        let cache = find(&scheme).filter(own).ok_or_else(|| {
            let known = CACHES.iter().copied().flatten();
            let known =
                known.filter(|cache| cache.language.name == self.language.name && own(cache));
            let known: Vec<&str> = known.map(|cache| cache.name).collect();
            larder_store::Error::InvalidOptions {
                engine: self.engine.scheme,
                reason: format!(
                    "`{}:` cannot be a tier of {}; known: {}",
                    url.scheme(),
                    self.language.name,
                    known.join(", ")
                ),
            }
        })?;
        Ok((cache.chosen(&url), url))
    }
}

#[cfg(test)]
mod tests;
