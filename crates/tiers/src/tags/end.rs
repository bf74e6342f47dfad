//! The end of entries in the lowest tier that are gone by their tags, before an operation for which the tier decides: it takes
//! them for fresh.
//!
//! Several processes find such an entry at once, and the first that ends it may have stored a new one when the last comes.
//! So an entry is ended by its version, or by its value where a server can compare. In other tiers an entry with a short TTL
//! stands for the right to end this value, and `add` lets one process have it. A set that comes between the comparison and the
//! delete of such a tier is lost.

use std::thread::sleep;
use std::time::Duration;

use larder_store::{Error, Meta, Remaining, Result, SetMode, SetOptions};
use rapidhash::v3::rapidhash_v3;

use super::judge::judge;
use super::number::Standing;
use crate::SCHEME;
use crate::session::Stack;
use crate::tier::TierSession;
use crate::write::{apart, remove_over};

/// The beginning of the keys of rights to end a value, which no entry of a caller should have.
const PREFIX: &str = "~larder-ended-";

/// The time for which nobody else ends the same value.
const TURN: Duration = Duration::from_secs(1);

/// The pause of a process whose turn it is not, and the attempts until the turn has passed.
const PAUSE: Duration = Duration::from_millis(2);
pub(crate) const TRIES: usize = 1000;

/// Ends an entry of the lowest tier that is [`Standing::Gone`], or makes one that is [`Standing::Over`] end with the time of
/// grace. Another value that has come meanwhile stays. The caller looks again.
pub(crate) fn end_below(
    stack: &mut Stack,
    key: &[u8],
    (stored, meta): (&[u8], Meta),
    standing: Standing,
) -> Result<()> {
    let grace = stack.rules.grace;
    let left = match meta.ttl {
        Remaining::For(left) => left.min(grace),
        _ => grace,
    };
    let lowest = apart(stack).0;
    let keep = whole_steps(left, lowest.tier.capabilities.ttl_resolution);
    let keep = keep.filter(|_| standing == Standing::Over);
    let session = &mut *lowest.session;
    if let Some(version) = meta.version {
        let Some(keep) = keep else { return session.delete_if(key, version).map(drop) };
        let mode = SetMode::Cas(version);
        let options = SetOptions { mode, ttl: Some(keep), flags: meta.flags };
        return session.set(key, stored, &options).map(drop);
    }
    if let Some(leases) = session.leases() {
        match leases.end_value(key, stored, keep) {
            Err(Error::Unsupported { .. }) => {}
            ended => return ended.map(drop),
        }
    }
    let turn = turn(key, stored);
    if !has_turn(lowest, &turn)? {
        sleep(PAUSE);
        return Ok(());
    }
    let mut present = Vec::new();
    if lowest.session.get(key, &mut present)?.is_some() && present == stored {
        match (keep, lowest.session.leases()) {
            (Some(keep), Some(leases)) => leases.expire(key, Some(keep))?,
            _ => lowest.session.delete(key)?,
        };
    }
    lowest.session.delete(&turn).map(drop)
}

/// A time in whole steps of a tier's TTLs, which rounds up what is not: the entry would not be over then. `None` for less than
/// a step.
fn whole_steps(time: Duration, step: Duration) -> Option<Duration> {
    let (time, step) = (time.as_nanos(), step.as_nanos().max(1));
    let whole = u64::try_from(time / step * step).unwrap_or(u64::MAX);
    (whole > 0).then(|| Duration::from_nanos(whole))
}

/// The key of the right to end this value of a key.
fn turn(key: &[u8], stored: &[u8]) -> Vec<u8> {
    let hash = rapidhash_v3(key).rotate_left(1) ^ rapidhash_v3(stored);
    format!("{PREFIX}{hash:016x}").into_bytes()
}

/// Whether this caller gets the right. It ends with its TTL where its process is killed.
fn has_turn(lowest: &mut TierSession, turn: &[u8]) -> Result<bool> {
    let ttl = lowest.tier.capabilities.ttl.then_some(TURN);
    let options = SetOptions { mode: SetMode::Add, ttl, ..SetOptions::default() };
    Ok(lowest.session.set(turn, b"", &options)?.is_stored())
}

/// Removes an entry of the lowest tier that is over or gone, before an operation that depends on whether the key is there.
pub(crate) fn remove_gone(stack: &mut Stack, key: &[u8]) -> Result<()> {
    let mut stored = Vec::new();
    for _ in 0..TRIES {
        let Some(meta) = apart(stack).0.session.get(key, &mut stored)? else { return Ok(()) };
        if !stack.rules.grace.is_zero() && meta.ttl.ends_within(stack.rules.grace) {
            remove_over(stack, key);
            return Ok(());
        }
        let judged = judge(stack, &stored, true);
        match judged.standing {
            Standing::Holds => return Ok(()),
            Standing::Held | Standing::Unknown => return Err(unknown(judged.failed)),
            Standing::Over | Standing::Gone => {}
        }
        end_below(stack, key, (&stored, meta), Standing::Gone)?;
    }
    Err(changes_again_and_again())
}

/// The error of an operation on an entry of which nobody knows whether it is gone.
pub(crate) fn unknown(failed: Option<Error>) -> Error {
    let what = "the counter of a tag; ask again when its server answers".to_owned();
    failed.unwrap_or(Error::Unavailable { engine: SCHEME, what, source: None })
}

/// The error of an operation that finds entries which end while it looks.
pub(crate) fn changes_again_and_again() -> Error {
    let what = "an entry whose tags end all the time; try again".to_owned();
    Error::Busy { engine: SCHEME, what }
}
