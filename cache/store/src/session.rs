//! The central contract: stores and sessions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Capabilities, Channel, ChannelKind, Counted, Counter, DeleteOutcome, Delta, Error, Facts, Gate,
    Groups, Initial, Leases, Meta, Ownership, Permits, Pipeline, Put, Result, SetOptions,
    SetOutcome, Stats, StoreInfo, TierStats,
};

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

    /// Ends the use of the store in order, and returns what went wrong: dropping it can only hide that. What is not on the
    /// disk of its files yet is written there. A server that the store started is asked to end. Files that vanish with
    /// the store are not written.
    ///
    /// Afterwards sessions of the store may fail. A second call does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] where the server had failed before, or does not end; else what the disk reports.
    fn close(&self) -> Result<()> {
        Ok(())
    }

    /// The namespace of this name: a store of the same medium, with keys of its own. All who ask for the name share it. Its
    /// [`clear`](Session::clear) removes its entries alone; a clear of this store may remove those of all namespaces.
    /// Counters and limits of size are those of the whole store.
    ///
    /// A name has 1 to 48 bytes. A namespace has no namespaces of its own. It needs [`Capabilities::namespaces`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] for another name.
    fn namespace(&self, name: &str) -> Result<Arc<dyn Store>> {
        let _ = name;
        Err(Error::Unsupported { engine: self.info().scheme, operation: "namespace" })
    }

    /// Removes a namespace with all its entries, so that its place is free for another name; `false` where no namespace has
    /// this name. A session that is still open in it finds no entry, and its next write may make the namespace anew.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOptions`] for a name that no namespace can have; [`Error::Busy`] where another process holds the
    /// lock of the names.
    fn remove_namespace(&self, name: &str) -> Result<bool> {
        let _ = name;
        Err(Error::Unsupported { engine: self.info().scheme, operation: "remove_namespace" })
    }

    /// Puts a gate before each of its servers, which `make` makes of the server's name. `false` where the store has one
    /// server or none: then the caller guards the store as a whole. Sessions that were opened before may pass no gate.
    fn gate_servers(&self, make: &mut dyn FnMut(&str) -> Arc<dyn Gate>) -> bool {
        let _ = make;
        false
    }

    /// Gives its breakers permits that several processes share. A store without a breaker has no use for them.
    fn share_probes(&self, permits: &Arc<dyn Permits>) {
        let _ = permits;
    }

    /// A channel on which processes publish changed keys to each other. A store has the kinds that it supports.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the store has no channel of this kind.
    fn channel(&self, kind: ChannelKind<'_>) -> Result<Arc<dyn Channel>> {
        let _ = kind;
        Err(Error::Unsupported { engine: self.info().scheme, operation: "channel" })
    }

    /// The counters of each tier since the store was opened, the nearest first; empty where the store is no stack.
    fn tiers(&self) -> Vec<TierStats> {
        Vec::new()
    }
}

/// The callback for each entry of [`Session::set_many`]: its place and its outcome.
pub type SetDone<'a> = dyn FnMut(usize, Result<SetOutcome>) + 'a;

/// The callback for each key of [`Session::delete_many`]: its place, and whether it was there.
pub type DeleteDone<'a> = dyn FnMut(usize, Result<bool>) + 'a;

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

    /// As [`Session::get`], but the value goes behind the bytes that `out` has already. So a reply is put together with one
    /// copy, unless the engine has only this default. A miss and an error leave `out` as it was.
    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        let mut value = Vec::new();
        let meta = self.get(key, &mut value)?;
        out.extend_from_slice(&value);
        Ok(meta)
    }

    /// An entry without its value; `None` is a miss. The default reads the value and throws it away.
    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        let mut value = Vec::new();
        let meta = self.get(key, &mut value)?;
        Ok(meta.map(|meta| Facts::of(meta, value.len())))
    }

    /// A [`Session::get`] that also gives the entry a new TTL, as [`Session::touch`] does. No change by another session
    /// comes in between, so the value is that of the entry with the new TTL.
    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let _ = (key, ttl, value);
        Err(Error::Unsupported { engine: self.engine(), operation: "get_and_touch" })
    }

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
    /// A value that is refused as too large leaves no older value behind in [`SetMode::Set`](crate::SetMode::Set). In the other modes the
    /// older value stays, unless the engine [evicts](crate::Capabilities::evicts): memcached drops it then.
    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome>;

    /// Stores many entries, and calls `done` with the place of each in `entries` and its outcome, in this order.
    ///
    /// It is no transaction: other sessions may see some of the entries before the others, and one that is refused does
    /// not keep the others out. A key that comes twice gets the later value. After `Err` it is not known which entries
    /// without an outcome are stored.
    ///
    /// Engines with [`Capabilities::batch_write`] send one request (to each node) or commit once; the default stores one
    /// by one.
    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        for (i, Put { key, value, options }) in entries.iter().enumerate() {
            done(i, self.set(key, value, options));
        }
        Ok(())
    }

    /// Removes `key`; `false` when it was not there.
    fn delete(&mut self, key: &[u8]) -> Result<bool>;

    /// Removes many keys, and calls `done` as [`Session::set_many`] does.
    fn delete_many(&mut self, keys: &[&[u8]], done: &mut DeleteDone<'_>) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            done(i, self.delete(key));
        }
        Ok(())
    }

    /// Removes `key` if its entry has this version. Engines with [`Capabilities::version`] have it.
    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let _ = (key, version);
        Err(Error::Unsupported { engine: self.engine(), operation: "delete_if" })
    }

    /// Gives `key` a new TTL (`None`: for ever); `false` when it is not there.
    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let _ = (key, ttl);
        Err(Error::Unsupported { engine: self.engine(), operation: "touch" })
    }

    /// Adds to the decimal number under `key`, or takes from it, and returns the new number.
    ///
    /// It stops at 0 and wraps at 2^64: memcached's rules. The TTL stays. An absent key gets the initial number, without
    /// the delta; if `absent` is `None`, it stays absent and the answer is `None`.
    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        let _ = (key, delta, absent);
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

    /// Sets the time for which a write waits for one holder of a lock from now on. Without patience a write waits for
    /// nobody: if another session has the lock, it fails as [`Error::Busy`] at once.
    ///
    /// A delete that finds the lock taken goes on without it. Engines whose locks have no such setting do not support this.
    fn set_patience(&mut self, patience: Duration) -> Result<()> {
        let _ = patience;
        Err(Error::Unsupported { engine: self.engine(), operation: "set_patience" })
    }

    /// Bounds the time of each read from now on, or ends that bound. A read that has no answer then fails as
    /// [`Error::Timeout`], and its late answer is the answer of no other call. Reads are `get`, `get_onto`, `look`,
    /// `get_many`, and those of [`Leases`] that return a value. Every other call waits as long as before.
    ///
    /// Stores that nobody waits for, and those whose clients have no such setting, do not support this.
    fn set_read_timeout(&mut self, longest: Option<Duration>) -> Result<()> {
        let _ = longest;
        Err(Error::Unsupported { engine: self.engine(), operation: "set_read_timeout" })
    }

    /// Reads by prefix and by tag; `None` where the engine has no such reads, as [`Capabilities::groups`] says.
    fn groups(&mut self) -> Option<&mut dyn Groups> {
        None
    }

    /// One loader for an absent or stale key; `None` where the engine has no leases, as [`Capabilities::leases`] says.
    fn leases(&mut self) -> Option<&mut dyn Leases> {
        None
    }

    /// Requests that are sent without waiting; `None` where the engine has none, as [`Capabilities::pipeline`] says.
    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        None
    }
}
