//! The entries of a server, its clock and its counters.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::fault::{Fault, Kept};

/// The memory for entries, as the server reports it.
pub(super) const CAPACITY_BYTES: usize = 64 << 20;
/// The size of an entry without its key and its value.
const ENTRY_BYTES: usize = 48;
/// A longer TTL is a date: 30 days, as in memcached.
const LONGEST_RELATIVE_S: i64 = 30 * 24 * 60 * 60;

/// The entry under a key.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) flags: u32,
    pub(super) value: Vec<u8>,
    /// A new number for each set; entries with lower versions are older.
    pub(super) version: u64,
    /// The end of the entry, by the server's clock.
    ends: Option<Duration>,
    /// The TTL of its set.
    ttl: Option<Duration>,
    /// The value that it replaced.
    before: Option<Vec<u8>>,
}

/// A set that was acknowledged and is carried out later.
#[derive(Debug)]
struct Waiting {
    /// The number of the request at which the set is carried out.
    due: u64,
    key: Vec<u8>,
    flags: u32,
    value: Vec<u8>,
    exptime: Option<i64>,
}

/// The counters of a server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) gets: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Hits on keys that had been overwritten.
    pub(super) renewed_hits: u64,
    pub(super) sets: u64,
    pub(super) deletes: u64,
    pub(super) touches: u64,
    pub(super) connections: u64,
    /// Hits whose request followed a set.
    pub(super) hits_after_sets: u64,
    pub(super) evictions: u64,
}

/// All entries.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) fault: Fault,
    pub(super) counts: Counts,
    entries: HashMap<Vec<u8>, Entry>,
    /// The keys by the versions of their entries: oldest first.
    by_age: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
    version: u64,
    started: Instant,
    /// The values that were answered to requests for several keys.
    copies: HashMap<Vec<u8>, Vec<u8>>,
    /// Sets that are not carried out yet, the oldest first.
    waiting: VecDeque<Waiting>,
    /// Deleted entries that come back, with the number of connections at the delete.
    deleted: HashMap<Vec<u8>, (u64, Entry)>,
    /// Deleted entries that other connections still find, with the last request that finds them and the connection of
    /// the delete.
    lingering: HashMap<Vec<u8>, (u64, u64, Entry)>,
    /// The connection of the request, by its number.
    connection: u64,
    /// The number of keys in the request.
    pub(super) n_keys_of_request: usize,
    /// Whether the last request about entries was a set.
    follows_set: bool,
    /// Whether an existing key was set.
    pub(super) has_overwritten: bool,
}

