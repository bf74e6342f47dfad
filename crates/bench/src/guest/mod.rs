//! Guests: caches that live inside another language, which only a program in that language can measure.
//!
//! A guest is described by an ordinary [`Engine`] inside a `Cache`, so that lists, documentation, options and the
//! contract suite know it as they know the others. What differs is who does the work: a turn is written down as a plan,
//! a program of the guest's `Language` carries it out with its own client and its own clock, and what it counted comes
//! back and is held against the plan. `docs/guests.md` is the contract between both sides.

mod executor;
mod files;
mod interpreter;
mod java;
mod options;
mod patience;
mod perl;
mod php;
mod process;
pub mod protocol;
mod python;
mod readback;
mod reply;
mod result;
mod script;
mod session;
mod store;
mod tier;
mod wrong;

use std::ffi::OsString;
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

/// How long a guest may say nothing until it is taken to hang.
const SILENCE: Duration = Duration::from_secs(30);

/// A language that guests are written in.
#[derive(Debug)]
pub(crate) struct Language {
    /// Its name, as reports show it.
    pub(crate) name: &'static str,
    /// Its interpreter, and what brings it. Where it is not there, one that the engine needs does.
    interpreter: Recipe,
    /// The arguments of the interpreter, before the folder of `open.json`.
    arguments: fn(&Launch<'_>) -> Vec<OsString>,
    /// Makes the program ready for this interpreter once its files lie in this folder, for the engine of this scheme.
    prepare: fn(&'static str, &Path, &Interpreter) -> Result<()>,
    /// All files of its program, with their paths.
    program: &'static [(&'static str, &'static [u8])],
    /// The most memory that its program takes, in bytes, for what it is asked to do; 0 where that is no more than what is
    /// written down for it.
    memory_bytes: fn(u64) -> u64,
    /// How long its program may say nothing.
    silence: Duration,
    /// Whether all sessions of a store speak to one program, because it takes long to start.
    is_shared: bool,
}

/// The purpose for which a program is started.
#[derive(Debug, Clone, Copy)]
struct Launch<'a> {
    /// The folder that its files lie in.
    home: &'a Path,
    /// The cache, or the tiers of a stack from the nearest on.
    parts: &'a [PartFile<'a>],
    /// How much memory what it is asked to do takes at most, in bytes.
    plan_bytes: u64,
}

/// For a language whose interpreter reads the program as it is.
#[expect(clippy::unnecessary_wraps, reason = "others may fail")]
fn as_it_is(_: &'static str, _: &Path, _: &Interpreter) -> Result<()> {
    Ok(())
}

/// For a language whose program takes what its plan does.
fn as_the_plan(_: u64) -> u64 {
    0
}

/// One cache of a language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cache {
    /// As the catalog lists it.
    pub(crate) engine: Engine,
    pub(crate) language: &'static Language,
    /// Its name in the program: what stands behind the `+` of its scheme.
    name: &'static str,
    keeps: Keeps,
    can: Abilities,
    /// Its options as the program gets them, from the scheme and a URL that has no others.
    options: fn(&'static str, &StoreUrl) -> Result<Value>,
}

/// Where a cache's entries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Nowhere: it replays what was set last.
    Nothing,
    /// In the memory of its program, with which they are gone; so all sessions speak to one program.
    Memory {
        /// Whether the processes that it forks have them in common.
        shared: bool,
    },
    /// In files, in a folder that Larder makes for it.
    Files,
    /// On the servers of an engine of the catalog, which opens them and looks after them.
    Servers {
        /// The engine.
        scheme: &'static str,
        /// Which of its settings are those of its own client, and not the servers'.
        of_client: &'static [&'static str],
        /// Which of their settings, and of the options for that engine, a client must know to work on what is there; with
        /// any it is told how it is let in, too.
        follows: &'static [&'static str],
        /// Whether its limits are those that the engine of the servers finds: a refused value costs its client the connection,
        /// and seconds until it has the next one. They are only confirmed through it.
        limits: bool,
        /// Whether they count themselves what they are asked; otherwise their engine counts what it asks, and nothing of
        /// what a guest does.
        count: bool,
    },
    /// In caches of the same language, one behind the other.
    Tiers,
}

/// The abilities of a cache. Of one that keeps its entries on servers, they decide the rest; of tiers, all of them.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
struct Abilities {
    /// A TTL for each value.
    ttl: bool,
    /// In steps of this.
    ttl_resolution: Duration,
    touch: bool,
    /// One request for many keys.
    batch: bool,
    /// Makes room by dropping entries.
    evicts: bool,
    reach: Reach,
    durability: Durability,
    /// The setting that says, in bytes, what a key and its value may take together; `None` where they have no such bound.
    bound: Option<&'static str>,
    /// Of one in files, the option that says what it should hold; `None` where nothing bounds it.
    size: Option<&'static str>,
    /// The settings that tell, in bytes, what it may really take, one times the other; none where its option does.
    takes: &'static [&'static str],
}

/// The caches of all languages.
const CACHES: &[&[Cache]] = &[
    perl::CACHES,
    php::CACHES,
    java::CACHES,
    python::CACHES,
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

/// The guests, in the order of the documentation: what [`Catalog::with_guests`](larder_store::Catalog::with_guests) takes.
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
    CACHES.iter().copied().flatten().find(|cache| cache.engine.scheme == scheme)
}

impl Cache {
    /// Its entry in the catalog.
    const fn listed(&self) -> Guest {
        let (servers, size_option) = match self.keeps {
            Keeps::Nothing | Keeps::Tiers => (None, None),
            Keeps::Memory { .. } => (None, self.engine.capacity_option),
            Keeps::Files => (None, self.can.size),
            Keeps::Servers { scheme, .. } => (Some(scheme), None),
        };
        Guest {
            engine: self.engine,
            language: self.language.name,
            servers,
            size_option,
            in_memory: matches!(self.keeps, Keeps::Memory { .. }) || self.can.bound.is_some(),
        }
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

    /// A tier may leave out the language, which is that of the whole.
    fn tier(&self, url: StoreUrl) -> Result<(&'static Self, StoreUrl)> {
        if url.option(INTERPRETER).is_some() {
            return Err(larder_store::Error::InvalidOptions {
                engine: self.engine.scheme,
                reason: format!(
                    "option `{INTERPRETER}`: one program has all tiers; write it behind the last tier, `…|?{INTERPRETER}=PATH`"
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
                    "`{}:` is no tier of {}; known: {}",
                    url.scheme(),
                    self.language.name,
                    known.join(", ")
                ),
            }
        })?;
        Ok((cache, url))
    }
}

#[cfg(test)]
mod tests;
