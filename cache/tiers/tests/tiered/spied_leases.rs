//! The leases of a spied tier: those of its map, noted as its other requests are.

use std::time::Duration;

use larder_store::{
    DeleteDone, Fill, LeaseDone, Leased, Leases, Result, SetDone, SetOptions, SetOutcome, Token,
};

use super::spy::SpySession;

impl SpySession {
    fn of_map(&mut self) -> &mut dyn Leases {
        self.map.leases().unwrap()
    }
}

impl Leases for SpySession {
    fn get_or_lease_early(
        &mut self,
        key: &[u8],
        value: &mut Vec<u8>,
        time: Duration,
        early: Duration,
    ) -> Result<Leased> {
        self.spy.note("lease", key)?;
        let leased = self.of_map().get_or_lease_early(key, value, time, early);
        self.spy.end();
        leased
    }

    fn fill(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        token: &Token,
    ) -> Result<SetOutcome> {
        self.spy.note("fill", key)?;
        let filled = self.of_map().fill(key, value, options, token);
        self.spy.end();
        filled
    }

    fn get_or_lease_many(
        &mut self,
        keys: &[&[u8]],
        time: Duration,
        early: Duration,
        done: &mut LeaseDone<'_>,
    ) -> Result<()> {
        self.spy.note("lease_many", &keys.join(&b' '))?;
        let mut answers = Vec::new();
        self.of_map().get_or_lease_many(keys, time, early, &mut |i, value, leased| {
            answers.push((i, value.to_vec(), leased));
        })?;
        self.spy.end();
        for (i, value, leased) in answers {
            done(i, &value, leased);
        }
        Ok(())
    }

    fn fill_many(&mut self, fills: &[Fill<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let keys: Vec<_> = fills.iter().map(|fill| fill.put.key).collect();
        self.spy.note("fill_many", &keys.join(&b' '))?;
        let filled = self.of_map().fill_many(fills, done);
        self.spy.end();
        filled
    }

    fn release_many(&mut self, held: &[(&[u8], Token)], done: &mut DeleteDone<'_>) -> Result<()> {
        let keys: Vec<_> = held.iter().map(|(key, _)| *key).collect();
        self.spy.note("release_many", &keys.join(&b' '))?;
        self.of_map().release_many(held, done)
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        self.spy.note("release", key)?;
        self.of_map().release(key, token)
    }

    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        self.spy.note("expire", key)?;
        self.of_map().expire(key, keep)
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        self.spy.note("token", key)?;
        self.of_map().token(key)
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        self.spy.note("renew", key)?;
        self.of_map().renew(key, held)
    }
}
