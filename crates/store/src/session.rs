//! The central contract: stores and sessions.

use std::fmt;
use std::time::Duration;

use crate::{Capabilities, Counter, Error, Groups, Ownership, Result, Stats, StoreInfo, TierStats};

/// An open cache. Shared by all threads; hands out one session to each.
pub trait Store: fmt::Debug + Send + Sync {
    /// The store's description: version and effective settings as read back from the store, durability, whereabouts.
    fn info(&self) -> StoreInfo;

    /// The store's capabilities and limits.
    fn capabilities(&self) -> Capabilities;

    /// A handle for one thread: a connection, a reader slot, prepared statements, scratch buffers.
    ///
    /// A session keeps the parts of the store that it needs alive; it may outlive the `Arc` of the store.
    fn session(&self) -> Result<Box<dyn Session>>;

    /// Counters now. May ask a server.
    fn stats(&self) -> Result<Stats>;

    /// Counters of the servers behind the store that Larder did not start, each pool once; empty without such servers.
    fn external_stats(&self) -> Result<Vec<Stats>> {
        match self.info().ownership {
            Ownership::External => Ok(vec![self.stats()?]),
            _ => Ok(Vec::new()),
        }
    }

    /// Further counters of this engine alone; empty where [`Store::stats`] has all.
    fn counters(&self) -> Result<Vec<Counter>> {
        Ok(Vec::new())
    }

    /// The counters of each tier since the store was opened, the nearest first; empty where the store is no stack.
    fn tiers(&self) -> Vec<TierStats> {
        Vec::new()
    }
}

/// One thread's handle on a store.
///
/// A miss, a lost `add`, a failed compare-and-swap are values. After an error a session stays usable: the next call
/// opens a broken connection again.
pub trait Session: Send {
    /// The scheme of the engine, for messages.
    fn engine(&self) -> &'static str;

    /// Copies the value under `key` into `value`, which is cleared first. `None` is a miss and leaves `value` empty.
    ///
    /// An expired entry is a miss from the moment its TTL has passed (to the engine's resolution).
    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>>;

    /// Looks up many keys and calls `hit(i, value, meta)` for each `keys[i]` that exists, in any order.
    ///
    /// Engines with [`Capabilities::batch`] answer with one request (for each node); the default asks key by key.
    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        let mut value = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            if let Some(meta) = self.get(key, &mut value)? {
                hit(i, &value, meta);
            }
        }
        Ok(())
    }

    /// Stores `value` under `key` in the given mode.
    ///
    /// A value that is refused as too large leaves no older value behind in [`SetMode::Set`]. In the other modes the
    /// older value stays, unless the engine [evicts](crate::Capabilities::evicts): memcached drops it then.
    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome>;

    /// Removes `key`; `false` when it was not there.
    fn delete(&mut self, key: &[u8]) -> Result<bool>;

    /// Gives `key` a new TTL (`None`: for ever); `false` when it is not there.
    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let _ = (key, ttl);
        Err(Error::Unsupported { engine: self.engine(), operation: "touch" })
    }

    /// Adds `delta` to the decimal number under `key` and returns the sum; `None` when the key is not there.
    ///
    /// A negative `delta` stops at 0; an overflow wraps at 2^64: memcached's rules. The TTL stays.
    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        let _ = (key, delta);
        Err(Error::Unsupported { engine: self.engine(), operation: "incr" })
    }

    /// Removes every entry of the store, or of its own namespace.
    ///
    /// On a server that Larder did not start this is [`Error::Unsupported`]: the entries belong to other programs.
    fn clear(&mut self) -> Result<()> {
        Err(Error::Unsupported { engine: self.engine(), operation: "clear" })
    }

    /// Waits until every request has been answered, where the session sends requests without waiting for the answers
    /// ([`Durability::Unacknowledged`](crate::Durability::Unacknowledged)). Until then it is not known whether they
    /// were done, and a measurement shows only how fast a buffer takes bytes.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Reads by prefix and by tag; `None` where the engine has no such reads, as [`Capabilities::groups`] says.
    fn groups(&mut self) -> Option<&mut dyn Groups> {
        None
    }
}

/// The metadata of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meta {
    /// The flags that the entry was set with; 0 where the engine keeps no flags.
    pub flags: u32,
    /// A number that changes with every change of the entry; [`SetMode::Cas`] takes this number.
    pub version: Option<u64>,
    /// The remaining lifetime of the entry.
    pub ttl: Remaining,
}

/// The remaining lifetime of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remaining {
    /// The engine does not report it.
    #[default]
    Unknown,
    /// The entry has no TTL.
    Forever,
    /// This long, at the time of the answer.
    For(Duration),
}

/// The options of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetOptions {
    /// The condition under which the value is stored.
    pub mode: SetMode,
    /// The lifetime of the entry; `None` means for ever. Engines without [`Capabilities::ttl`] refuse `Some`.
    ///
    /// A TTL of zero has passed at once: the key is then absent.
    pub ttl: Option<Duration>,
    /// A number for the client's own use; engines without [`Capabilities::flags`] refuse any number but 0.
    pub flags: u32,
}

/// The condition under which a value is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetMode {
    /// In any case.
    #[default]
    Set,
    /// Only when the key is absent.
    Add,
    /// Only when the key exists.
    Replace,
    /// Only when the key exists with this version.
    Cas(u64),
    /// Behind the existing value, whose flags and TTL stay.
    Append,
    /// Before the existing value, whose flags and TTL stay.
    Prepend,
}

impl SetMode {
    /// The reason why a set in this mode stores nothing, given the version of the existing entry; `None` where
    /// its condition holds.
    pub fn refusal(self, there: Option<u64>) -> Option<SetOutcome> {
        match (self, there) {
            (Self::Add, Some(_)) | (Self::Replace | Self::Append | Self::Prepend, None) => {
                Some(SetOutcome::NotStored)
            }
            (Self::Cas(_), None) => Some(SetOutcome::NotFound),
            (Self::Cas(read), Some(version)) if version != read => Some(SetOutcome::Exists),
            _ => None,
        }
    }
}

/// The outcome of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOutcome {
    /// The store has acknowledged the value.
    Stored,
    /// The condition of `Add`, `Replace`, `Append` or `Prepend` did not hold.
    NotStored,
    /// `Cas`: the entry has another version.
    Exists,
    /// `Cas`: the key does not exist.
    NotFound,
}
