//! The leases of the map, with the fault that it was opened with.

use std::time::Duration;

use larder_store::{
    Fill, LeaseDone, Leased, Leases, Meta, Put, Result, SetDone, SetOptions, SetOutcome, Token,
    check_fill,
};

use super::map::{Map, MapSession};

/// The kinds of tokens.
const OF_LEASE: u64 = 1;
const OF_CHANGES: u64 = 2;

/// The token of a kind and a number, which no other change or lease of the map has.
fn token(kind: u64, number: u64) -> Token {
    let mut bytes = [0; Token::LEN];
    bytes[..8].copy_from_slice(&kind.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    Token::from_bytes(bytes)
}

impl Map {
    /// Ends the lease of a key, and makes its tokens void.
    pub(super) fn change(&mut self, key: &[u8]) {
        self.leases.remove(key);
        self.numbers += 1;
        self.changes.insert(key.to_vec(), self.numbers);
    }

    /// The same for all keys.
    pub(super) fn change_all(&mut self) {
        self.leases.clear();
        self.changes.clear();
        self.numbers += 1;
        self.before = self.numbers;
    }

    /// The state of a key's tokens.
    fn state(&self, key: &[u8]) -> u64 {
        self.changes.get(key).copied().unwrap_or(self.before)
    }

    /// Whether a token is valid for a key.
    pub(super) fn is_valid(&self, key: &[u8], given: &Token) -> bool {
        let of_lease = self.leases.get(key).is_some_and(|(id, _)| token(OF_LEASE, *id) == *given);
        of_lease || token(OF_CHANGES, self.state(key)) == *given
    }
}

impl Leases for MapSession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        let shared = std::sync::Arc::clone(&self.shared);
        let mut map = shared.begin(key)?;
        value.clear();
        let now = shared.clock.now_ms();
        let stale = match map.entries.get(key) {
            Some(entry) => {
                value.extend_from_slice(&entry.value);
                let meta = entry.meta(now);
                let is_early = shared.fault.leases_early() && meta.ttl.ends_within(early);
                if !meta.stale && !is_early {
                    return Ok(Leased::Hit(meta));
                }
                Some(Meta { stale: true, ..meta })
            }
            None => None,
        };
        let is_live = map.leases.get(key).is_some_and(|(_, end)| *end > now);
        if is_live && shared.fault.leases_to_one() {
            return Ok(Leased::Wait { stale });
        }
        map.numbers += 1;
        let (id, end) = (map.numbers, shared.clock.deadline_ms(shared.fault.lease_time(time)));
        map.leases.insert(key.to_vec(), (id, end));
        Ok(Leased::Load { token: token(OF_LEASE, id), stale })
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        check_fill(self.shared.scheme, options)?;
        self.store(key, value, options, None, Some(token))
    }

    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        let (mut value, mut before) = (Vec::new(), None);
        for (i, key) in keys.iter().enumerate() {
            let mut leased = self.get_or_lease_early(key, &mut value, time, early);
            if let Ok(Leased::Load { token, .. }) = &mut leased {
                let own = before.replace(*token);
                if !self.shared.fault.keeps_tokens_apart() {
                    *token = own.unwrap_or(*token);
                }
            }
            let copied: &[u8] = if leased.is_ok() { &value } else { b"" };
            done(i, copied, leased);
        }
        Ok(())
    }

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let compares = self.shared.fault.compares_tokens_of_batches();
        for (i, Fill { put: Put { key, value, options }, token }) in fills.iter().enumerate() {
            let checked = check_fill(self.shared.scheme, options);
            let token = Some(token).filter(|_| compares);
            done(i, checked.and_then(|()| self.store(key, value, options, None, token)));
        }
        Ok(())
    }

    fn release(&mut self, key: &[u8], given: &Token) -> Result<bool> {
        let mut map = self.shared.begin(key)?;
        let is_its = map.leases.get(key).is_some_and(|(id, _)| token(OF_LEASE, *id) == *given);
        if is_its {
            map.leases.remove(key);
        }
        Ok(is_its)
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        let mut map = self.shared.begin(key)?;
        let end = keep.and_then(|keep| self.shared.deadline(Some(keep)));
        let marks_stale = self.shared.fault.marks_stale();
        map.change(key);
        let Some(entry) = map.entries.get_mut(key) else { return Ok(false) };
        entry.is_stale = marks_stale;
        entry.deadline_ms = [entry.deadline_ms, end].into_iter().flatten().min();
        Ok(true)
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        Ok(token(OF_CHANGES, self.shared.begin(key)?.state(key)))
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        let mut map = self.shared.begin(key)?;
        let was_valid = held.is_none_or(|held| map.is_valid(key, held));
        map.change(key);
        Ok(was_valid.then(|| token(OF_CHANGES, map.state(key))))
    }
}
