//! The trial of one target.

use std::time::{Duration, Instant};

use larder_report::TtlTrial;
use larder_store::{Error, Result, Session, SetOptions, SetOutcome};

use super::kind::{Again, KINDS, KeyKind, LASTING};
use super::ladder::{KEYS_OF_RUNG, Rung, rungs};
use super::{least_time, short, time_of_ladder};
use crate::plan::Plan;
use crate::target::Target;

/// The number of keys of each kind.
const KEYS: usize = 8;
/// Every second key has a value as long as the plan's longest, up to this many bytes: a store may treat large values
/// differently.
const LONGEST_VALUE: usize = 256 << 10;
/// These values take at most such a part of the plan's bytes, so that a cache into which the plan fits has room for
/// them.
const PART_OF_PLAN: u64 = 4;
/// The number of reads of a key within its TTL.
const READS_A_TTL: u32 = 4;

/// The keys of one target.
pub(super) struct Trial {
    /// The place of its target.
    pub(super) slot: usize,
    session: Box<dyn Session>,
    ttl: Duration,
    resolution: Duration,
    /// The value of every second key; each other key is its own value.
    long: Vec<u8>,
    /// The least length of two keys in four; the other keys are as short as possible.
    key_len: usize,
    /// The time after which a key is gone for certain.
    pub(super) time: Duration,
    /// The keys of each of [`KINDS`] that were acknowledged.
    keys: [Vec<Vec<u8>>; KINDS.len()],
    /// Keys with ever longer TTLs, the shortest first. Whenever the keys are asked for, one rung has more than half of
    /// its time behind it, but not all. A rung of 7 s that is asked for after 3.75 s has ended by a clock that runs
    /// twice as fast, after 3.5 s.
    ladder: Vec<Rung>,
    /// Every key that may be there, for removal in the end: a key whose set failed may be there all the same.
    placed: Vec<Vec<u8>>,
    /// The first error of a touch.
    touch_error: Option<String>,
    /// Whether the target did not answer in time: nothing more is asked of it.
    is_silent: bool,
    /// When the first key was set, and when the last one was acknowledged.
    began: Instant,
    pub(super) set: Instant,
    /// The time from the first set until all keys had been asked for once: a key that is gone by then may have
    /// outlived its TTL.
    asked: Duration,
    /// The rung that was asked for, and how many of its keys were there.
    middle: Option<(usize, usize)>,
    evictions: Option<u64>,
    /// `None` until the target was asked, and where that failed: the rounds show why.
    pub(super) found: Option<FoundKeys>,
    /// When the keys that are read meanwhile are due again.
    read_at: Instant,
}

/// The number of keys of each of [`KINDS`] that answered when they were asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundKeys {
    after: Duration,
    there: [usize; KINDS.len()],
}

impl Trial {
    /// Sets the keys. `None` where that fails, and then no key stays.
    pub(super) fn begin(plan: &Plan, target: &Target, slot: usize) -> Option<Self> {
        let point = plan.points_of(&target.planned).next()?;
        let mut trial = Self {
            slot,
            session: target.store.session().ok()?,
            ttl: short(target),
            resolution: target.capabilities.ttl_resolution,
            long: vec![b't'; longest_value(plan, target)],
            key_len: longest_key(plan, target),
            time: least_time(target),
            keys: Default::default(),
            placed: Vec::new(),
            touch_error: None,
            is_silent: false,
            began: Instant::now(),
            set: Instant::now(),
            asked: Duration::MAX,
            ladder: Vec::new(),
            middle: None,
            evictions: None,
            found: None,
            read_at: Instant::now(),
        };
        trial.evictions = target.store.stats().ok()?.evictions;
        for kind in KINDS {
            if !kind.is_touched() || target.capabilities.touch {
                trial.store(kind, point.keys.prefix()).ok()?;
            }
        }
        if let Some(time) = time_of_ladder(target) {
            trial.store_ladder(point.keys.prefix()).ok()?;
            trial.time = time;
        }
        trial.set = Instant::now();
        Some(trial)
    }

    /// Sets the keys of a kind, and touches them or sets them again where the kind includes that. A touch that fails
    /// says nothing of keys that were only set.
    fn store(&mut self, kind: KeyKind, prefix: &[u8]) -> Result<()> {
        let (ttl, again) = kind.ttls(self.ttl);
        for n in 0..KEYS {
            let key = self.key(prefix, &format!("t~{}{n}", kind.letter()), n);
            let is_long = n % 2 == 1;
            if !self.set(&key, ttl, is_long)? {
                continue;
            }
            let is_so = match again {
                None => true,
                Some((Again::Set, ttl)) => self.set(&key, ttl, is_long)?,
                Some((Again::Touch, ttl)) => match self.session.touch(&key, Some(ttl)) {
                    Ok(is_there) => is_there,
                    Err(error) => {
                        self.note_silence(&error);
                        self.touch_error.get_or_insert_with(|| error.to_string());
                        return if self.is_silent { Err(error) } else { Ok(()) };
                    }
                },
            };
            if is_so {
                self.keys[kind.place()].push(key);
            }
        }
        Ok(())
    }

