//! One thread's handle: a connection with its prepared statements.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_store::{Error, Meta, Remaining, Result, Session, SetMode, SetOptions, SetOutcome};
use rusqlite::{Connection, Row};

use super::SCHEME;
use super::config::MAX_KEY_LEN;
use super::statements::MAX_BATCH;
use super::store::Shared;
use super::writer::{Terms, Writer};
use crate::counters::SessionCounters;
use crate::decimal::{self, Digits};

/// One thread's handle on an SQLite store.
pub(super) struct SqliteSession {
    shared: Arc<Shared>,
    connection: Connection,
    counters: Arc<SessionCounters>,
    versions: Versions,
    /// The value that a new one is joined to.
    value: Vec<u8>,
}

/// What became of an incr inside its transaction.
enum Sum {
    Absent,
    NotANumber,
    Is(u64),
}

/// Versions for the entries that a session stores: microseconds since 1970, then bits that tell sessions apart.
struct Versions {
    salt: u64,
}

impl Versions {
    const SALT_BITS: u32 = 11;

    fn new() -> Self {
        let salt = RandomState::new().hash_one(std::process::id());
        Self { salt: salt >> (u64::BITS - Self::SALT_BITS) }
    }

    fn next(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or_default();
        // 52 bits of microseconds last until 2112.
        i64::try_from(micros << Self::SALT_BITS | self.salt).unwrap_or(i64::MAX - 1)
    }
}

impl SqliteSession {
    pub(super) fn new(shared: Arc<Shared>, connection: Connection) -> Self {
        let counters = shared.counters.session();
        Self { shared, connection, counters, versions: Versions::new(), value: Vec::new() }
    }

