//! Leases: of all who miss a key at once, one loads it. And fill tokens: what was loaded is stored only if nobody has
//! changed the key meanwhile.
//!
//! After Nishtala and others, "Scaling Memcache at Facebook", 2013, and the meta commands of memcached.

use std::time::Duration;

use crate::{
    DeleteDone, Error, Meta, Put, Result, Session, SetDone, SetMode, SetOptions, SetOutcome,
};

/// The right to fill a key with a value that was loaded elsewhere, as long as nobody has changed the key since.
///
/// Its bytes mean something to the store that gave it and to no one else. They may cross a wire: another session of the
/// store, in any process that shares it, can use the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; Self::LEN]);

impl Token {
    /// The bytes of a token.
    pub const LEN: usize = 32;

    /// The token of these bytes. One that no store gave fills nothing.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        self.0
    }
}

/// Refuses a fill in any mode but [`SetMode::Set`].
pub fn check_fill(engine: &'static str, options: &SetOptions) -> Result<()> {
    match options.mode {
        SetMode::Set => Ok(()),
        _ => Err(Error::Unsupported { engine, operation: "a fill in this mode" }),
    }
}

/// The answer to [`Leases::get_or_lease`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leased {
    /// The value is there, and is not stale.
    Hit(Meta),
    /// This caller is to load the value, and to [`fill`](Leases::fill) it with the token.
    Load {
        /// The lease.
        token: Token,
        /// The metadata of the stale value, which was copied; `None` where there is none.
        stale: Option<Meta>,
    },
    /// Another caller is loading the value.
    Wait {
        /// The metadata of the stale value, which was copied; `None` where there is none.
        stale: Option<Meta>,
    },
}

/// A value that was loaded under a token, for [`Leases::fill_many`].
#[derive(Debug, Clone, Copy)]
pub struct Fill<'a> {
    /// The entry.
    pub put: Put<'a>,
    /// The token under which its value was loaded.
    pub token: Token,
}

/// A value to end, for [`Leases::end_values`].
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The key of the entry.
    pub key: &'a [u8],
    /// The value that ends; any other stays.
    pub value: &'a [u8],
    /// The time for which it is kept as stale; `None` where it is removed.
    pub keep: Option<Duration>,
}

/// The callback for each key of [`Leases::get_or_lease_many`]: its place, the value that was copied, and the answer.
pub type LeaseDone<'a> = dyn FnMut(usize, &[u8], Result<Leased>) + 'a;

/// A session that chooses one loader of a key that is absent or stale: [`Session::leases`] returns it.
///
/// A lease is over once its time has passed or its value is filled in. It is also over once anybody stores, deletes or
/// expires the key, or clears the store. Then its token is void.
///
/// A read never finds the lease of an absent key. A server may keep the lease in the place of the entry. All other operations
/// may then take the key for present, until the lease is over. There a touch may end the lease, or keep its place for
/// longer. The lease also goes with its place: if the server evicts it, or if the stale entry ends.
///
/// What [`append`](crate::SetMode::Append) or `incr` makes of a stale value is stale, or fresh where the server decides so.
pub trait Leases: Session {
    /// Copies the value under `key` into `value`, as [`Session::get`] does. If the key is absent or stale, exactly one caller
    /// gets the lease to load it. That is one of all sessions of all processes that share the store. The others have to
    /// wait. If the loader is killed, another caller gets the lease once `time` has passed.
    ///
    /// `time` is rounded up to [`Capabilities::ttl_resolution`](crate::Capabilities::ttl_resolution), and to one step at least.
    /// The clock of a server may end it a step earlier.
    ///
    /// Where there is no room for another lease, the answer is [`Error::Busy`] or [`Error::Full`]. The caller may load then
    /// without one.
    fn get_or_lease(&mut self, key: &[u8], value: &mut Vec<u8>, time: Duration) -> Result<Leased> {
        self.get_or_lease_early(key, value, time, Duration::ZERO)
    }

    /// The same, but an entry that has no more than `early` of its TTL left counts as stale. So one caller loads it anew while
    /// the others still have a value. Other reads do not find it stale; some engines mark it once a lease of it is given.
    ///
    /// An engine that does not report the remaining TTL on a hit may know it here all the same.
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased>;

