//! Hit ratios of get-or-set workloads that do not fit the cache, by accesses and by the bytes of values.
//!
//! Where all entries have one size, the other caches have room for as many entries as the region holds at the end of the
//! row. So the row compares policies. Where sizes differ, the others have the region's bytes, of which an entry takes
//! its key, its value and 56 bytes: a row of memory. `LARDER_TRACES` names a folder with `web07.trace.xz` and
//! `web12.trace.xz`.

use std::path::Path;
use std::sync::Arc;

use larder_segment::{Cache, Options, Session, Set};
use larder_workload::trace::Trace;

use crate::keys::Random;
use crate::policies::{Access, Lru, Optimal, Policy, S3Fifo, Sieve, weight};
use crate::report;
use crate::{Result, Scale};

/// The accesses of a workload, and the region that serves them.
struct Row {
    name: String,
    size: usize,
    room: Room,
    accesses: Vec<Access>,
    /// The first access that counts.
    from: usize,
    /// Accesses of keys below this number count.
    keys: u32,
}

/// The room of the other caches.
#[derive(Debug, Clone, Copy)]
enum Room {
    /// As many entries as the region holds.
    Entries,
    /// As many bytes as the region has.
    Bytes,
}

/// The caches of a row, in the order of the columns.
const COLUMNS: [&str; 8] =
    ["segment", "moka", "quick", "SIEVE", "S3-FIFO 1", "S3-FIFO 2", "LRU", "optimal"];
/// The columns whose best the segment cache is compared with.
const RIVALS: std::ops::Range<usize> = 1..6;

const MIB: usize = 1 << 20;
const ENTRY: u32 = 100;

pub(crate) fn measure(scale: Scale) -> Result<()> {
    println!("\nHit ratios in percent, of accesses / of bytes");
    print!("  {:<44}", "");
    for name in COLUMNS {
        print!("{name:>14}");
    }
    println!();
    let mut short = Vec::new();
    for row in rows(scale)? {
        let ratios = row.ratios()?;
        print!("  {:<44}", row.name);
        for (hits, bytes) in &ratios {
            print!("{hits:>8.1} /{bytes:>5.1}");
        }
        println!();
        let best = ratios[RIVALS].iter().map(|(hits, _)| *hits).fold(0.0, f64::max);
        short.push((row.name, best - ratios[0].0));
    }
    report::goals();
    for (name, less) in short {
        report::goal(&name, Some(less), " points", report::Goal::AtMost(1.0));
    }
    Ok(())
}

fn rows(scale: Scale) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for size in [2 * MIB, 4 * MIB, 8 * MIB] {
        for is_scanned in [true, false] {
            rows.push(zipf(size, is_scanned, scale));
        }
    }
    for percent in [90, 105, 120, 150, 200] {
        rows.push(looped(scale.of(16 * MIB, 2 * MIB), percent)?);
    }
    for (name, median, sigma, most, keys) in [
        ("sizes around 512 B, sigma 2", 512.0, 2.0, 256 << 10, 130_000),
        ("sizes around 4 KiB, sigma 1.5", 4096.0, 1.5, 256 << 10, 55_000),
        ("sizes around 16 KiB", 16_384.0, 1.0, 256 << 10, 25_000),
        ("sizes around 128 KiB", 131_072.0, 1.0, 1 << 20, 4000),
        ("sizes around 512 KiB", 524_288.0, 1.0, 4 << 20, 1000),
    ] {
        rows.push(sized(name, median, sigma, most, keys, scale));
    }
    let folder = std::env::var_os("LARDER_TRACES");
    for name in ["web07", "web12"] {
        let Some(folder) = &folder else {
            report::missing(name, "LARDER_TRACES names no folder with its trace");
            continue;
        };
        rows.extend(traced(&Path::new(folder).join(format!("{name}.trace.xz")), name, scale)?);
    }
    Ok(rows)
}

/// Draws numbers by Zipf's law.
struct Zipf(Vec<f64>);