impl Cache {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            fault,
            counts: Counts::default(),
            entries: HashMap::new(),
            by_age: BTreeMap::new(),
            bytes: 0,
            version: 0,
            started: Instant::now(),
            copies: HashMap::new(),
            waiting: VecDeque::new(),
            deleted: HashMap::new(),
            lingering: HashMap::new(),
            connection: 0,
            n_keys_of_request: 1,
            follows_set: false,
            has_overwritten: false,
        }
    }

    /// Begins a request about entries on the connection with this number.
    pub(super) fn begin(&mut self, connection: u64) {
        self.counts.requests += 1;
        self.connection = connection;
        self.n_keys_of_request = 1;
        let now = self.counts.requests;
        while self.waiting.front().is_some_and(|set| set.due <= now) {
            if let Some(Waiting { key, flags, value, exptime, .. }) = self.waiting.pop_front() {
                self.keep(&key, flags, value, exptime);
            }
        }
        if self.fault.restarts(now) {
            self.remove_all();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn uptime(&self) -> Duration {
        self.fault.clock(self.started.elapsed())
    }

    /// The entry of a key, if it has not ended.
    pub(super) fn find(&mut self, key: &[u8]) -> Option<&Entry> {
        let key = self.fault.key(key);
        self.bring_back(key);
        let now = self.uptime();
        if self.lingers(key) {
            return self.lingering.get(key).map(|(_, _, entry)| entry);
        }
        let has_ended = self.entries.get(key)?.ends.is_some_and(|ends| ends <= now);
        if has_ended && self.fault.finds_ended(self.n_keys_of_request) {
            return self.entries.get(key);
        }
        if has_ended && self.fault.drops_ended(self.entries.len()) {
            self.take(&key.to_vec());
            return None;
        }
        self.entries.get(key)
    }

    /// Whether the connection of this request still finds an entry that another connection deleted.
    fn lingers(&self, key: &[u8]) -> bool {
        let lingering = self.lingering.get(key).filter(|_| !self.entries.contains_key(key));
        lingering.is_some_and(|(until, deleter, _)| {
            *until > self.counts.requests && *deleter != self.connection
        })
    }

    /// The answer to a hit: the flags, the value and the version.
    pub(super) fn answer(&mut self, key: &[u8]) -> Option<(u32, Vec<u8>, u64)> {
        let fault = self.fault;
        let follows_set = std::mem::take(&mut self.follows_set);
        let Some(Entry { flags, value, version, before, ttl, .. }) = self.find(key).cloned() else {
            if fault.revives() {
                self.revive(key);
            }
            return None;
        };
        self.counts.hits += 1;
        self.counts.hits_after_sets += u64::from(follows_set);
        let hits = self.counts.hits;
        if fault.misses(hits, follows_set.then_some(self.counts.hits_after_sets)) {
            return None;
        }
        if let Some(ttl) = ttl.filter(|_| fault.slides()) {
            let ends = self.uptime() + ttl;
            self.entries
                .get_mut(fault.key(key))
                .into_iter()
                .for_each(|entry| entry.ends = Some(ends));
        }
        let mut answered = value;
        if fault.answers_copies(self.n_keys_of_request) {
            let copy = self.copies.entry(key.to_vec());
            answered.clone_from(copy.or_insert_with(|| answered.clone()));
        }
        if let Some(before) = before {
            self.counts.renewed_hits += 1;
            if fault.is_behind(self.counts.renewed_hits) {
                answered = before;
            }
        }
        if fault.swaps(hits) {
            let own = fault.key(key);
            let other = self.by_age.values().rev().find(|other| other.as_slice() != own);
            if let Some(other) = other.and_then(|other| self.entries.get(other)) {
                answered.clone_from(&other.value);
            }
        }
        Some((fault.flags(hits, flags), fault.value(hits, answered), version))
    }

    /// Stores a value, or only acknowledges it; without a TTL an entry keeps its old end.
    pub(super) fn store(&mut self, key: &[u8], flags: u32, value: Vec<u8>, exptime: Option<i64>) {
        self.counts.sets += 1;
        self.follows_set = true;
        let is_overwrite = self.find(key).is_some();
        match self.fault.keeps(self.counts.sets, key, is_overwrite) {
            Kept::Stored => {}
            Kept::Forgotten => return,
            Kept::Evicted => {
                self.counts.evictions += 1;
                return;
            }
        }
        match self.fault.lag() {
            None => self.keep(key, flags, value, exptime),
            Some(by) => {
                let due = self.counts.requests + by;
                self.waiting.push_back(Waiting { due, key: key.to_vec(), flags, value, exptime });
            }
        }
    }

    fn keep(&mut self, key: &[u8], flags: u32, value: Vec<u8>, exptime: Option<i64>) {
        let key = self.fault.key(key).to_vec();
        self.deleted.remove(&key);
        let older = self.take(&key);
        let ends = match (exptime, &older) {
            (Some(exptime), Some(older)) => {
                let after = self.ends(exptime, key.len(), value.len());
                self.fault.end(older.ends, after, value.len())
            }
            (Some(exptime), None) => self.ends(exptime, key.len(), value.len()),
            (None, older) => older.as_ref().and_then(|older| older.ends),
        };
        let ttl = ends.map(|ends| ends.saturating_sub(self.uptime()));
        let value = self.fault.kept(value);
        self.version += 1;
        self.bytes += key.len() + value.len() + ENTRY_BYTES;
        self.by_age.insert(self.version, key.clone());
        let before = older.map(|older| older.value);
        self.entries.insert(key, Entry { flags, value, version: self.version, ends, ttl, before });
        self.make_room();
    }

    /// Removes the oldest entries while there are too many.
    fn make_room(&mut self) {
        while self.bytes > CAPACITY_BYTES {
            self.counts.evictions += 1;
            self.drop_oldest();
        }
        while self.fault.room().is_some_and(|room| self.entries.len() > room) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_first() {
            self.take(&key);
        }
    }

    /// Removes an entry, or only acknowledges it; returns whether the entry was there.
    pub(super) fn delete(&mut self, key: &[u8]) -> bool {
        if self.find(key).is_none() {
            return false;
        }
        self.counts.deletes += 1;
        if self.fault.deletes(self.counts.deletes) {
            let key = self.fault.key(key).to_vec();
            self.copies.remove(&key);
            let comes_back = self.fault.revives() || self.fault.returns_after().is_some();
            let entry = self.take(&key);
            if let (Some(by), Some(entry)) = (self.fault.lingers(), &entry) {
                let until = self.counts.requests + by;
                self.lingering.insert(key.clone(), (until, self.connection, entry.clone()));
            }
            let entry = entry.filter(|_| comes_back);
            let connections = self.counts.connections;
            self.deleted.extend(entry.map(|entry| (key, (connections, entry))));
        }
        !self.fault.denies_delete(self.counts.deletes)
    }

    /// Restores a deleted entry once enough connections were opened since.
    fn bring_back(&mut self, key: &[u8]) {
        if let (Some(after), Some((since, _))) = (self.fault.returns_after(), self.deleted.get(key))
            && self.counts.connections >= since + after
        {
            self.revive(key);
        }
    }

    /// Restores a deleted entry.
    fn revive(&mut self, key: &[u8]) {
        if let Some((_, entry)) = self.deleted.remove(key) {
            self.by_age.insert(entry.version, key.to_vec());
            self.bytes += key.len() + entry.value.len() + ENTRY_BYTES;
            self.entries.insert(key.to_vec(), entry);
        }
    }

    /// Changes the end of an entry, or only acknowledges it; returns whether the entry was there.
    pub(super) fn touch(&mut self, key: &[u8], exptime: i64) -> bool {
        let Some((len, before)) = self.find(key).map(|entry| (entry.value.len(), entry.ends))
        else {
            return false;
        };
        let ends = self.ends(exptime, key.len(), len);
        self.counts.touches += 1;
        if self.fault.denies_touch(self.counts.touches) {
            return false;
        }
        let (fault, key) = (self.fault, self.fault.key(key).to_vec());
        if let Some(entry) = self.entries.get_mut(&key).filter(|_| fault.touches()) {
            // `KeepsFirstTtl` keeps the first TTL only on a repeated set, not on a touch.
            entry.ends = match fault {
                Fault::KeepsFirstTtl => ends,
                fault => fault.end(before, ends, len),
            };
        }
        true
    }

    /// Removes everything, or only acknowledges it.
    pub(super) fn flush(&mut self) {
        if self.fault.flushes() {
            self.remove_all();
        }
    }

    fn remove_all(&mut self) {
        self.entries.clear();
        self.by_age.clear();
        self.waiting.clear();
        self.deleted.clear();
        self.copies.clear();
        self.bytes = 0;
    }

    fn take(&mut self, key: &Vec<u8>) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.by_age.remove(&entry.version);
        self.bytes -= key.len() + entry.value.len() + ENTRY_BYTES;
        Some(entry)
    }

    /// The end of an entry with this TTL and these lengths of key and value, by the server's clock. It ends at once for
    /// a negative TTL, and never for 0.
    fn ends(&self, exptime: i64, key_len: usize, len: usize) -> Option<Duration> {
        let now = self.uptime();
        match exptime {
            0 => None,
            _ if !self.fault.expires(key_len, len) => None,
            ..0 => Some(Duration::ZERO),
            date if date > LONGEST_RELATIVE_S => {
                let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let left = Duration::from_secs(date.unsigned_abs()).saturating_sub(today);
                Some(now + left)
            }
            seconds => {
                let ticks = self.fault == Fault::TicksOnceASecond && self.version % 2 == 1;
                let early = i64::from(ticks);
                Some(now + Duration::from_secs((seconds - early).unsigned_abs()))
            }
        }
    }
}
