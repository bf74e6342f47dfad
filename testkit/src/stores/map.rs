//! The store that keeps every promise: a map behind a lock, with the fault it was opened with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use larder_store::{
    Capabilities, Catalog, Clock, Counted, DeleteOutcome, Delta, Error, FoundEntry, Groups,
    Initial, Leases, Meta, Put, Remaining, Result, Session, SetDone, SetMode, SetOptions,
    SetOutcome, Stats, Store, StoreInfo, StoreUrl, Token, Waits, check_tag,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::fault::Fault;
use super::pipe::Pipe;

pub(super) const SCHEME: &str = "map";

/// The longest key, so that cases about keys beyond a limit have a store without faults.
const MAX_KEY_LEN: usize = 1 << 16;

/// The options of `map:`, which has no option.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MapOptions {}

pub(super) fn schema() -> schemars::Schema {
    schemars::schema_for!(MapOptions)
}

pub(super) fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let MapOptions {} = url.options(SCHEME)?;
    Ok(MapStore::open(SCHEME, url, Fault::None))
}

/// An open map.
#[derive(Debug)]
pub(super) struct MapStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) scheme: &'static str,
    url: String,
    pub(super) fault: Fault,
    pub(super) clock: Clock,
    map: Mutex<Map>,
}

/// The entries, and the counts of operations.
#[derive(Debug, Default)]
pub(super) struct Map {
    pub(super) entries: HashMap<Vec<u8>, Entry>,
    pub(super) operations: u64,
    versions: u64,
    counts: u64,
    stats: [u64; 4],
    /// The leases by their keys: the number of each, and its end.
    pub(super) leases: HashMap<Vec<u8>, (u64, u64)>,
    /// The state of each key's tokens: it is another one after every change.
    pub(super) changes: HashMap<Vec<u8>, u64>,
    /// The same for keys that were not changed since the last clear.
    pub(super) before: u64,
    /// The last number of a lease or of a change.
    pub(super) numbers: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) value: Vec<u8>,
    flags: u32,
    pub(super) deadline_ms: Option<u64>,
    version: u64,
    tag: Option<Vec<u8>>,
    pub(super) is_stale: bool,
}

impl Entry {
    pub(super) fn has_passed(&self, now_ms: u64) -> bool {
        self.deadline_ms.is_some_and(|deadline| deadline <= now_ms)
    }

    pub(super) fn meta(&self, now_ms: u64) -> Meta {
        let left = |deadline: u64| Duration::from_millis(deadline.saturating_sub(now_ms));
        let ttl = self.deadline_ms.map_or(Remaining::Forever, |at| Remaining::For(left(at)));
        Meta { flags: self.flags, version: Some(self.version), ttl, stale: self.is_stale }
    }
}

impl MapStore {
    pub(super) fn open(scheme: &'static str, url: &StoreUrl, fault: Fault) -> Arc<dyn Store> {
        let shared = Shared {
            scheme,
            url: url.to_string(),
            fault,
            clock: Clock::system(),
            map: Mutex::default(),
        };
        Arc::new(Self { shared: Arc::new(shared) })
    }
}

impl Store for MapStore {
    fn info(&self) -> StoreInfo {
        StoreInfo {
            scheme: self.shared.scheme,
            url: self.shared.url.clone(),
            ..StoreInfo::default()
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: true,
            ttl: true,
            ttl_resolution: Duration::from_millis(1),
            ttl_left: true,
            flags: true,
            add: true,
            version: true,
            append: true,
            incr: true,
            touch: true,
            get_and_touch: true,
            groups: true,
            leases: true,
            tokens: true,
            pipeline: true,
            clear: true,
            reads_wait: Waits::Lock,
            writes_wait: Waits::Lock,
            max_key_len: Some(MAX_KEY_LEN),
            ..Capabilities::default()
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(MapSession { shared: Arc::clone(&self.shared), pipe: Pipe::default() }))
    }

