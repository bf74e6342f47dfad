//! A week of a cache's life, on a clock that is set: entries with lives from seconds to days come and go.
//!
//! Expired entries must be given back as others come, the file must not grow once as much expires as comes, and reads must
//! cost no more than twice those of a new store with the same entries. The cost is the pages that a read visits, which do not
//! depend on the machine. The times of both are printed beside it.
//!
//! `LARDER_WEEK=10000000` has this number of sets in the week.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_host::place::Place;

use larder_host::scratch::ScratchDir;
use larder_store::{ByteSize, Clock, Groups, Remaining, Session, SetOptions, Span};
use larder_testkit::Random;

use super::config::LmdbConfig;
use super::eviction::EXPIRED_PER_WRITE;
use super::expiry::give_back;
use super::session::LmdbSession;
use super::store::Shared;
use super::writer::Buffers;

/// The sets of the short form.
const SHORT: u64 = 40_000;

const DAY: Duration = Duration::from_hours(24);
const DAYS: u32 = 7;

/// The shortest and the longest life of an entry.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_hours(4 * 24);

/// A day on which as many entries expire as come.
const STEADY_DAY: u32 = 5;

/// The mean of lives whose logarithms are spread evenly is a twelfth of the longest, so this part of the week's entries lives at
/// a time. An entry has less than 1500 bytes.
const LIVE_PART: u64 = 18;

#[test]
fn after_a_week_of_expiry_a_store_is_as_good_as_new() {
    let asked = std::env::var("LARDER_WEEK").ok();
    let n_sets = asked.map_or(SHORT, |text| text.parse().expect("LARDER_WEEK: a number of sets"));
    let clock = Clock::manual(1_700_000_000_000);
    // Room enough that nothing but its end removes an entry.
    let config: LmdbConfig = LmdbConfig {
        size: ByteSize((n_sets / LIVE_PART * 1500).max(16 << 20)),
        checkpoint: Span(Duration::ZERO),
        ..LmdbConfig::default()
    };
    let open = || Store::open(&config, &clock);
    let mut old = open();
    let mut random = Random::new(7);
    let step = DAY * DAYS / u32::try_from(n_sets).unwrap();
    let mut live = Live::default();
    let mut steady_len = 0;
    println!("day  live entries  kept entries  bytes of entries  bytes of the file");
    for day in 1..=DAYS {
        for _ in 0..n_sets / u64::from(DAYS) {
            clock.advance(step.max(Duration::from_millis(1)));
            let (key, value) = old.next_entry(&mut random);
            let life = life(&mut random);
            let options = SetOptions { ttl: Some(life), ..SetOptions::default() };
            old.session.set(&key, &value, &options).unwrap();
            live.set(key, clock.deadline_ms(life));
        }
        let n_live = live.n_at(clock.now_ms());
        let (n_kept, bytes, len) = (old.n_entries(), old.bytes(), old.file_len());
        println!("{day:3} {n_live:13} {n_kept:13} {bytes:17} {len:18}");
        assert!(n_kept >= n_live && n_kept <= n_live + EXPIRED_PER_WRITE as u64, "day {day}");
        if day == STEADY_DAY {
            steady_len = len;
        }
    }
    assert_eq!(old.evictions(), 0, "the store was too small for this trial");
    let len = old.file_len();
    assert!(len <= steady_len + steady_len / 10, "{steady_len} bytes of the file became {len}");
    assert!(len <= 3 * old.bytes(), "{len} bytes of the file for {} of entries", old.bytes());

    let mut new = open();
    old.copy_to(&mut new);
    let [of_old, of_new] = [&old, &new].map(Store::pages);
    println!("depth and pages of the old store {of_old:?}, of a new one {of_new:?}");
    assert!(of_old.0 <= 2 * of_new.0 && of_old.1 <= 2 * of_new.1);
    println!("time of reads, old to new: {:.2}", times(&mut old, &mut new, &mut random));

    // Nobody writes any more.
    clock.advance(LONGEST);
    let mut buffers = Buffers::default();
    let began = Instant::now();
    let n_before = old.n_entries();
    while give_back(&old.shared, &mut buffers).unwrap() {}
    println!("{n_before} expired entries were given back in {:?}", began.elapsed());
    assert_eq!(old.n_entries(), 0);
}