impl Zipf {
    fn of(n: u32, exponent: f64) -> Self {
        let shares = (1..=n).map(|rank| f64::from(rank).powf(-exponent));
        let sums = shares.scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        Self(sums.collect())
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let drawn = unit(random) * self.0.last().copied().unwrap_or(0.0);
        u32::try_from(self.0.partition_point(|sum| *sum < drawn)).unwrap_or(0)
    }
}

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    f64::from(u32::try_from(random.below(1 << 31)).unwrap_or(0)) / f64::from(1_u32 << 31)
}

/// 100,000 keys by Zipf's law, and after each 50,000 accesses a scan of as many keys that are read only once.
fn zipf(size: usize, is_scanned: bool, scale: Scale) -> Row {
    let keys = 100_000;
    let (draws, mut random) = (Zipf::of(keys, 1.0), Random::of_seed(1));
    let (mut accesses, mut fresh) = (Vec::new(), keys);
    for _ in 0..scale.of(40, 2) {
        accesses.extend((0..50_000).map(|_| Access { key: draws.draw(&mut random), len: ENTRY }));
        if is_scanned {
            accesses.extend((fresh..fresh + 50_000).map(|key| Access { key, len: ENTRY }));
            fresh += 50_000;
        }
    }
    let what = if is_scanned { "zipf with scans" } else { "zipf" };
    let name = format!("{what}, {} MiB", size / MIB);
    Row { name, size, room: Room::Entries, from: 0, keys, accesses }
}

/// A loop over this percentage of the entries that fit.
fn looped(size: usize, percent: u32) -> Result<Row> {
    let name = format!("loop over {percent} % of what fits");
    let mut own = Own::new(size)?;
    for key in 0..u32::try_from(size / 64)? {
        own.access(Access { key, len: ENTRY });
    }
    let n = u32::try_from(own.entries())? / 100 * percent;
    let accesses: Vec<Access> = (0..n * 12).map(|at| Access { key: at % n, len: ENTRY }).collect();
    // The first rounds fill the caches.
    let from = accesses.len() / 3;
    Ok(Row { name, size, room: Room::Entries, accesses, from, keys: u32::MAX })
}

/// Keys by Zipf's law whose sizes are log-normal around a median.
fn sized(name: &str, median: f64, sigma: f64, most: u32, keys: u32, scale: Scale) -> Row {
    let (draws, mut random) = (Zipf::of(keys, 0.9), Random::of_seed(2));
    let lens: Vec<u32> = (0..keys)
        .map(|_| {
            // Box and Muller 1958.
            let (one, other) = (unit(&mut random).max(1e-9), unit(&mut random));
            let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos();
            let len = (median * (sigma * normal).exp()).clamp(64.0, f64::from(most));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            let len = len as u32;
            len
        })
        .collect();
    let n = scale.of(usize::try_from(keys).unwrap_or(0) * 12, 2000);
    let accesses = (0..n).map(|_| draws.draw(&mut random));
    let accesses = accesses.map(|key| Access { key, len: lens[key as usize] }).collect();
    Row { name: name.into(), size: 64 * MIB, room: Room::Bytes, from: n / 4, keys, accesses }
}

/// A recorded trace, in regions for a twentieth and a fifth of its keys.
fn traced(path: &Path, name: &str, scale: Scale) -> Result<Vec<Row>> {
    let at_most = scale.is_brief.then_some(20_000);
    let trace = Trace::open(path, None, at_most)?;
    let accesses: Vec<Access> = trace.ops().map(|op| Access { key: op.key, len: ENTRY }).collect();
    let keys = trace.n_keys();
    Ok([20, 5]
        .map(|part| Row {
            name: format!("{name}, 1 of {part} keys"),
            size: (keys as usize / part * 160).max(MIB),
            room: Room::Entries,
            from: 0,
            keys,
            accesses: accesses.clone(),
        })
        .into())
}

