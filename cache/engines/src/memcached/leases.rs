//! Leases by memcached's meta commands.
//!
//! The lease of an absent key is an entry without a value, which `mg` with `N` makes: the server tells one client that it
//! has won (`W`), and the others of that one (`Z`). The token is the entry's version, so every change of the key makes it
//! void. Clients of the text protocol read this entry as an empty value.
//!
//! A stale entry is one that `md` with `I` has marked (`X`). The server tells one client of it, too, but for ever: if that
//! client is killed, no other client gets `W`. So the winner is not asked for. Instead whoever adds `…~larder-lease` may
//! load, and that key ends with the time of the lease. The owner of that key marks the entry once more, which gives it another
//! version: the token of an older lease is void then. And it must win its own mark, so that no two have the same version.
//! Keys with that ending belong to Larder.

use std::time::Duration;

use larder_protocol::key::{beside, digest};
use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_store::{
    DeleteDone, DeleteOutcome, Error, Fill, LeaseDone, Leased, Leases, Meta, Put, Remaining,
    Result, SetDone, SetOptions, SetOutcome, Token, check_fill,
};

use super::SCHEME;
use super::calls::{Leasing, NodeCalls};
use super::limits::LONGEST_SENT;
use super::session::MemcachedSession;

/// The shortest time of a lease: the server counts whole seconds.
const STEP: Duration = Duration::from_secs(1);

/// The attempts of an operation that finds the entry changed by another client each time.
const TRIES: usize = 100;

/// The most bytes that an entry takes beside its value.
pub(super) const AROUND_VALUE: usize = 1024;

/// The right that a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// The lease of an absent key has this version.
    Absent { version: u64 },
    /// The stale entry has this version, and the key of its lease the other.
    Stale { version: u64, lease: u64 },
}

impl MemcachedSession {
    /// The end of a lease as the server takes it.
    fn end_of_lease(&self, time: Duration) -> Result<i64> {
        self.shared.exptime(Some(time.max(STEP)))
    }

    /// As [`Leases::get_or_lease_early`], with the end of the lease as the server takes it.
    pub(super) fn value_or_lease(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        exptime: i64,
        early: Duration,
    ) -> Result<Leased> {
        for _ in 0..TRIES {
            value.clear();
            let answer =
                self.on_node_of(key, |connection| connection.get_or_lease(key, exptime, value))?;
            match answer {
                Leasing::Value(meta) if !meta.stale && !meta.ttl.ends_within(early) => {
                    return Ok(Leased::Hit(meta));
                }
                Leasing::Value(meta) => {
                    let meta = Meta { stale: true, ..meta };
                    if let Some(leased) = self.lease_of_stale(key, meta, exptime)? {
                        return Ok(leased);
                    }
                }
                Leasing::Lease { version, is_won: true, .. } => {
                    let token = Right::Absent { version }.token(key);
                    return Ok(Leased::Load { token, stale: None });
                }
                // A client that took its TTL away by a touch was killed before it removed it.
                Leasing::Lease { version, lasts: true, .. } => {
                    self.on_node_of(key, |connection| connection.delete_if(key, version))?;
                }
                Leasing::Lease { .. } => return Ok(Leased::Wait { stale: None }),
            }
        }
        value.clear();
        Err(changed_again_and_again())
    }

    /// Gives a lease of a stale entry, unless another client has it; `None` if the entry was changed.
    fn lease_of_stale(&mut self, key: &[u8], stale: Meta, exptime: i64) -> Result<Option<Leased>> {
        let Some(version) = stale.version else { return Ok(None) };
        let added = self.on_lease_of(key, |connection, name| {
            let mode = StorageMode::Add;
            connection.set(&StorageRequest { key: name, len: 0, flags: 0, exptime, mode }, b"")
        })?;
        let SetOutcome::Stored(Some(lease)) = added else {
            return Ok(Some(Leased::Wait { stale: Some(stale) }));
        };
        let marked = self.on_node_of(key, |connection| connection.mark_again(key, version))?;
        let Some(version) = marked else {
            self.end_lease(key, lease)?;
            return Ok(None);
        };
        let token = Right::Stale { version, lease }.token(key);
        Ok(Some(Leased::Load { token, stale: Some(stale) }))
    }

