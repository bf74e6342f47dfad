//! The operations of a process on its stack. A failed one tells nothing, or that it is not done.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_store::{
    ChannelKind, Error, Leased, Result, Session, SetOptions, SetOutcome, Store, StoreUrl,
};
use larder_tiers::{Config, LoadOptions, Loaded, Tiers, TiersSession};

use super::job::{Job, TTL, Work};

/// The keys that a read has found, the writes of their values, and whether they are stale.
pub(crate) type Reads = Vec<(u32, u64, bool)>;

/// The time for which a lease is taken, and for which a caller waits for another one's load.
const PATIENCE: Duration = Duration::from_secs(1);

/// The TTL of a loaded value, longer than a write stays unseen in a control.
const LONG: Duration = Duration::from_mins(1);

/// The time for which a stale value is kept.
const KEPT: Duration = Duration::from_mins(1);

/// An open stack, for one thread.
pub(crate) enum Operations {
    /// As any store.
    Any(Box<dyn Session>),
    /// With loads.
    Loading(Box<TiersSession>),
}

fn open(url: &StoreUrl) -> Result<Arc<dyn Store>> {
    ENGINES.open(url)
}

/// The stack of a URL, for its loads.
fn tiers(url: &StoreUrl) -> Result<Tiers> {
    let mut config: Config = url.options("tiered")?;
    let stores = url.tiers().iter().map(open).collect::<Result<_>>()?;
    let Some(channel) = config.channel.take() else { return Tiers::new(stores, &config) };
    let server = open(&StoreUrl::parse(&channel)?)?;
    let channel = server.channel(ChannelKind::Named(&config.channel_name))?;
    Tiers::with_channel(stores, &config, channel)
}

fn name(key: u32) -> Vec<u8> {
    format!("k{key}").into_bytes()
}

/// The write of a value. Zero is the number of no write, so the judge finds a value that nobody wrote.
fn write_of(value: &[u8]) -> u64 {
    str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

impl Operations {
    pub(crate) fn open(job: &Job) -> Self {
        let url = StoreUrl::parse(&job.url).unwrap();
        let begun = Instant::now();
        loop {
            match Self::try_open(&url, job.work) {
                Ok(operations) => return operations,
                // Its servers are cut off just now.
                Err(error) => assert!(begun.elapsed() < larder_testkit::PATIENCE, "{error}"),
            }
            sleep(Duration::from_millis(50));
        }
    }

    fn try_open(url: &StoreUrl, work: Work) -> Result<Self> {
        Ok(match work {
            Work::Loads => Self::Loading(Box::new(tiers(url)?.open_session()?)),
            _ => Self::Any(open(url)?.session()?),
        })
    }

    fn session(&mut self) -> &mut dyn Session {
        match self {
            Self::Any(session) => &mut **session,
            Self::Loading(session) => &mut **session,
        }
    }

    /// Stores the number of a write; `true` where it is stored.
    pub(crate) fn set(&mut self, key: u32, write: u64, ttl: Option<Duration>) -> bool {
        let options = SetOptions { ttl, ..SetOptions::default() };
        let stored = self.session().set(&name(key), write.to_string().as_bytes(), &options);
        stored.is_ok_and(SetOutcome::is_stored)
    }

    pub(crate) fn delete(&mut self, key: u32) -> bool {
        self.session().delete(&name(key)).is_ok()
    }

    pub(crate) fn expire(&mut self, key: u32) -> bool {
        let leases = self.session().leases().expect("the lowest tier has leases");
        leases.expire(&name(key), Some(KEPT)).is_ok()
    }

    pub(crate) fn settle(&mut self) -> bool {
        self.session().settle().is_ok()
    }

    pub(crate) fn get(&mut self, key: u32) -> Reads {
        let mut value = Vec::new();
        let found = self.session().get(&name(key), &mut value).ok().flatten();
        found.map(|meta| (key, write_of(&value), meta.stale)).into_iter().collect()
    }

    pub(crate) fn get_many(&mut self, keys: &[u32]) -> Reads {
        let names: Vec<Vec<u8>> = keys.iter().copied().map(name).collect();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let mut found = Vec::new();
        // Those before an error are answers.
        let _ = self.session().get_many(&names, &mut |i, value, meta| {
            found.push((keys[i], write_of(value), meta.stale));
        });
        found
    }

    /// Asks for a value or a lease, and gives the lease back.
    pub(crate) fn lease(&mut self, key: u32) -> Reads {
        let (name, mut value) = (name(key), Vec::new());
        let leases = self.session().leases().expect("the lowest tier has leases");
        let Ok(leased) = leases.get_or_lease(&name, &mut value, PATIENCE) else {
            return Vec::new();
        };
        let is_stale = match leased {
            Leased::Hit(meta) => Some(meta.stale),
            Leased::Load { token, stale } => {
                // If this fails, the lease ends with its time.
                let _ = leases.release(&name, &token);
                stale.map(|_| true)
            }
            Leased::Wait { stale } => stale.map(|_| true),
        };
        is_stale.map(|is_stale| (key, write_of(&value), is_stale)).into_iter().collect()
    }

    /// Reads a key, and loads it where it is absent. The loader gives the newest write of the key, zero where there is none,
    /// or fails.
    pub(crate) fn load(&mut self, key: u32, loader: impl FnOnce() -> Option<u64>) -> Reads {
        let Self::Loading(session) = self else { return self.get(key) };
        let options = LoadOptions {
            ttl: Some(if key % 4 == 3 { TTL } else { LONG }),
            wait: PATIENCE,
            lease: PATIENCE,
            ..LoadOptions::default()
        };
        let load = |value: &mut Vec<u8>| match loader() {
            None => {
                let what = "told to fail".to_owned();
                Err(Error::Unavailable { engine: "loader", what, source: None })
            }
            Some(0) => Ok(Loaded::Absent),
            Some(write) => {
                value.extend_from_slice(write.to_string().as_bytes());
                Ok(Loaded::Value)
            }
        };
        let mut value = Vec::new();
        let answer = session.get_or_load(&name(key), &mut value, &options, load).ok().flatten();
        answer.map(|answer| (key, write_of(&value), answer.stale)).into_iter().collect()
    }
}