    fn stats(&self) -> Result<Stats> {
        let map = self.shared.lock();
        let [hits, misses, sets, deletes] = map.stats.map(Some);
        let mut stats = Stats::default();
        (stats.hits, stats.misses, stats.sets, stats.deletes) = (hits, misses, sets, deletes);
        stats.items = Some(map.entries.len() as u64);
        let bytes = |(key, entry): (&Vec<u8>, &Entry)| key.len() + entry.value.len();
        stats.bytes = Some(map.entries.iter().map(bytes).sum::<usize>() as u64);
        Ok(stats)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The beginning of every operation: the check of the key, then the fault's delay or failure, then the lock, then the
    /// removal of an expired entry under the key.
    pub(super) fn begin(&self, key: &[u8]) -> Result<MutexGuard<'_, Map>> {
        if key.len() > MAX_KEY_LEN {
            let engine = self.scheme;
            return Err(Error::KeyTooLong { engine, len: key.len(), limit: MAX_KEY_LEN });
        }
        self.fault.pass_time(|| u32::try_from(self.lock().operations).unwrap_or(u32::MAX));
        let mut map = self.lock();
        map.operations += 1;
        self.fault.fail(self.scheme, map.operations)?;
        let now = self.clock.now_ms();
        if map.entries.get(key).is_some_and(|entry| entry.has_passed(now)) {
            map.entries.remove(key);
        }
        Ok(map)
    }

    /// The answer to a hit: the value, or another key's value of the same length if there is one.
    fn answer<'a>(&self, map: &'a Map, key: &[u8], value: &'a [u8]) -> &'a [u8] {
        if !self.fault.swaps_value(map.operations) {
            return value;
        }
        let mut others = map.entries.iter().filter(|(other, _)| other.as_slice() != key);
        let other = others.find(|(_, entry)| entry.value.len() == value.len());
        other.map_or(value, |(_, entry)| &entry.value)
    }

    pub(super) fn deadline(&self, ttl: Option<Duration>) -> Option<u64> {
        self.fault.ttl(ttl).map(|ttl| self.clock.deadline_ms(ttl))
    }
}

const HITS: usize = 0;
const MISSES: usize = 1;
const SETS: usize = 2;
const DELETES: usize = 3;

pub(super) struct MapSession {
    pub(super) shared: Arc<Shared>,
    pub(super) pipe: Pipe,
}

impl MapSession {
    /// A set in any mode, for a fill with its token; afterwards the entry has this tag, or no tag.
    pub(super) fn store(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: Option<&[u8]>,
        token: Option<&Token>,
    ) -> Result<SetOutcome> {
        let shared = &self.shared;
        let mut map = shared.begin(key)?;
        if token.is_some_and(|token| !map.is_valid(key, token) && shared.fault.compares_tokens()) {
            return Ok(SetOutcome::NotStored);
        }
        let old = map.entries.get(key);
        if let Some(refused) = options.mode.refusal(old.map(|old| old.version)) {
            return Ok(refused);
        }
        let old_tag = old.and_then(|old| old.tag.as_deref());
        let (value, old) = match (options.mode, old) {
            (SetMode::Append, Some(old)) => ([&old.value, value].concat(), Some(old)),
            (SetMode::Prepend, Some(old)) => ([value, &old.value].concat(), Some(old)),
            _ => (value.to_vec(), None),
        };
        let entry = Entry {
            value: shared.fault.stored_value(value, map.stats[SETS]),
            flags: old.map_or(options.flags, |old| old.flags),
            deadline_ms: old.map_or(shared.deadline(options.ttl), |old| old.deadline_ms),
            version: map.versions + 1,
            tag: match old {
                Some(_) => old_tag,
                None => shared.fault.tag(map.stats[SETS], tag, old_tag),
            }
            .map(<[u8]>::to_vec),
            // What is made of a stale value is stale.
            is_stale: old.is_some_and(|old| old.is_stale),
        };
        shared.fault.check_space(shared.scheme, map.stats[SETS])?;
        map.versions += 1;
        map.stats[SETS] += 1;
        map.change(key);
        let is_overwrite = map.entries.contains_key(key);
        if shared.fault.keeps_set(map.stats[SETS], is_overwrite) {
            map.entries.insert(key.to_vec(), entry);
        }
        Ok(SetOutcome::Stored(Some(shared.fault.reported_version(map.versions))))
    }

