//! The limits of what a target really stores: the longest key and the largest value that come back whole, found by
//! trying.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::patience::patiently;
use larder_report::Limits;
use larder_store::{Error, Result, Session, SetOptions, SetOutcome};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Keys are tried at least up to this length, in bytes, whatever the plan needs.
const KEYS_UP_TO: usize = 1024;
/// Values are tried at least up to this size, in bytes, whatever the plan needs.
const VALUES_UP_TO: usize = 2 << 20;
/// The length of the key under which values are tried, and of the value under which keys are.
const USUAL: usize = 32;

/// The characters that tell the keys of a probe apart.
const NAMES: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The result of probing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Probed {
    /// The limits as reports show them.
    pub(crate) limits: Limits,
    /// Keys longer than this are refused with an error.
    pub(crate) longest_accepted_key: Option<usize>,
    /// Values larger than this are refused with an error.
    pub(crate) largest_accepted_value: Option<usize>,
}

/// The result of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tried {
    /// Came back as it was.
    Whole,
    /// Was acknowledged and did not come back as it was.
    Damaged,
    /// Was refused.
    Refused,
}

/// The sizes that a plan needs of a store, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needed {
    pub(crate) key: usize,
    pub(crate) value: usize,
    /// Larger sizes are not tried.
    pub(crate) only: bool,
}

/// Finds the limits of a store by bisection, as far as a plan needs them and, unless `needed.only` is set, a bit
/// beyond. Every key begins with `prefix` and is deleted again. When `stop` is set, the probe ends with an error,
/// because it takes a while over a slow wire.
pub(crate) fn probe(
    session: &mut dyn Session,
    prefix: &[u8],
    needed: Needed,
    options: SetOptions,
    stop: &AtomicBool,
) -> Result<Probed> {
    if !needed.only {
        let beyond = Needed {
            key: needed.key.max(KEYS_UP_TO),
            value: needed.value.max(VALUES_UP_TO),
            only: false,
        };
        match probe_up_to(session, prefix, beyond, options, stop) {
            // The store has no room for more than the plan needs; that says nothing of the sizes that the plan needs.
            Err(Error::Full { .. } | Error::Io { .. }) => {}
            probed => return probed,
        }
    }
    probe_up_to(session, prefix, needed, options, stop)
}

/// Whether limits that another session found hold for this one: the longest key and the largest value come back whole.
pub(crate) fn confirms(
    session: &mut dyn Session,
    prefix: &[u8],
    found: &Probed,
    options: SetOptions,
    stop: &AtomicBool,
) -> Result<bool> {
    let Limits { max_key_len, max_value_len, probed_key_len, probed_value_len } = found.limits;
    let length = |limit: Option<u64>, probed: u64| {
        usize::try_from(limit.unwrap_or(probed)).unwrap_or(usize::MAX)
    };
    let key = length(max_key_len, probed_key_len);
    let value = length(max_value_len, probed_value_len);
    let mut pattern = vec![0; value.max(USUAL)];
    Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(&mut pattern);
    let mut prober = Prober { session, prefix, pattern: &pattern, options, stop, stored: 0 };
    let shortest = prefix.len() + 3;
    prober.store(shortest, USUAL.min(value))?;
    Ok(prober.attempt(key, USUAL.min(value))? == Tried::Whole
        && prober.attempt(key.min(USUAL.max(shortest)), value)? == Tried::Whole)
}

fn probe_up_to(
    session: &mut dyn Session,
    prefix: &[u8],
    top: Needed,
    options: SetOptions,
    stop: &AtomicBool,
) -> Result<Probed> {
    let (key_top, value_top) = (top.key, top.value);
    // No two stretches of the pattern are alike, so that a cut or shifted value is not taken for whole.
    let mut pattern = vec![0; value_top];
    Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(&mut pattern);
    let shortest = prefix.len() + 3;
    let mut prober = Prober { session, prefix, pattern: &pattern, options, stop, stored: 0 };
    // A store that does not take the least sizes does not work at all, and says why.
    let usual = USUAL.min(value_top);
    prober.store(shortest, usual)?;
    let key_limits = bisect(shortest, key_top, |len| prober.attempt(len, usual))?;
    let usable = key_limits.accepted.unwrap_or(key_top).min(USUAL.max(shortest));
    let value_limits = bisect(0, value_top, |len| prober.attempt(usable, len))?;
    Ok(Probed {
        limits: Limits {
            max_key_len: key_limits.whole.map(|len| len as u64),
            max_value_len: value_limits.whole.map(|len| len as u64),
            probed_key_len: key_top as u64,
            probed_value_len: value_top as u64,
        },
        longest_accepted_key: key_limits.accepted,
        largest_accepted_value: value_limits.accepted,
    })
}