    /// Sets the keys of the ladder.
    fn store_ladder(&mut self, prefix: &[u8]) -> Result<()> {
        for (number, ttl) in rungs(self.ttl, self.resolution).into_iter().enumerate() {
            let mut keys = Vec::new();
            for n in 0..KEYS_OF_RUNG {
                let key = self.key(prefix, &format!("t~{number}m{n}"), n);
                let is_set = self.set(&key, ttl, false)?;
                keys.extend(is_set.then_some(key));
            }
            self.ladder.push(Rung { ttl, keys });
        }
        Ok(())
    }

    /// The key of this name and number: two of four are as long as the plan's longest.
    fn key(&self, prefix: &[u8], name: &str, n: usize) -> Vec<u8> {
        let mut key = [prefix, name.as_bytes()].concat();
        if n % 4 >= 2 {
            key.resize(self.key_len.max(key.len()), b'x');
        }
        key
    }

    /// Sets one key; returns whether the set was acknowledged.
    fn set(&mut self, key: &[u8], ttl: Duration, is_long: bool) -> Result<bool> {
        // A second set of a key follows the first.
        if self.placed.last().is_none_or(|last| last != key) {
            self.placed.push(key.to_vec());
        }
        let options = SetOptions { ttl: Some(ttl), ..SetOptions::default() };
        let value = if is_long { &self.long } else { key };
        let outcome = self.session.set(key, value, &options);
        outcome.inspect_err(|error| self.note_silence(error)).map(SetOutcome::is_stored)
    }

    fn note_silence(&mut self, error: &Error) {
        self.is_silent |= matches!(error, Error::Timeout { .. });
    }

    /// Reads the keys that must expire although they are read, some times within their TTL. The answers do not matter
    /// here.
    pub(super) fn read_on(&mut self) {
        if self.is_silent || Instant::now() < self.read_at {
            return;
        }
        self.read_at = Instant::now() + self.ttl / READS_A_TTL;
        _ = self.there(KeyKind::Read);
    }

    /// Asks for the lowest rung that has a quarter of its TTL left. A busy machine holds a server's clock up, and what
    /// is set meanwhile ends so much earlier.
    fn ask_ladder(&mut self) {
        for number in 0..self.ladder.len() {
            let ends = self.ladder[number].ttl.saturating_sub(self.resolution) * 3 / 4;
            if self.began.elapsed() >= ends {
                continue;
            }
            let there = there(self.session.as_mut(), &self.ladder[number].keys);
            let Ok(there) = there.inspect_err(|error| self.note_silence(error)) else { return };
            // Nothing is known of a rung that ended meanwhile.
            if self.began.elapsed() < ends {
                self.middle = Some((number, there));
                return;
            }
        }
    }

    /// Whether a key answered that should be gone.
    pub(super) fn is_late(&self) -> bool {
        let late = |found: FoundKeys| {
            KINDS.iter().any(|kind| kind.must_go() && found.there[kind.place()] > 0)
        };
        self.found.is_some_and(late)
    }

    /// Asks for all keys.
    pub(super) fn ask(&mut self) {
        // Read before the question: of a key that answers late, no more than this is certain.
        let after = self.set.elapsed();
        let mut there = [0; KINDS.len()];
        for kind in KINDS {
            let Ok(number) = self.there(kind) else { return };
            there[kind.place()] = number;
        }
        self.asked = self.began.elapsed();
        self.ask_ladder();
        self.found = Some(FoundKeys { after, there });
    }

    /// Asks again for the keys that should be gone.
    pub(super) fn ask_again(&mut self) {
        let after = self.set.elapsed();
        let Some(mut found) = self.found.take() else { return };
        for kind in KINDS.into_iter().filter(|kind| kind.must_go()) {
            let Ok(number) = self.there(kind) else { return };
            found.there[kind.place()] = number;
        }
        self.found = Some(FoundKeys { after, ..found });
    }

    /// The number of keys of a kind that answer.
    fn there(&mut self, kind: KeyKind) -> Result<usize> {
        let keys = &self.keys[kind.place()];
        let there = there(self.session.as_mut(), keys);
        there.inspect_err(|error| self.note_silence(error))
    }

