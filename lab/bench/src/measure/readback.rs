//! Read-back: acknowledged writes must hold. A value that was set is there, whole; a value that is set once more is
//! replaced; a key that was deleted is gone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_report::{Counts, OVERWRITES_FAILED};
use larder_store::{Error, Meta, Result, Session, SetOptions};

use super::key_state::KeyState;
use super::outcomes::{stored, verify};
use super::tally::{add_examples, count_wrong};
use crate::patience::patiently;
use larder_workload::{Composer, Correctness, KeySpace, NOTHING, ReadExpectation, Values};

/// At most this many keys are read back, one of each stride.
const MOST_KEYS: u32 = 20_000;
/// And at most this many bytes of values.
const MOST_BYTES: u64 = 256 << 20;
/// One in so many keys that are set once more is read right after its acknowledgement.
const READ_AT_ONCE: usize = 10;
/// At most this many keys are set once more: enough to see a store that keeps the first value of a key.
const MOST_OVERWRITTEN: u32 = 200;

/// The result of a read-back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// The number of keys that were read and the number of wrong ones; all other counts are 0.
    pub counts: Counts,
    /// The first wrong value of each kind, in words.
    pub examples: BTreeMap<String, String>,
}

impl ReadBack {
    /// Adds the results of keys that were set once more: an absent key counts as read back, too.
    pub(crate) fn add_overwritten(&mut self, again: &Self) {
        let mut counts = again.counts;
        counts.overwritten = counts.read_back - counts.read_back_absent;
        counts.read_back = counts.read_back_absent;
        add(&mut self.counts, &counts);
        add_examples(&mut self.examples, &again.examples);
    }

    /// Adds the counts of the read-back to the counts of an operation.
    pub(crate) fn count(&self, counts: &mut Counts) {
        add(counts, &self.counts);
    }

    /// Notes keys that were there and that could not be set once more.
    pub(crate) fn overwrite_failed(&mut self, keys: u64, words: impl FnOnce() -> String) {
        self.counts.overwrites_failed += keys;
        self.examples.entry(OVERWRITES_FAILED.to_owned()).or_insert_with(words);
    }

    fn wrong(&mut self, finding: Correctness, words: impl FnOnce() -> String) {
        let Some(name) = finding.name() else { return };
        self.counts.read_back_wrong += 1;
        count_wrong(&mut self.counts, finding);
        self.examples.entry(name.to_owned()).or_insert_with(words);
    }
}

/// Adds the counts of a read-back, without the store's own counts, which have been added before.
fn add(counts: &mut Counts, more: &Counts) {
    let none = Some(0);
    counts.add(&Counts { connections: none, wire_requests: none, evictions: none, ..*more });
}

/// A read-back: its keys, their values, and the sessions that carry it out.
pub(crate) struct Reader<'a> {
    pub(crate) keys: &'a KeySpace,
    pub(crate) values: &'a Values,
    pub(crate) state: &'a KeyState,
    /// The sessions of the threads. The first session reads; each session sets the keys of its thread, so that a key
    /// keeps its one writer.
    pub(crate) sessions: &'a mut [Box<dyn Session>],
    /// The options with which the values were set.
    pub(crate) set_options: SetOptions,
    /// The flags of values that are set once more: other flags than before, where the store keeps flags.
    pub(crate) flags_again: u32,
    /// The number of keys in one request of the plan.
    pub(crate) together: usize,
    pub(crate) stop: &'a AtomicBool,
}

