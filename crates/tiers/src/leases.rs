//! The leases of a stack: those of its lowest tier, which all processes share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{Error, Leased, Leases, Put, Result, SetOptions, SetOutcome, Token, check_fill};

use crate::SCHEME;
use crate::fence::Right;
use crate::read::{self, told};
use crate::session::{Stack, TiersSession};
use crate::tier::{Life, TierSession};
use crate::write;

impl Leases for TiersSession {
    /// A fresh value of an upper tier is a hit. Otherwise the lowest tier answers, and its hit is filled in above.
    fn get_or_lease(&mut self, key: &[u8], value: &mut Vec<u8>, time: Duration) -> Result<Leased> {
        if let Some(meta) = read::get_above(&mut self.stack, key, value)? {
            return Ok(Leased::Hit(meta));
        }
        let Stack { tiers, tokens, capabilities } = &mut self.stack;
        let Some((lowest, above)) = tiers.split_last_mut() else { return Err(none()) };
        let (right, asked) = (Right::of_reader(above, tokens, key), Instant::now());
        let counters = Arc::clone(&lowest.counters);
        let leased = of(lowest)?.get_or_lease(key, value, time);
        match &leased {
            Ok(Leased::Hit(_)) => counters.hits.add(1),
            Ok(_) => counters.misses.add(1),
            Err(_) => counters.errors.add(1),
        }
        let shown = |meta| told(meta, capabilities);
        Ok(match leased? {
            Leased::Hit(meta) => {
                let life = Life::told(meta, &lowest.tier, asked);
                read::fill(above, tokens, right, (key, value, meta.flags, life));
                Leased::Hit(shown(meta))
            }
            Leased::Load { token, stale } => Leased::Load { token, stale: stale.map(shown) },
            Leased::Wait { stale } => Leased::Wait { stale: stale.map(shown) },
        })
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
        write::store(&mut self.stack, &put, |lowest| of(lowest)?.fill(key, value, options, token))
    }

    fn release(&mut self, key: &[u8], token: &Token) -> Result<bool> {
        of(lowest(&mut self.stack)?)?.release(key, token)
    }

    /// The upper tiers drop the key: what is stale is read in the lowest tier.
    fn expire(&mut self, key: &[u8], keep: Option<Duration>) -> Result<bool> {
        let expire = |lowest: &mut TierSession| of(lowest)?.expire(key, keep);
        write::lowest_then_drop(&mut self.stack, key, expire).map(|(was_there, _)| was_there)
    }

    fn token(&mut self, key: &[u8]) -> Result<Token> {
        of(lowest(&mut self.stack)?)?.token(key)
    }

    fn renew(&mut self, key: &[u8], held: Option<&Token>) -> Result<Option<Token>> {
        of(lowest(&mut self.stack)?)?.renew(key, held)
    }
}

fn lowest(stack: &mut Stack) -> Result<&mut TierSession> {
    stack.tiers.last_mut().ok_or_else(none)
}

/// The leases of a tier, which its capabilities promise.
fn of(tier: &mut TierSession) -> Result<&mut dyn Leases> {
    tier.session.leases().ok_or_else(none)
}

fn none() -> Error {
    Error::Unsupported { engine: SCHEME, operation: "leases" }
}