    /// Asks as [`get_or_lease_early`](Self::get_or_lease_early) for many keys, and calls `done` once for each key that has an
    /// answer, in any order. The answer to a key may be an error of its own.
    ///
    /// After `Err` some keys have had no answer; the error is that of one of them. A server that fails concerns its own keys
    /// only. A lease that was given without an answer ends with its time.
    ///
    /// Engines with several servers, or one, send one request to each; the default asks key by key, and ends with the first
    /// [fault](Error::is_fault): each further key would wait for as long.
    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let mut value = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            match self.get_or_lease_early(key, &mut value, time, early) {
                Err(error) if error.is_fault() => return Err(error),
                leased => {
                    let copied: &[u8] = if leased.is_ok() { &value } else { b"" };
                    done(i, copied, leased);
                }
            }
        }
        Ok(())
    }

    /// Stores a value that was loaded under `token`; [`SetOutcome::NotStored`] where the token is void.
    ///
    /// The mode of `options` is [`SetMode::Set`]; any other is [`Error::Unsupported`]: [`check_fill`].
    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome>;

    /// Stores many values as [`fill`](Self::fill) does, and calls `done` as [`Session::set_many`] does. A key that comes twice
    /// with one token gets the earlier value.
    ///
    /// After `Err` it is not known which values without an outcome are stored. Servers are asked, and fail, as for
    /// [`get_or_lease_many`](Self::get_or_lease_many).
    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        for (i, Fill { put, token }) in fills.iter().enumerate() {
            match self.fill(put.key, put.value, &put.options, token) {
                Err(error) if error.is_fault() => return Err(error),
                outcome => done(i, outcome),
            }
        }
        Ok(())
    }

    /// Ends a lease without a value, so that the next caller gets one at once: what was asked for cannot be loaded.
    /// `false` where the lease was over.
    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool>;

    /// Ends many leases as [`release`](Self::release) does, and calls `done` with the place of each and whether it was in
    /// force, as [`Session::delete_many`] does. Servers are asked, and fail, as for
    /// [`get_or_lease_many`](Self::get_or_lease_many).
    fn release_many(&mut self, leases: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        for (i, (key, token)) in leases.iter().enumerate() {
            match self.release(key, token) {
                Err(error) if error.is_fault() => return Err(error),
                outcome => done(i, outcome),
            }
        }
        Ok(())
    }

    /// Marks the entry of `key` as stale and keeps it for so long (`None`: for the rest of its TTL). `false` where there is
    /// no entry. The TTL never becomes longer by this.
    ///
    /// All reads report the value as stale; a batch may leave it out. Any set of the key makes it fresh. All tokens of the
    /// key become void, even where there is no entry: a value may be on its way that was loaded before.
    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool>;

    /// Ends the entries that still have these values: removes each or, with [`End::keep`], marks it as stale as
    /// [`expire`](Self::expire) does. Calls `done` with the place of each and whether it ended, as [`Session::delete_many`] does:
    /// `false` where the key has another value, or none.
    ///
    /// Stores whose entries have versions need not have it. There [`Session::set_many`] ends entries by their versions.
    fn end_values(&mut self, ends: &[End<'_>], done: &mut DeleteDone<'_>) -> Result<()> {
        let _ = (ends, done);
        Err(Error::Unsupported { engine: self.engine(), operation: "the end of a value" })
    }

    /// A token without a lease: any number of callers get one. It is taken before the value is read elsewhere. Sessions
    /// with [`Capabilities::tokens`](crate::Capabilities::tokens) have it, and [`renew`](Self::renew).
    fn token(&mut self, key: &[u8]) -> Result<Token> {
        let _ = key;
        Err(Error::Unsupported { engine: self.engine(), operation: "a token without a lease" })
    }

    /// Makes all tokens and leases of a key void, and returns a new token. `None` where `held` was void before.
    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        let _ = (key, held);
        Err(Error::Unsupported { engine: self.engine(), operation: "a token without a lease" })
    }
}
