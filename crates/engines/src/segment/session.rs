//! One thread's handle.

use std::cell::Cell;

use larder_segment::{Condition, Entry, Failed, Outcome, Set};
use larder_store::{Error, Meta, Remaining, Result, Session, SetMode, SetOptions, SetOutcome};

use crate::decimal::{self, Digits};

/// One thread's handle on a segment cache.
#[derive(Debug)]
pub(super) struct SegmentSession {
    engine: &'static str,
    inner: larder_segment::Session,
}

impl SegmentSession {
    pub(super) fn new(engine: &'static str, inner: larder_segment::Session) -> Self {
        Self { engine, inner }
    }

    /// A key that no entry can have is refused when it is asked for, too.
    fn check(&self, key: &[u8]) -> Result<()> {
        let limit = self.inner.cache().max_key();
        if key.len() > limit {
            return Err(Error::KeyTooLong { engine: self.engine, len: key.len(), limit });
        }
        Ok(())
    }
}

impl Session for SegmentSession {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.check(key)?;
        Ok(self.inner.get(key, value).map(|entry| meta(&entry)))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| self.check(key))?;
        self.inner.get_many(keys, &mut |i, value, entry| hit(i, value, meta(&entry)));
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let condition = match options.mode {
            SetMode::Set => Condition::None,
            SetMode::Add => Condition::Absent,
            SetMode::Replace => Condition::Present,
            SetMode::Cas(version) => Condition::Version(version),
            SetMode::Append => Condition::Append,
            SetMode::Prepend => Condition::Prepend,
        };
        let set = Set { condition, ttl: options.ttl, flags: options.flags };
        let outcome = self.inner.set(key, value, &set).map_err(|why| failed(self.engine, why))?;
        Ok(match outcome {
            Outcome::Stored(_) => SetOutcome::Stored,
            Outcome::NotStored => SetOutcome::NotStored,
            Outcome::Exists => SetOutcome::Exists,
            Outcome::NotFound => SetOutcome::NotFound,
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.delete(key).map_err(|why| failed(self.engine, why))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<std::time::Duration>) -> Result<bool> {
        self.inner.touch(key, ttl).map_err(|why| failed(self.engine, why))
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        let sum = Cell::new(None);
        let add = |old: &[u8], new: &mut Vec<u8>| {
            sum.set(decimal::add(old, delta));
            let Some(sum) = sum.get() else { return false };
            new.extend_from_slice(Digits::new(sum).as_bytes());
            true
        };
        match self.inner.revise(key, &add).map_err(|why| failed(self.engine, why))? {
            Outcome::Stored(_) => Ok(sum.get()),
            Outcome::NotStored => Err(Error::NotANumber { engine: self.engine }),
            Outcome::NotFound | Outcome::Exists => Ok(None),
        }
    }

    fn clear(&mut self) -> Result<()> {
        self.inner.clear();
        Ok(())
    }
}

fn meta(entry: &Entry) -> Meta {
    let ttl = entry.ttl.map_or(Remaining::Forever, Remaining::For);
    Meta { flags: entry.flags, version: Some(entry.version), ttl }
}

fn failed(engine: &'static str, why: Failed) -> Error {
    match why {
        Failed::Busy => Error::Busy { engine, what: why.to_string() },
        Failed::TooLarge { size, most } => Error::ValueTooLarge { engine, len: size, limit: most },
        Failed::KeyTooLong { size, most } => Error::KeyTooLong { engine, len: size, limit: most },
    }
}
