//! The write-behind queue: writes that a thread of its own carries out in the lowest tier, while their callers go on.
//!
//! With `write=behind` these are sets. In every stack they are removals of keys whose last write failed, because nobody
//! knows whether it took effect. What waits is lost when the process is killed.

mod held_write;
mod pending;
mod state;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use larder_store::{Counter, Error, Meta, Put, Remaining, Result, SetMode, SetOptions};

pub(crate) use self::held_write::HeldWrite;
use self::pending::{Done, Pending};
use self::state::QueuedWrite;
pub(crate) use self::state::Write;
use crate::SCHEME;
use crate::fill_token::FillToken;
use crate::rules::{in_time, is_unanswered};
use crate::tier::{Tier, TierSession};
use crate::tokens::Tokens;

/// The shortest pause after a failure, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];
/// The time for which failed writes are tried again after the end of their stack.
const LAST: Duration = Duration::from_secs(1);

/// The write-behind queue of a stack. Dropping it carries out what still waits, unless the lowest tier fails for a second.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    pending: Arc<Pending>,
    tiers: Vec<Arc<Tier>>,
    tokens: Arc<Tokens>,
    /// Started with the first write.
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl WriteBehind {
    pub(crate) fn new(max_bytes: usize, tiers: &[Arc<Tier>], tokens: &Arc<Tokens>) -> Self {
        Self {
            pending: Arc::new(Pending::new(max_bytes)),
            tiers: tiers.to_vec(),
            tokens: Arc::clone(tokens),
            worker: Mutex::default(),
        }
    }

    /// Has a value written later.
    pub(crate) fn set(&self, put: &Put<'_>) -> Result<()> {
        self.start()?;
        let Put { key, value, options } = *put;
        let end = options.ttl.map(in_time);
        self.pending.put(key, Write::Set { value: value.into(), flags: options.flags, end })
    }

    /// Has a key removed later, whose last write may have failed or not.
    pub(crate) fn invalidate(&self, key: &[u8]) {
        if self.start().is_ok() {
            self.pending.invalidate(key);
        }
    }

    /// Copies a value that the lowest tier has not got yet, and returns its metadata.
    pub(crate) fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Option<Meta> {
        if self.is_empty() {
            return None;
        }
        let copy = |write: &Write| {
            let Write::Set { value: queued, flags, end } = write else { return None };
            value.clear();
            value.extend_from_slice(queued);
            let left = |end: Instant| Remaining::For(end.saturating_duration_since(Instant::now()));
            let ttl = end.map_or(Remaining::Forever, left);
            Some(Meta { flags: *flags, ttl, ..Meta::default() })
        };
        self.pending.look(key, copy).flatten()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a write of a key waits.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        !self.is_empty() && self.pending.look(key, |_| ()).is_some()
    }

    /// Holds a queued write back, before one that is carried out at once.
    pub(crate) fn hold(&self, key: &[u8]) -> Result<Option<HeldWrite>> {
        if self.is_empty() { Ok(None) } else { self.pending.hold(key, |_| true) }
    }

    /// Holds the removal of a key back, for a caller that carries it out itself.
    pub(crate) fn hold_removal(&self, key: &[u8]) -> Result<Option<HeldWrite>> {
        if self.is_empty() {
            return Ok(None);
        }
        self.pending.hold(key, |write| *write == Write::Remove)
    }

    /// Takes all queued writes back, before a removal of everything.
    pub(crate) fn take_all(&self) -> Result<Vec<(Box<[u8]>, Write)>> {
        if self.is_empty() { Ok(Vec::new()) } else { self.pending.take_all() }
    }

    /// Lets a write wait again that was taken, unless a newer one waits.
    pub(crate) fn put_back(&self, key: &[u8], taken: Write) {
        self.pending.put_back(key, taken);
    }

    /// Waits until the lowest tier has the queued set of a key, before an operation that depends on it.
    pub(crate) fn settle(&self, key: &[u8]) -> Result<()> {
        if self.is_empty() { Ok(()) } else { self.pending.settle(key) }
    }

    /// As [`Self::settle`] for many keys, within the time for one.
    pub(crate) fn settle_many<'k>(
        &self,
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
    ) -> Vec<Result<()>> {
        if self.is_empty() {
            keys.map(|_| Ok(())).collect()
        } else {
            self.pending.settle_many(keys)
        }
    }

    /// Waits until the lowest tier has all writes.
    pub(crate) fn settle_all(&self) -> Result<()> {
        self.pending.settle_all()
    }

    pub(crate) fn counters(&self) -> [Counter; 1] {
        let [_, lost] = self.pending.counts();
        [Counter { name: "late_writes_lost", value: lost }]
    }

    fn start(&self) -> Result<()> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            let (pending, tiers) = (Arc::clone(&self.pending), self.tiers.clone());
            let tokens = Arc::clone(&self.tokens);
            let named = thread::Builder::new().name("larder-late".into());
            let started = named.spawn(move || work(&pending, &tiers, &tokens));
            let what = "starting the thread of queued writes".to_owned();
            *worker = Some(started.map_err(|source| Error::Io { engine: SCHEME, what, source })?);
        }
        Ok(())
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.pending.end();
        let worker = self.worker.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = worker.take() {
            let _ = worker.join();
        }
    }
}