    /// Does `work` when it is this session's turn, then what is due for all. The entry that is written has about
    /// this length.
    fn write<T>(
        &mut self,
        entry_len: usize,
        work: impl FnOnce(Writer<'_>, &mut Vec<u8>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let shared = &*self.shared;
        let mut turn = shared.upkeep.turn();
        let writer = Writer {
            connection: &self.connection,
            statements: &shared.statements,
            now_ms: shared.now_ms(),
            version: self.versions.next(),
        };
        let done = work(writer, &mut self.value).and_then(|done| {
            shared.upkeep.after_write(&mut turn, writer, entry_len, &shared.dropped)?;
            Ok(done)
        });
        done.map_err(|error| shared.error(&error))
    }

    fn terms(&self, options: &SetOptions) -> Terms {
        (self.shared.deadline_ms(options.ttl), options.flags)
    }

    /// Appends or prepends; `Err` is the length that was refused.
    fn join(&mut self, key: &[u8], value: &[u8], front: bool) -> Result<Result<SetOutcome, usize>> {
        let limit = self.shared.max_value_len;
        self.write(key.len() + value.len(), |writer, joined| {
            writer.transaction(|| {
                joined.clear();
                if front {
                    joined.extend_from_slice(value);
                }
                if !writer.read(key, joined)? {
                    return Ok(Ok(SetOutcome::NotStored));
                }
                if !front {
                    joined.extend_from_slice(value);
                }
                if joined.len() > limit {
                    writer.delete(key)?;
                    return Ok(Err(joined.len()));
                }
                writer.set_value(key, joined)?;
                Ok(Ok(SetOutcome::Stored))
            })
        })
    }
}

impl Session for SqliteSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        check_key(key)?;
        let shared = &*self.shared;
        shared.upkeep.stand_back();
        let now_ms = shared.now_ms();
        let mut look_up = || {
            let mut get = self.connection.prepare_cached(&shared.statements.get)?;
            let mut rows = get.query((key, now_ms))?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let (bytes, meta) = entry(row, 0, now_ms)?;
            value.extend_from_slice(bytes);
            Ok(Some(meta))
        };
        let found = look_up().map_err(|error| shared.error(&error))?;
        Ok(self.counters.looked_up(found))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let shared = &*self.shared;
        shared.upkeep.stand_back();
        let now_ms = shared.now_ms();
        for (n, batch) in keys.chunks(MAX_BATCH).enumerate() {
            let mut look_up = || {
                let n_places = batch.len().next_power_of_two();
                let sql = &shared.statements.get_many[n_places.ilog2() as usize];
                let mut get_many = self.connection.prepare_cached(sql)?;
                get_many.raw_bind_parameter(1, now_ms)?;
                for place in 0..n_places {
                    get_many.raw_bind_parameter(place + 2, batch.get(place))?;
                }
                let mut rows = get_many.raw_query();
                let mut n_hits = 0;
                while let Some(row) = rows.next()? {
                    let (bytes, meta) = entry(row, 1, now_ms)?;
                    let place = usize::from(row.get::<_, u8>(0)?);
                    hit(n * MAX_BATCH + place, bytes, meta);
                    n_hits += 1;
                }
                Ok(n_hits)
            };
            let n_hits = look_up().map_err(|error| shared.error(&error))?;
            for place in 0..batch.len() {
                self.counters.looked_up((place < n_hits).then_some(()));
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        check_key(key)?;
        let limit = self.shared.max_value_len;
        if value.len() > limit {
            self.write(0, |writer, _| writer.delete(key))?;
            return Err(Error::ValueTooLarge { engine: SCHEME, len: value.len(), limit });
        }
        let terms = self.terms(options);
        let entry_len = key.len() + value.len();
        let or_not = |stored: bool| if stored { SetOutcome::Stored } else { SetOutcome::NotStored };
        let outcome = match options.mode {
            SetMode::Set => {
                self.write(entry_len, |writer, _| writer.set(key, value, terms))?;
                SetOutcome::Stored
            }
            SetMode::Add => {
                or_not(self.write(entry_len, |writer, _| writer.add(key, value, terms))?)
            }
            SetMode::Replace => {
                or_not(self.write(entry_len, |writer, _| writer.replace(key, value, terms, None))?)
            }
            SetMode::Cas(version) => self.write(entry_len, |writer, found| {
                // No version of ours is negative, and so none that is too large for SQLite is there.
                let version = i64::try_from(version).unwrap_or(-1);
                if writer.replace(key, value, terms, Some(version))? {
                    return Ok(SetOutcome::Stored);
                }
                found.clear();
                let is_there = writer.read(key, found)?;
                Ok(if is_there { SetOutcome::Exists } else { SetOutcome::NotFound })
            })?,
            SetMode::Append | SetMode::Prepend => {
                let front = options.mode == SetMode::Prepend;
                self.join(key, value, front)?.map_err(|len| Error::ValueTooLarge {
                    engine: SCHEME,
                    len,
                    limit,
                })?
            }
        };
        if outcome == SetOutcome::Stored {
            self.counters.sets.add_one();
        }
        Ok(outcome)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        check_key(key)?;
        let deleted = self.write(0, |writer, _| writer.delete(key))?;
        if deleted {
            self.counters.deletes.add_one();
        }
        Ok(deleted)
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        check_key(key)?;
        let deadline_ms = self.shared.deadline_ms(ttl);
        self.write(0, |writer, _| writer.touch(key, deadline_ms))
    }

    fn incr(&mut self, key: &[u8], delta: i64) -> Result<Option<u64>> {
        check_key(key)?;
        let sum = self.write(key.len(), |writer, value| {
            writer.transaction(|| {
                value.clear();
                if !writer.read(key, value)? {
                    return Ok(Sum::Absent);
                }
                let Some(sum) = decimal::add(value, delta) else { return Ok(Sum::NotANumber) };
                writer.set_value(key, Digits::new(sum).as_bytes())?;
                Ok(Sum::Is(sum))
            })
        })?;
        match sum {
            Sum::Is(sum) => Ok(Some(sum)),
            Sum::Absent => Ok(None),
            Sum::NotANumber => Err(Error::NotANumber { engine: SCHEME }),
        }
    }

    fn clear(&mut self) -> Result<()> {
        self.write(0, |writer, _| writer.clear())
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() <= MAX_KEY_LEN {
        return Ok(());
    }
    Err(Error::KeyTooLong { engine: SCHEME, len: key.len(), limit: MAX_KEY_LEN })
}

/// Value and meta of a row, from the column `first` on.
fn entry<'r>(row: &'r Row<'_>, first: usize, now_ms: i64) -> rusqlite::Result<(&'r [u8], Meta)> {
    let deadline_ms: Option<i64> = row.get(first + 3)?;
    let ttl = deadline_ms.map_or(Remaining::Forever, |deadline_ms| {
        let left = u64::try_from(deadline_ms - now_ms).unwrap_or_default();
        Remaining::For(Duration::from_millis(left))
    });
    let flags = row.get(first + 1)?;
    let version = Some(row.get::<_, i64>(first + 2)?.unsigned_abs());
    Ok((row.get_ref(first)?.as_blob()?, Meta { flags, version, ttl }))
}