/// The largest length that comes back whole, and the largest that is not refused; `None` where there is no limit up to
/// the top.
struct Bounds {
    whole: Option<usize>,
    accepted: Option<usize>,
}

fn bisect(
    bottom: usize,
    top: usize,
    mut attempt: impl FnMut(usize) -> Result<Tried>,
) -> Result<Bounds> {
    let mut last = |worst: Tried| -> Result<Option<usize>> {
        if attempt(top)? <= worst {
            return Ok(None);
        }
        let (mut good, mut bad) = (bottom, top);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if attempt(middle)? <= worst {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(Some(good))
    };
    Ok(Bounds { whole: last(Tried::Whole)?, accepted: last(Tried::Damaged)? })
}

struct Prober<'a> {
    session: &'a mut dyn Session,
    prefix: &'a [u8],
    pattern: &'a [u8],
    options: SetOptions,
    stop: &'a AtomicBool,
    /// The number of keys that were stored so far: each has its own name, so that no attempt follows a delete of
    /// its own key.
    stored: usize,
}

impl Prober<'_> {
    fn attempt(&mut self, key_len: usize, value_len: usize) -> Result<Tried> {
        match self.store(key_len, value_len) {
            Err(error) if is_refusal(&error) => Ok(Tried::Refused),
            tried => tried,
        }
    }

    /// Stores a value and reads it back; its key is deleted even if the read fails.
    fn store(&mut self, key_len: usize, value_len: usize) -> Result<Tried> {
        if self.stop.load(Ordering::Relaxed) {
            let what = "interrupted while its limits were being found".into();
            return Err(Error::Unavailable { engine: self.session.engine(), what, source: None });
        }
        let mut key = self.prefix.to_vec();
        key.extend_from_slice(b"p~");
        key.push(NAMES[self.stored % NAMES.len()]);
        self.stored += 1;
        key.resize(key_len.max(key.len()), b'x');
        let value = &self.pattern[..value_len];
        let outcome = patiently(|| self.session.set(&key, value, &self.options))?;
        let mut returned = Vec::new();
        let found = patiently(|| self.session.get(&key, &mut returned));
        patiently(|| self.session.delete(&key))?;
        Ok(match (outcome, found?) {
            (SetOutcome::Stored(_), Some(_)) if returned == value => Tried::Whole,
            (SetOutcome::Stored(_), _) => Tried::Damaged,
            _ => Tried::Refused,
        })
    }
}

/// Whether an error is about this key or value, not about the store as a whole.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::KeyTooLong { .. }
            | Error::InvalidKey { .. }
            | Error::ValueTooLarge { .. }
            | Error::Protocol { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(whole_to: usize, accepted_to: usize) -> (Option<usize>, Option<usize>) {
        let found = bisect(2, 1000, |len| {
            Ok(if len <= whole_to {
                Tried::Whole
            } else if len <= accepted_to {
                Tried::Damaged
            } else {
                Tried::Refused
            })
        });
        let found = found.unwrap();
        (found.whole, found.accepted)
    }

    #[test]
    fn both_limits_are_found_to_the_byte() {
        assert_eq!(bounds(250, 250), (Some(250), Some(250)));
        assert_eq!(bounds(100, 1000), (Some(100), None), "cut short without a word");
        assert_eq!(bounds(1000, 1000), (None, None));
        assert_eq!(bounds(999, 999), (Some(999), Some(999)));
    }
}