impl Reader<'_> {
    /// Reads back acknowledged keys, every key or an even sample. Then sets some keys once more and reads these again.
    /// A stop of the run ends the read-back early.
    pub(crate) fn stored(&mut self) -> Result<ReadBack> {
        let mut found = ReadBack::default();
        let sampled: Vec<(u32, u32)> = samples(self.keys, self.values, self.state).collect();
        for (index, version) in &sampled {
            self.look(*index, *version, self.set_options.flags, &mut found)?;
        }
        let due: Vec<u32> = set_again(&sampled, self.state.base()).collect();
        if self.together > 1 {
            // A store may keep copies of its answers to requests for several keys.
            for keys in due.chunks(self.together) {
                self.ask_together(keys, &mut |_, _, _| {})?;
            }
        }
        let set = self.overwrite(due.into_iter(), &mut found)?;
        for (number, keys) in set.chunks(self.together).enumerate() {
            let mut again = ReadBack::default();
            let asked = if self.together > 1 && number % 2 == 0 {
                self.look_together(keys, self.flags_again, &mut again)?
            } else {
                vec![false; keys.len()]
            };
            for ((index, version), _) in keys.iter().zip(asked).filter(|(_, is_found)| !is_found) {
                self.look(*index, *version, self.flags_again, &mut again)?;
            }
            found.add_overwritten(&again);
        }
        Ok(found)
    }

    /// Looks for keys whose delete was acknowledged, every key or an even sample: no key may be there.
    pub(crate) fn deleted(&mut self) -> Result<ReadBack> {
        let mut found = ReadBack::default();
        for index in deleted(self.keys, self.values, self.state) {
            self.look(index, NOTHING, self.set_options.flags, &mut found)?;
        }
        Ok(found)
    }

    /// Sets keys to a newer version each; returns the keys that were acknowledged, and counts the others.
    fn overwrite(
        &mut self,
        keys: impl Iterator<Item = u32>,
        found: &mut ReadBack,
    ) -> Result<Vec<(u32, u32)>> {
        let mut composer = Composer::new(self.values);
        let mut key = Vec::new();
        let mut set = Vec::new();
        let mut n_set = 0_usize;
        for index in keys.take_while(|_| !self.stop.load(Ordering::Relaxed)) {
            key.clear();
            self.keys.write(index, &mut key);
            let version = self.state.next_version(index);
            let len = u32::try_from(self.values.len_of(index)).unwrap_or(u32::MAX);
            let value = composer.compose(index, version, len);
            let writer = index as usize % self.sessions.len();
            let session = &mut self.sessions[writer];
            let options = &SetOptions { flags: self.flags_again, ..self.set_options };
            match patiently(|| {
                let outcome = session.set(&key, value, options);
                stored(outcome, || session.engine())
            }) {
                Ok(()) => {
                    self.state.acknowledge(index, version);
                    n_set += 1;
                    let mut is_right = true;
                    if n_set % READ_AT_ONCE == 1 {
                        session.settle()?;
                        let mut at_once = ReadBack::default();
                        self.look(index, version, self.flags_again, &mut at_once)?;
                        let counts = at_once.counts;
                        is_right = counts.read_back_wrong + counts.read_back_absent == 0;
                        if !is_right {
                            found.add_overwritten(&at_once);
                        }
                    }
                    // A key that was counted is not read again.
                    if is_right {
                        set.push((index, version));
                    }
                }
                // A store that gives no answer is not asked for the next key.
                Err(error @ Error::Timeout { .. }) => return Err(error),
                Err(error) => {
                    // A set that failed may have left either value, or no value.
                    self.state.forget(index);
                    found.overwrite_failed(1, || error.to_string());
                }
            }
        }
        for session in &mut *self.sessions {
            session.settle()?;
        }
        Ok(set)
    }

    /// Reads one key, which was set with these flags. No version before `oldest` is right; with [`NOTHING`] no version
    /// is.
    fn look(
        &mut self,
        index: u32,
        oldest: u32,
        set_flags: u32,
        found: &mut ReadBack,
    ) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.keys.write(index, &mut key);
        let meta = patiently(|| self.reader().get(&key, &mut value))?;
        self.judge(index, oldest, set_flags, meta.map(|meta| (meta, &value[..])), found);
        Ok(())
    }

    /// Reads keys by one request; returns which of them were found. A key that was not found may be there all the
    /// same.
    fn look_together(
        &mut self,
        keys: &[(u32, u32)],
        set_flags: u32,
        found: &mut ReadBack,
    ) -> Result<Vec<bool>> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(vec![true; keys.len()]);
        }
        let indices: Vec<u32> = keys.iter().map(|(index, _)| *index).collect();
        let mut answers: Vec<Option<(Meta, Vec<u8>)>> = vec![None; keys.len()];
        self.ask_together(&indices, &mut |i, value, meta| answers[i] = Some((meta, value.into())))?;
        for (key, answer) in keys.iter().zip(&answers) {
            if let Some((meta, value)) = answer {
                let (index, oldest) = *key;
                self.judge(index, oldest, set_flags, Some((*meta, value)), found);
            }
        }
        Ok(answers.iter().map(Option::is_some).collect())
    }

    /// Asks for keys by one request.
    fn ask_together(
        &mut self,
        indices: &[u32],
        hit: &mut dyn FnMut(usize, &[u8], Meta),
    ) -> Result<()> {
        let written = |index: &u32| {
            let mut key = Vec::new();
            self.keys.write(*index, &mut key);
            key
        };
        let keys: Vec<Vec<u8>> = indices.iter().map(written).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        patiently(|| self.reader().get_many(&keys, hit))
    }

    /// The session that reads.
    fn reader(&mut self) -> &mut dyn Session {
        &mut **self.sessions.first_mut().expect("a plan has at least one thread")
    }

    /// Judges and counts the answer for a key, of which no version before `oldest` is right.
    fn judge(
        &self,
        index: u32,
        oldest: u32,
        set_flags: u32,
        answer: Option<(Meta, &[u8])>,
        found: &mut ReadBack,
    ) {
        let is_deleted = oldest == NOTHING;
        found.counts.read_back += u64::from(!is_deleted);
        found.counts.deletes_read_back += u64::from(is_deleted);
        if let Some((Meta { flags, .. }, value)) = answer {
            let finding = verify(self.values, self.state, false, index, oldest, value);
            // A number that a count has made has no flags.
            let has_flags = !self.values.is_counter(index);
            let asked = ReadExpectation { key: index, oldest, base: self.state.base() };
            if finding == Correctness::Right && flags != set_flags && has_flags {
                // A client decides by the flags how to decode a value.
                let key = self.keys.shown(index);
                let words = || {
                    format!("`{key}` came back with flags {flags}, and was set with {set_flags}")
                };
                found.wrong(Correctness::Damaged, words);
            } else {
                found.wrong(finding, || self.values.describe(self.keys, asked, finding, value));
            }
        } else if !is_deleted {
            found.counts.read_back_absent += 1;
        }
    }
}