    /// The result. A key that was evicted meanwhile, or asked for too late, has not expired too early.
    pub(super) fn judged(&self, target: &Target) -> Option<TtlTrial> {
        let FoundKeys { after, there } = self.found?;
        let evictions = target.store.stats().ok().and_then(|stats| stats.evictions);
        let evicted = evictions.zip(self.evictions).map(|(now, then)| now.saturating_sub(then));
        let is_told = evicted.is_some() || !target.capabilities.evicts;
        let evicted = evicted.unwrap_or(0);
        let keys = |kind: KeyKind| self.keys[kind.place()].len() as u64;
        let there = |kind: KeyKind| there[kind.place()] as u64;
        let early = |kind: KeyKind, until: Duration| {
            let gone = keys(kind).saturating_sub(there(kind)).saturating_sub(evicted);
            if self.asked < until { gone } else { 0 }
        };
        let middle = self.middle.map(|(number, there)| (&self.ladder[number], there as u64));
        let middle_keys = middle.map_or(0, |(rung, _)| rung.keys.len() as u64);
        let middle_there = middle.map_or(0, |(_, there)| there);
        Some(TtlTrial {
            ttl_s: self.ttl.as_secs_f64(),
            resolution_s: self.resolution.as_secs_f64(),
            keys: keys(KeyKind::Mortal),
            late: there(KeyKind::Mortal),
            lasting_ttl_s: LASTING.as_secs_f64(),
            lasting_keys: keys(KeyKind::Lasting),
            early: early(KeyKind::Lasting, LASTING / 2),
            last_request_after_s: after.as_secs_f64(),
            middle_ttl_s: middle.map_or(0.0, |(rung, _)| rung.ttl.as_secs_f64()),
            middle_keys,
            middle_early: middle_keys.saturating_sub(middle_there).saturating_sub(evicted),
            touch_lengthened_keys: keys(KeyKind::Renewed),
            touch_lengthened_early: early(KeyKind::Renewed, LASTING / 2),
            touch_shortened_keys: keys(KeyKind::Shortened),
            touch_shortened_late: there(KeyKind::Shortened),
            set_lengthened_keys: keys(KeyKind::Prolonged),
            set_lengthened_early: early(KeyKind::Prolonged, LASTING / 2),
            set_shortened_keys: keys(KeyKind::Curtailed),
            set_shortened_late: there(KeyKind::Curtailed),
            read_keys: keys(KeyKind::Read),
            read_late: there(KeyKind::Read),
            evictions_reported: is_told,
            touch_error: self.touch_error.clone(),
        })
    }
}

impl Drop for Trial {
    /// Removes the keys that are still there, whatever became of the trial, so that they disturb nothing. Keys that
    /// cannot be removed expire by themselves, so that no run waits for a store that has fallen silent.
    fn drop(&mut self) {
        for key in &self.placed {
            if self.is_silent {
                return;
            }
            let removed = self.session.delete(key);
            self.is_silent = matches!(removed, Err(Error::Timeout { .. }));
        }
    }
}

/// The number of these keys that answer: half of them to one request for all, and the others to a request for each. No
/// key is asked for in both ways, because a server may remove an expired key when it finds it.
fn there(session: &mut dyn Session, keys: &[Vec<u8>]) -> Result<usize> {
    let (together, alone) = keys.split_at(keys.len() / 2);
    let (mut number, mut value) = (0, Vec::new());
    for key in alone {
        number += usize::from(session.get(key, &mut value)?.is_some());
    }
    let together: Vec<&[u8]> = together.iter().map(Vec::as_slice).collect();
    // A store may hand one key over twice.
    let mut answered = vec![false; together.len()];
    session.get_many(&together, &mut |at, _, _| answered[at] = true)?;
    Ok(number + answered.into_iter().filter(|it| *it).count())
}

/// The length of the plan's longest value, as far as a trial goes. In a cache with a capacity, long values would evict
/// other keys.
fn longest_value(plan: &Plan, target: &Target) -> usize {
    if target.planned.capacity.is_some() {
        return 1;
    }
    let points = || plan.points_of(&target.planned);
    let longest = points().map(|point| point.values.longest()).max().unwrap_or(0);
    let limits = &target.probed.limits;
    let limit = limits.max_value_len.unwrap_or(limits.probed_value_len);
    let plan_bytes = points().map(|point| point.working_set_bytes).min().unwrap_or(0);
    let room = plan_bytes / PART_OF_PLAN / (KINDS.len() * KEYS / 2) as u64;
    let fits = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    longest.min(LONGEST_VALUE).min(fits(limit)).min(fits(room)).max(1)
}

/// The length of the plan's longest key, as far as the target takes it.
fn longest_key(plan: &Plan, target: &Target) -> usize {
    let points = plan.points_of(&target.planned);
    let longest = points.map(|point| point.keys.longest()).max().unwrap_or(0);
    let limits = &target.probed.limits;
    let limit = limits.max_key_len.unwrap_or(limits.probed_key_len);
    longest.min(usize::try_from(limit).unwrap_or(usize::MAX))
}