    /// Passes on the value of an existing key, without a copy.
    fn find_one(&self, key: &[u8], hit: &mut dyn FnMut(&[u8], Meta)) -> Result<()> {
        let shared = &self.shared;
        let mut map = shared.begin(key)?;
        let Some(entry) = map.entries.get(key).filter(|_| !shared.fault.misses_all()) else {
            map.stats[MISSES] += 1;
            return Ok(());
        };
        let meta = entry.meta(shared.clock.now_ms());
        hit(shared.answer(&map, key, &entry.value), meta);
        map.stats[HITS] += 1;
        Ok(())
    }

    /// Passes on the existing entries that `is_wanted` selects.
    fn find(
        &self,
        is_wanted: impl Fn(&[u8], &Entry) -> bool,
        found: &mut FoundEntry<'_>,
    ) -> Result<()> {
        let shared = &self.shared;
        let map = shared.begin(b"")?;
        let now = shared.clock.now_ms();
        let there = |entry: &Entry| !entry.has_passed(now) && !shared.fault.misses_all();
        let (mut has_omitted, mut has_added) =
            (!shared.fault.misplaces_entries(), !shared.fault.misplaces_entries());
        for (key, entry) in map.entries.iter().filter(|(_, entry)| there(entry)) {
            let wanted = is_wanted(key, entry);
            let is_done = if wanted { &mut has_omitted } else { &mut has_added };
            let is_odd = !std::mem::replace(is_done, true);
            if wanted != is_odd {
                found(key, shared.answer(&map, key, &entry.value), entry.meta(now));
            }
        }
        Ok(())
    }
}