/// Carries out writes until the end, and a little longer where the last ones fail.
fn work(pending: &Pending, tiers: &[Arc<Tier>], tokens: &Tokens) {
    let [shortest, longest] = PAUSES;
    let (mut sessions, mut pause, mut last) = (Vec::new(), shortest, None);
    while let Some(batch) = pending.next() {
        let opened = open(&mut sessions, tiers);
        let results = match opened {
            Ok(()) => write(&mut sessions, pending, tokens, &batch),
            Err(_) => vec![Done::Again; batch.len()],
        };
        pending.done(&batch, &results);
        if results.iter().any(|result| *result != Done::Again) {
            pause = shortest;
        } else if !pending.rest(pause) {
            pause = longest.min(2 * pause);
        } else if *last.get_or_insert_with(|| in_time(LAST)) > Instant::now() {
            thread::sleep(shortest);
        } else {
            pending.give_up();
            return;
        }
    }
}

fn open(sessions: &mut Vec<TierSession>, tiers: &[Arc<Tier>]) -> Result<()> {
    if sessions.is_empty() {
        *sessions = tiers.iter().map(TierSession::open).collect::<Result<_>>()?;
    }
    Ok(())
}

/// Writes a batch to the lowest tier: all sets in one request, and all removals in another.
fn write(
    sessions: &mut [TierSession],
    pending: &Pending,
    tokens: &Tokens,
    batch: &[QueuedWrite],
) -> Vec<Done> {
    let Some((lowest, above)) = sessions.split_last_mut() else { return Vec::new() };
    let now = Instant::now();
    let mut results = vec![Done::Again; batch.len()];
    let (mut puts, mut put_places) = (Vec::new(), Vec::new());
    let (mut keys, mut key_places) = (Vec::<&[u8]>::new(), Vec::new());
    for (i, queued) in batch.iter().enumerate() {
        match &queued.write {
            Write::Set { value, flags, end } => {
                let ttl = end.map(|end| end.saturating_duration_since(now));
                let options = SetOptions { ttl, flags: *flags, mode: SetMode::Set };
                puts.push(Put { key: &queued.key, value, options });
                put_places.push(i);
            }
            Write::Remove => {
                keys.push(&queued.key);
                key_places.push(i);
            }
        }
    }
    if !puts.is_empty() {
        let _ = lowest.session.set_many(&puts, &mut |i, outcome| {
            results[put_places[i]] = done(outcome.map(drop));
        });
    }
    if !keys.is_empty() {
        let _ = lowest.session.delete_many(&keys, &mut |i, outcome| {
            results[key_places[i]] = done(outcome.map(drop));
        });
    }
    for (queued, result) in batch.iter().zip(&results) {
        if *result != Done::Again {
            agree(above, pending, tokens, queued, *result);
        }
    }
    results
}

fn done(outcome: Result<()>) -> Done {
    match outcome {
        Ok(()) => Done::Written,
        // A store without room for this value may have room for others.
        Err(Error::Full { .. }) => Done::Lost,
        Err(error) if is_unanswered(&error) => Done::Again,
        Err(_) => Done::Lost,
    }
}

/// Makes the tiers above agree with a write that has left. Other processes that share them may have filled in the value of
/// before, which the lowest tier had until now.
fn agree(
    above: &mut [TierSession],
    pending: &Pending,
    tokens: &Tokens,
    queued: &QueuedWrite,
    done: Done,
) {
    if !pending.is_newest(queued) {
        return;
    }
    let mut fill_token = FillToken::of_writer(above, tokens, &queued.key);
    let mut held = Vec::new();
    for tier in above.iter_mut().rev() {
        let is_same = match (&queued.write, done) {
            (Write::Set { value, .. }, Done::Written) => {
                let found = tier.session.get(&queued.key, &mut held);
                matches!(found, Ok(None)) || found.is_ok() && *held == **value
            }
            _ => false,
        };
        if !is_same {
            fill_token.drop_key(tier, tokens, &queued.key);
        }
    }
}