/// The ends of the entries.
#[derive(Default)]
struct Live(BTreeMap<Vec<u8>, u64>);

impl Live {
    fn set(&mut self, key: Vec<u8>, deadline_ms: u64) {
        self.0.insert(key, deadline_ms);
    }

    fn n_at(&mut self, now_ms: u64) -> u64 {
        self.0.retain(|_, deadline_ms| *deadline_ms > now_ms);
        self.0.len() as u64
    }
}

/// A life whose logarithm is spread evenly.
fn life(random: &mut Random) -> Duration {
    let share = f64::from(u32::try_from(random.below(1 << 20)).unwrap()) / f64::from(1 << 20);
    SHORTEST.mul_f64((LONGEST.as_secs_f64() / SHORTEST.as_secs_f64()).powf(share))
}

struct Store {
    shared: Arc<Shared>,
    session: LmdbSession,
    next_key: u64,
}

impl Store {
    fn open(config: &LmdbConfig, clock: &Clock) -> Self {
        let place = Place::Own(ScratchDir::create("lmdb").unwrap());
        let shared = Shared::open(place, config).unwrap();
        let shared = Arc::new(Shared { clock: clock.clone(), ..shared });
        Self { session: LmdbSession::new(Arc::clone(&shared)), shared, next_key: 0 }
    }

    /// Two of three entries are new, at random places among the keys. The others have one of a few keys that are set again.
    fn next_entry(&mut self, random: &mut Random) -> (Vec<u8>, Vec<u8>) {
        let key = if random.below(3) == 0 {
            format!("often:{}", random.below(5000))
        } else {
            self.next_key += 1;
            format!("once:{:016x}", self.next_key.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        let len = 20 << random.below(7);
        (key.into(), vec![7; len + random.below(len / 10)])
    }

    fn n_entries(&self) -> u64 {
        let txn = self.shared.environment.read().unwrap();
        self.shared.databases.entries.len(&txn).unwrap()
    }

    fn bytes(&self) -> u64 {
        let txn = self.shared.environment.read().unwrap();
        let usage = self.shared.databases.main.get(&txn, &self.shared.usage_key).unwrap();
        usage.map_or(0, super::usage::bytes)
    }

    /// The bytes of the file up to its last page, without the space that is reserved ahead.
    fn file_len(&self) -> u64 {
        let map = self.shared.environment.map();
        (map.last_page().unwrap() as u64 + 1) * map.page_size() as u64
    }

    fn evictions(&self) -> u64 {
        let mut stats = self.shared.counters.stats();
        self.shared.dropped.write_to(&mut stats);
        stats.evictions.unwrap()
    }

    /// The levels and the pages of the entries.
    fn pages(&self) -> (u64, u64) {
        let txn = self.shared.environment.read().unwrap();
        let stat = self.shared.databases.entries.stat(&txn).unwrap();
        let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
        (u64::from(stat.depth), pages as u64)
    }

    fn keys(&mut self) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        self.session.get_prefix(b"", &mut |key, _, _| keys.push(key.to_vec())).unwrap();
        keys
    }

    /// Stores the entries in another store, in the order of their keys, as a backup is restored.
    fn copy_to(&mut self, other: &mut Self) {
        let mut entries = Vec::new();
        self.session
            .get_prefix(b"", &mut |key, value, meta| {
                entries.push((key.to_vec(), value.to_vec(), meta.ttl));
            })
            .unwrap();
        for (key, value, ttl) in entries {
            let Remaining::For(left) = ttl else { panic!("an entry without an end") };
            let options = SetOptions { ttl: Some(left), ..SetOptions::default() };
            other.session.set(&key, &value, &options).unwrap();
        }
    }
}

/// The median of the times of reads of one store to those of another, in turns.
fn times(old: &mut Store, new: &mut Store, random: &mut Random) -> f64 {
    let keys = old.keys();
    let mut ratios: Vec<f64> = (0..51)
        .map(|_| {
            let some: Vec<&[u8]> = (0..2000).map(|_| &keys[random.below(keys.len())][..]).collect();
            let [old, new] = [&mut *old, &mut *new].map(|store| {
                let mut found = Vec::new();
                let began = Instant::now();
                for key in &some {
                    assert!(store.session.get(key, &mut found).unwrap().is_some());
                }
                began.elapsed().as_secs_f64()
            });
            old / new
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}