/// The acknowledged keys that are read back, each with its version.
pub(crate) fn samples(
    keys: &KeySpace,
    values: &Values,
    state: &KeyState,
) -> impl Iterator<Item = (u32, u32)> {
    let sampled = spread(keys.count(), step(keys, values), state.base());
    sampled.filter_map(|index| Some((index, state.acked(index)?)))
}

/// The deleted keys that are looked for.
pub(crate) fn deleted(
    keys: &KeySpace,
    values: &Values,
    state: &KeyState,
) -> impl Iterator<Item = u32> {
    let sampled = spread(keys.count(), step(keys, values), state.base());
    sampled.filter(|index| state.is_deleted(*index))
}

/// The keys to set once more, out of the keys that were read back.
pub(crate) fn set_again(sampled: &[(u32, u32)], turn: u32) -> impl Iterator<Item = u32> {
    let all = u32::try_from(sampled.len()).unwrap_or(u32::MAX);
    spread(all, all.div_ceil(MOST_OVERWRITTEN).max(1), turn).map(|at| sampled[at as usize].0)
}

/// One number of each stride below `all`, at a drawn place that is another in the next turn. With equal strides, a
/// fault of every second key would show in all keys that are taken, or in no key.
pub(crate) fn spread(all: u32, stride: u32, turn: u32) -> impl Iterator<Item = u32> {
    let place = move |first: u32| {
        let seed = u64::from(turn) << 32 | u64::from(first);
        let within = rapidhash::v3::rapidhash_v3(&seed.to_le_bytes()) % u64::from(stride);
        first.saturating_add(u32::try_from(within).unwrap_or(0))
    };
    (0..all).step_by(stride as usize).map(place).filter(move |at| *at < all)
}

/// The stride of the read-back that keeps keys and bytes within their bounds.
fn step(keys: &KeySpace, values: &Values) -> u32 {
    let sample = keys.count().min(1000);
    let bytes: u64 = (0..sample).map(|index| values.len_of(index) as u64).sum();
    let all_bytes = bytes / u64::from(sample.max(1)) * u64::from(keys.count());
    let steps = u64::from(keys.count().div_ceil(MOST_KEYS)).max(all_bytes.div_ceil(MOST_BYTES));
    u32::try_from(steps.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_of_each_stride_is_taken_and_not_all_of_one_kind() {
        let taken: Vec<u32> = spread(40_000, 2, 7).collect();
        assert_eq!(taken.len(), 20_000);
        assert!(taken.iter().zip((0..).step_by(2)).all(|(at, first)| at - first < 2));
        let odd = taken.iter().filter(|at| *at % 2 == 1).count();
        assert!((9_000..11_000).contains(&odd), "{odd} of 20000");
        assert_ne!(taken, spread(40_000, 2, 8).collect::<Vec<_>>());
        assert_eq!(spread(5, 1, 7).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