impl Session for MapSession {
    fn engine(&self) -> &'static str {
        self.shared.scheme
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        let mut found = None;
        self.find_one(key, &mut |bytes, meta| {
            value.extend_from_slice(bytes);
            found = Some(meta);
        })?;
        Ok(found)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            self.find_one(key, &mut |value, meta| hit(i, value, meta))?;
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.store(key, value, options, None, None)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let mut map = self.shared.begin(key)?;
        map.change(key);
        let there = if self.shared.fault.deletes(map.operations) {
            map.entries.remove(key).is_some()
        } else {
            map.entries.contains_key(key)
        };
        map.stats[DELETES] += u64::from(there);
        Ok(there)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        let mut places: Vec<_> = (0..entries.len()).collect();
        if !self.shared.fault.is_in_order() {
            places.reverse();
        }
        let set = |put: &Put<'_>| self.store(put.key, put.value, &put.options, None, None);
        let mut outcomes: Vec<_> = entries.iter().map(set).map(Some).collect();
        for i in places {
            outcomes[i].take().into_iter().for_each(|outcome| done(i, outcome));
        }
        Ok(())
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        let mut map = self.shared.begin(key)?;
        let Some(entry) = map.entries.get(key) else { return Ok(DeleteOutcome::NotFound) };
        if self.shared.fault.compares_versions() && entry.version != version {
            return Ok(DeleteOutcome::Exists);
        }
        map.change(key);
        if self.shared.fault.deletes(map.operations) {
            map.entries.remove(key);
        }
        map.stats[DELETES] += 1;
        Ok(DeleteOutcome::Deleted)
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        let mut map = self.shared.begin(key)?;
        value.clear();
        let deadline_ms = self.shared.deadline(ttl);
        let misses_all = self.shared.fault.misses_all();
        let Some(entry) = map.entries.get_mut(key).filter(|_| !misses_all) else {
            map.stats[MISSES] += 1;
            return Ok(None);
        };
        if self.shared.fault.renews_ttl() {
            entry.deadline_ms = deadline_ms;
        }
        let (found, meta) = (entry.value.clone(), entry.meta(self.shared.clock.now_ms()));
        value.extend_from_slice(self.shared.answer(&map, key, &found));
        map.stats[HITS] += 1;
        Ok(Some(meta))
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        let mut map = self.shared.begin(key)?;
        let deadline_ms = self.shared.deadline(ttl);
        let entry = map.entries.get_mut(key);
        Ok(entry.map(|entry| entry.deadline_ms = deadline_ms).is_some())
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        let mut map = self.shared.begin(key)?;
        map.versions += 1;
        map.counts += 1;
        let (version, nth) = (map.versions, map.counts);
        let fault = self.shared.fault;
        let Some(entry) = map.entries.get_mut(key) else {
            let Some(Initial { number, ttl }) = absent else { return Ok(None) };
            let number = fault.initial_number(number, delta);
            let options = SetOptions { mode: SetMode::Add, ttl, flags: 0 };
            drop(map);
            let outcome = self.set(key, number.to_string().as_bytes(), &options)?;
            let SetOutcome::Stored(version) = outcome else { return self.incr(key, delta, absent) };
            return Ok(Some(Counted { number, version }));
        };
        let number = std::str::from_utf8(&entry.value).ok().and_then(|text| text.parse().ok());
        let number: u64 = number.ok_or(Error::NotANumber { engine: self.shared.scheme })?;
        let number = fault.counted_number(number, delta, nth);
        entry.version = version;
        if fault.keeps_count(nth) {
            entry.value = number.to_string().into_bytes();
        }
        map.change(key);
        Ok(Some(Counted { number, version: Some(version) }))
    }

    fn clear(&mut self) -> Result<()> {
        let mut map = self.shared.begin(b"")?;
        if self.shared.fault.clears() {
            map.entries.clear();
        }
        map.change_all();
        Ok(())
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        Some(self)
    }

    fn pipeline(&mut self) -> Option<&mut dyn larder_store::Pipeline> {
        Some(self)
    }
}

impl Groups for MapSession {
    fn get_prefix(&mut self, prefix: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        let fault = self.shared.fault;
        self.find(|key, _| key.starts_with(fault.searched(prefix)), found)
    }

    fn get_tag(&mut self, tag: &[u8], found: &mut FoundEntry<'_>) -> Result<()> {
        check_tag(self.shared.scheme, tag)?;
        let fault = self.shared.fault;
        self.find(
            |_, entry| entry.tag.as_deref().is_some_and(|own| fault.matches_tag(own, tag)),
            found,
        )
    }

    fn set_tagged(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
        tag: &[u8],
    ) -> Result<SetOutcome> {
        let engine = self.shared.scheme;
        check_tag(engine, tag)?;
        if matches!(options.mode, SetMode::Append | SetMode::Prepend) {
            return Err(Error::Unsupported { engine, operation: "set_tagged" });
        }
        self.store(key, value, options, Some(tag), None)
    }

    fn delete_tag(&mut self, tag: &[u8]) -> Result<u64> {
        check_tag(self.shared.scheme, tag)?;
        let shared = &self.shared;
        let mut map = shared.begin(b"")?;
        let now = shared.clock.now_ms();
        let keeps = !shared.fault.deletes(map.operations);
        let mut deleted = 0;
        map.entries.retain(|_, entry| {
            let is_tagged = entry.tag.as_deref() == Some(tag);
            deleted += u64::from(is_tagged && !entry.has_passed(now));
            !is_tagged || keeps
        });
        map.stats[DELETES] += deleted;
        Ok(deleted)
    }
}
