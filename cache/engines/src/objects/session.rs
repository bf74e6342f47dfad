//! One thread's handle: the shared cache, and counters of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_store::{
    Counted, DeleteOutcome, Delta, Error, Facts, Initial, Meta, Remaining, Result, Session,
    SetMode, SetOptions, SetOutcome,
};

use larder_store::counters::SessionCounters;

use super::{Entry, Objects, Shared};
use crate::decimal::{self, Digits};

/// One thread's handle.
#[derive(Debug)]
pub(crate) struct ObjectSession<O> {
    counters: Arc<SessionCounters>,
    shared: Arc<Shared<O>>,
}

impl<O: Objects> ObjectSession<O> {
    pub(crate) fn new(shared: Arc<Shared<O>>) -> Self {
        Self { counters: shared.counters.session(), shared }
    }

    /// Stores an entry, or removes the key when the deadline has passed already.
    fn insert(&self, key: &[u8], entry: Entry) {
        match entry.deadline {
            Some(deadline) if deadline <= Instant::now() => drop(self.shared.objects.remove(key)),
            _ => self.shared.objects.insert(key.into(), entry),
        }
    }

    /// Gives an entry a new TTL, and returns the entry.
    fn touch_entry(&self, key: &[u8], ttl: Option<Duration>) -> Option<Entry> {
        let _turn = self.shared.lock(key);
        let entry = Entry { deadline: deadline(ttl), ..self.shared.objects.get(key)? };
        self.insert(key, entry.clone());
        Some(entry)
    }

    /// Refuses a value that no entry can hold; a plain set removes the older entry too.
    fn check_len(&self, key: &[u8], mode: SetMode, len: usize) -> Result<()> {
        let limit = self.shared.objects.max_value_len();
        if len > limit {
            if mode == SetMode::Set {
                self.shared.objects.remove(key);
            }
            return Err(Error::ValueTooLarge { engine: O::SCHEME, len, limit });
        }
        Ok(())
    }
}

/// The deadline of an entry that is stored now; a time beyond the range of the clock means never.
fn deadline(ttl: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(ttl?)
}

impl<O: Objects> Session for ObjectSession<O> {
    fn engine(&self) -> &'static str {
        O::SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        let found = self.counters.looked_up(self.shared.objects.get(key));
        Ok(found.map(|entry| {
            out.extend_from_slice(&entry.value);
            meta(&entry)
        }))
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        let found = self.counters.looked_up(self.shared.objects.get(key));
        Ok(found.map(|entry| Facts::of(meta(&entry), entry.value.len())))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        value.clear();
        let touched = self.touch_entry(key, ttl);
        Ok(self.counters.looked_up(touched).map(|entry| {
            value.extend_from_slice(&entry.value);
            meta(&entry)
        }))
    }

    /// There is no round trip to save, but the caller reads the values without a copy.
    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            if let Some(entry) = self.counters.looked_up(self.shared.objects.get(key)) {
                hit(i, &entry.value, meta(&entry));
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let mut version = self.shared.lock(key);
        let old = match options.mode {
            SetMode::Set => None,
            _ => self.shared.objects.get(key),
        };
        let new = |value: Arc<[u8]>| Entry {
            value,
            flags: options.flags,
            version: *version + 1,
            deadline: deadline(options.ttl),
        };
        if let Some(refused) = options.mode.refusal(old.as_ref().map(|old| old.version)) {
            return Ok(refused);
        }
        let entry = if let (SetMode::Append | SetMode::Prepend, Some(old)) = (options.mode, old) {
            self.check_len(key, options.mode, old.value.len() + value.len())?;
            let parts = match options.mode {
                SetMode::Append => [&*old.value, value],
                _ => [value, &*old.value],
            };
            Entry { value: parts.concat().into(), version: *version + 1, ..old }
        } else {
            self.check_len(key, options.mode, value.len())?;
            new(value.into())
        };
        *version += 1;
        let stored = entry.version;
        self.insert(key, entry);
        self.counters.sets.add_one();
        Ok(SetOutcome::Stored(Some(stored)))
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let _turn = self.shared.lock(key);
        // A cache also returns an expired entry that it has not removed yet.
        let now = Instant::now();
        let removed = self.shared.objects.remove(key);
        let there = removed.is_some_and(|entry| entry.deadline.is_none_or(|end| end > now));
        if there {
            self.counters.deletes.add_one();
        }
        Ok(there)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let _turn = self.shared.lock(key);
        let Some(entry) = self.shared.objects.get(key) else { return Ok(DeleteOutcome::NotFound) };
        if entry.version != version {
            return Ok(DeleteOutcome::Exists);
        }
        self.shared.objects.remove(key);
        self.counters.deletes.add_one();
        Ok(DeleteOutcome::Deleted)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        Ok(self.touch_entry(key, ttl).is_some())
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        let mut version = self.shared.lock(key);
        let counted = match (self.shared.objects.get(key), absent) {
            (Some(entry), _) => {
                let sum = decimal::add(&entry.value, delta);
                (sum.ok_or(Error::NotANumber { engine: O::SCHEME })?, entry.flags, entry.deadline)
            }
            (None, Some(Initial { number, ttl })) => (number, 0, deadline(ttl)),
            (None, None) => return Ok(None),
        };
        let (number, flags, deadline) = counted;
        *version += 1;
        let value = Digits::new(number).as_bytes().into();
        self.insert(key, Entry { value, flags, version: *version, deadline });
        Ok(Some(Counted { number, version: Some(*version) }))
    }

    fn clear(&mut self) -> Result<()> {
        self.shared.objects.clear();
        Ok(())
    }
}

fn meta(entry: &Entry) -> Meta {
    let ttl = match entry.deadline {
        None => Remaining::Forever,
        Some(deadline) => Remaining::For(deadline.saturating_duration_since(Instant::now())),
    };
    Meta { flags: entry.flags, version: Some(entry.version), ttl, stale: false }
}