impl Row {
    /// The hits of each cache in percent, of accesses and of bytes.
    fn ratios(&self) -> Result<Vec<(f64, f64)>> {
        let mut own = Own::new(self.size)?;
        let ratio = self.run(&mut own);
        let each = self.mean();
        let room = match self.room {
            Room::Entries => own.entries() * each,
            Room::Bytes => self.size as u64,
        };
        let mut others: Vec<Box<dyn Policy>> = vec![
            Box::new(Moka::new(room)),
            Box::new(Quick::new(room, each)),
            Box::new(Sieve::new(room)),
            Box::new(S3Fifo::new(room, 1)),
            Box::new(S3Fifo::new(room, 2)),
            Box::new(Lru::new(room)),
            Box::new(Optimal::new(room, &self.accesses)),
        ];
        let others = others.iter_mut().map(|policy| self.run(&mut **policy));
        Ok(std::iter::once(ratio).chain(others).collect())
    }

    /// The average weight of an entry.
    fn mean(&self) -> u64 {
        let sum: u64 = self.accesses.iter().map(|access| weight(*access)).sum();
        sum / self.accesses.len().max(1) as u64
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn run(&self, policy: &mut dyn Policy) -> (f64, f64) {
        let (mut hits, mut all, mut hit_bytes, mut all_bytes) = (0_u64, 0_u64, 0_u64, 0_u64);
        for (at, access) in self.accesses.iter().enumerate() {
            let is_hit = policy.access(*access);
            if at >= self.from && access.key < self.keys {
                let bytes = u64::from(access.len);
                (all, all_bytes) = (all + 1, all_bytes + bytes);
                if is_hit {
                    (hits, hit_bytes) = (hits + 1, hit_bytes + bytes);
                }
            }
        }
        let percent = |of: u64, all: u64| of as f64 * 100.0 / all.max(1) as f64;
        (percent(hits, all), percent(hit_bytes, all_bytes))
    }
}

/// A key of 16 bytes.
fn name(key: u32) -> [u8; 16] {
    let mut name = *b"ratio-of-hits---";
    name[8..].copy_from_slice(&(u64::from(key) << 20).to_le_bytes());
    name
}

/// The segment cache in private memory, with the default size of entries.
struct Own(Session, Vec<u8>);

impl Own {
    fn new(size: usize) -> Result<Self> {
        Ok(Self(Cache::private(&Options::of_size(size))?.session(), Vec::new()))
    }

    /// The entries that it holds.
    fn entries(&self) -> u64 {
        self.0.cache().stats().items
    }
}

impl Policy for Own {
    fn access(&mut self, access: Access) -> bool {
        let key = name(access.key);
        if self.0.get(&key, &mut self.1).is_some() {
            return true;
        }
        self.1.clear();
        self.1.resize(access.len as usize, 7);
        self.0.set(&key, &self.1, &Set::default()).expect("a value that fits is stored");
        false
    }
}

struct Moka(moka::sync::Cache<u32, u32>, u32);

impl Moka {
    fn new(room: u64) -> Self {
        let weigher = |key: &u32, len: &u32| {
            u32::try_from(weight(Access { key: *key, len: *len })).unwrap_or(u32::MAX)
        };
        Self(moka::sync::Cache::builder().max_capacity(room).weigher(weigher).build(), 0)
    }
}

impl Policy for Moka {
    fn access(&mut self, access: Access) -> bool {
        let is_hit = self.0.get(&access.key).is_some();
        if !is_hit {
            self.0.insert(access.key, access.len);
        }
        // Moka puts its work off until later, and a single busy thread gives it little time.
        self.1 = (self.1 + 1) % 64;
        if self.1 == 0 {
            self.0.run_pending_tasks();
        }
        is_hit
    }
}

#[derive(Debug, Clone)]
struct Weigh;

impl quick_cache::Weighter<u32, u32> for Weigh {
    fn weight(&self, key: &u32, len: &u32) -> u64 {
        weight(Access { key: *key, len: *len })
    }
}

struct Quick(Arc<quick_cache::sync::Cache<u32, u32, Weigh>>);

impl Quick {
    fn new(room: u64, each: u64) -> Self {
        let items = usize::try_from(room / each.max(1)).unwrap_or(1);
        Self(Arc::new(quick_cache::sync::Cache::with_weighter(items, room, Weigh)))
    }
}

impl Policy for Quick {
    fn access(&mut self, access: Access) -> bool {
        let is_hit = self.0.get(&access.key).is_some();
        if !is_hit {
            self.0.insert(access.key, access.len);
        }
        is_hit
    }
}