    /// Carries out an operation on the key that is the lease of a stale entry. It lies on the entry's node.
    fn on_lease_of<T>(
        &mut self,
        key: &[u8],
        operation: impl FnOnce(&mut NodeCalls<'_>, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let (lease, node) = (lease_of(key), self.shared.node_of(key));
        self.on_node(node, |connection| operation(connection, &lease))
    }

    /// Ends a lease of a stale entry, unless it is another one by now.
    pub(super) fn end_lease(&mut self, key: &[u8], lease: u64) -> Result<()> {
        self.on_lease_of(key, |connection, name| connection.delete_if(name, lease)).map(drop)
    }

    /// Marks the entry as stale, and shortens its TTL if it is longer. `None` if it was changed meanwhile.
    fn try_to_expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<Option<bool>> {
        let found = self.on_node_of(key, |connection| connection.look_closely(key))?;
        let Some(found) = found else { return Ok(Some(false)) };
        let Some(version) = found.facts.meta.version else { return Ok(None) };
        if found.is_lease || keep.is_some_and(|keep| keep.is_zero()) {
            let removed = self.on_node_of(key, |connection| connection.delete_if(key, version))?;
            let is_changed = removed == DeleteOutcome::Exists;
            return Ok((!is_changed).then_some(!found.is_lease));
        }
        let keep = keep.filter(|keep| match found.facts.meta.ttl {
            Remaining::For(left) => *keep < left,
            Remaining::Forever | Remaining::Unknown => true,
        });
        let exptime = keep.map(|keep| self.shared.exptime(Some(keep))).transpose()?;
        // The lease goes first. Who takes it before the mark changes the version, and then the mark is tried again.
        self.on_lease_of(key, |connection, name| connection.delete(name).map(drop))?;
        let mark = |connection: &mut NodeCalls<'_>| connection.mark(key, version, exptime);
        Ok(match self.on_node_of(key, mark)? {
            DeleteReply::Deleted => Some(true),
            DeleteReply::Exists => None,
            DeleteReply::NotFound => Some(false),
        })
    }
}

impl Leases for MemcachedSession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let exptime = self.end_of_lease(time)?;
        self.in_time(|session| session.value_or_lease(key, value, exptime, early))
    }

    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let exptime = self.end_of_lease(time)?;
        self.in_time(|session| session.values_or_leases(keys, exptime, early, done))
    }

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.fill_all(fills, done)
    }

    fn release_many(&mut self, leases: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        self.release_all(leases, done)
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        check_fill(SCHEME, options)?;
        let put = Put { key, value, options: *options };
        let request = self.shared.storage_request(&put)?;
        let Some(right) = Right::of(token, key) else { return Ok(SetOutcome::NotStored) };
        let (version, lease) = right.versions();
        if let Some(lease) = lease
            && !self.on_lease_of(key, |connection, name| connection.has_version(name, lease))?
        {
            return Ok(SetOutcome::NotStored);
        }
        let limit = self.shared.max_value_len().unwrap_or(LONGEST_SENT);
        // A server that refuses a value as too large removes the entry, whatever its version.
        if value.len() > limit.saturating_sub(AROUND_VALUE)
            && !self.on_node_of(key, |connection| connection.has_version(key, version))?
        {
            return Ok(SetOutcome::NotStored);
        }
        if value.len() > LONGEST_SENT {
            return Err(Error::ValueTooLarge { engine: SCHEME, len: value.len(), limit });
        }
        let request = StorageRequest { mode: StorageMode::Cas(version), ..request };
        let outcome = self.on_node_of(key, |connection| connection.set(&request, value))?;
        if let Some(lease) = lease.filter(|_| outcome.is_stored()) {
            self.end_lease(key, lease)?;
        }
        Ok(if outcome.is_stored() { outcome } else { SetOutcome::NotStored })
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        match Right::of(token, key) {
            None => Ok(false),
            Some(Right::Absent { version }) => {
                let remove = |connection: &mut NodeCalls<'_>| connection.delete_if(key, version);
                Ok(self.on_node_of(key, remove)? == DeleteOutcome::Deleted)
            }
            Some(Right::Stale { version, lease }) => {
                // The token is void before another caller can have the lease.
                let mark = |connection: &mut NodeCalls<'_>| connection.mark(key, version, None);
                let is_its = self.on_node_of(key, mark)? == DeleteReply::Deleted;
                self.end_lease(key, lease)?;
                Ok(is_its)
            }
        }
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        for _ in 0..TRIES {
            if let Some(expired) = self.try_to_expire(key, keep)? {
                return Ok(expired);
            }
        }
        Err(changed_again_and_again())
    }
}

/// The name of the key that is the lease of a stale entry.
pub(super) fn lease_of(key: &[u8]) -> Vec<u8> {
    beside(key, "~larder-lease")
}

fn changed_again_and_again() -> Error {
    let what = "other clients change this entry again and again; try once more".to_owned();
    Error::Busy { engine: SCHEME, what }
}

impl Right {
    /// The version that the entry must have, and that of the lease of a stale entry.
    pub(super) fn versions(self) -> (u64, Option<u64>) {
        match self {
            Self::Absent { version } => (version, None),
            Self::Stale { version, lease } => (version, Some(lease)),
        }
    }

    /// The token for a key. Versions of two servers may be equal, so it has a hash of the key.
    pub(super) fn token(self, key: &[u8]) -> Token {
        let (kind, version, lease) = match self {
            Self::Absent { version } => (1, version, 0),
            Self::Stale { version, lease } => (2, version, lease),
        };
        let words = [kind, version, lease, digest(key)].map(u64::to_le_bytes);
        Token::from_bytes(std::array::from_fn(|i| words[i / 8][i % 8]))
    }

    /// The right of a token, if it is one for this key.
    pub(super) fn of(token: &Token, key: &[u8]) -> Option<Self> {
        let bytes = token.to_bytes();
        let (words, _) = bytes.as_chunks();
        let [kind, version, lease] = [0, 1, 2].map(|i| u64::from_le_bytes(words[i]));
        let right = match kind {
            1 => Self::Absent { version },
            2 => Self::Stale { version, lease },
            _ => return None,
        };
        (right.token(key) == *token).then_some(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_for_its_own_key_alone() {
        for right in [Right::Absent { version: 7 }, Right::Stale { version: 8, lease: u64::MAX }] {
            let token = right.token(b"key");
            assert_eq!(Right::of(&token, b"key"), Some(right));
            assert_eq!(Right::of(&token, b"other"), None);
        }
        for byte in [0, 0xff] {
            assert_eq!(Right::of(&Token::from_bytes([byte; Token::LEN]), b"key"), None);
        }
    }
}
