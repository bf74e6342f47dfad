//! Hit ratios: get-or-set workloads on caches that have no room for all of it, by accesses and by the bytes of their values.
//!
//! All others have room for as much as the segment cache holds of the workload's entries before it evicts the first, so that
//! a row compares policies. `LARDER_TRACES` names a folder with `web07.trace.xz` and `web12.trace.xz`.

use std::path::Path;
use std::sync::Arc;

use larder_segment::{Cache, Options, Session, Set};
use larder_workload::trace::Trace;

use crate::keys::Random;
use crate::policies::{Access, Lru, Optimal, Policy, S3Fifo, Sieve, weight};
use crate::report;
use crate::{Result, Scale};

/// Accesses of a workload, and the region that they meet.
struct Row {
    name: String,
    size: usize,
    accesses: Vec<Access>,
    /// Those that are counted begin here; those of keys from this number on are not.
    from: usize,
    keys: u32,
}

/// The caches of a row, in the order of the columns.
const COLUMNS: [&str; 8] =
    ["segment", "moka", "quick", "SIEVE", "S3-FIFO 1", "S3-FIFO 2", "LRU", "optimal"];
/// The columns that the segment cache is to come near.
const RIVALS: std::ops::Range<usize> = 1..6;

const MIB: usize = 1 << 20;
const ENTRY: u32 = 100;

pub(crate) fn measure(scale: Scale) -> Result<()> {
    println!("\nHit ratios in percent, of accesses / of bytes, all with room for as many entries");
    print!("  {:<44}", "");
    COLUMNS.iter().for_each(|name| print!("{name:>14}"));
    println!();
    let mut short = Vec::new();
    for row in rows(scale)? {
        let ratios = row.ratios()?;
        print!("  {:<44}", row.name);
        ratios.iter().for_each(|(hits, bytes)| print!("{hits:>8.1} /{bytes:>5.1}"));
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
        rows.push(sized(name, (median, sigma, most), keys, scale));
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

/// Draws numbers by Zipf's law with an exponent of 0.9.
struct Zipf(Vec<f64>);

impl Zipf {
    fn of(n: u32) -> Self {
        let shares = (1..=n).map(|rank| f64::from(rank).powf(-0.9));
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

/// 100,000 keys by Zipf's law, and between each 50,000 accesses a scan of as many keys that nobody asks for again.
fn zipf(size: usize, is_scanned: bool, scale: Scale) -> Row {
    let keys = 100_000;
    let (draws, mut random) = (Zipf::of(keys), Random::of_seed(1));
    let (mut accesses, mut fresh) = (Vec::new(), keys);
    for _ in 0..scale.of(40, 2) {
        accesses.extend((0..50_000).map(|_| Access { key: draws.draw(&mut random), len: ENTRY }));
        if is_scanned {
            accesses.extend((fresh..fresh + 50_000).map(|key| Access { key, len: ENTRY }));
            fresh += 50_000;
        }
    }
    let what = if is_scanned { "zipf with scans" } else { "zipf" };
    Row { name: format!("{what}, {} MiB", size / MIB), size, from: 0, keys, accesses }
}

/// Keys in a circle, of which so many percent of those are that fit.
fn looped(size: usize, percent: u32) -> Result<Row> {
    let name = format!("loop over {percent} % of what fits");
    let endless: Vec<Access> =
        (0..u32::try_from(size / 64)?).map(|key| Access { key, len: ENTRY }).collect();
    let mut row = Row { name, size, from: 0, keys: u32::MAX, accesses: endless };
    let fits = row.room()? / weight(Access { key: 0, len: ENTRY });
    let n = u32::try_from(fits)? / 100 * percent;
    row.accesses = (0..n * 12).map(|at| Access { key: at % n, len: ENTRY }).collect();
    // The first rounds fill it.
    row.from = row.accesses.len() / 3;
    Ok(row)
}

/// Keys by Zipf's law whose sizes are log-normal around a median.
fn sized(name: &str, (median, sigma, most): (f64, f64, u32), keys: u32, scale: Scale) -> Row {
    let (draws, mut random) = (Zipf::of(keys), Random::of_seed(2));
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
    Row { name: name.into(), size: 64 * MIB, from: n / 4, keys, accesses }
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
            from: 0,
            keys,
            accesses: accesses.clone(),
        })
        .into())
}

impl Row {
    /// What a region of this size holds of the row's entries before it evicts one.
    fn room(&self) -> Result<u64> {
        let mut own = Own::new(self.size)?;
        let mut sum = 0;
        let mut seen = std::collections::HashSet::new();
        for access in &self.accesses {
            if seen.insert(access.key) {
                own.access(*access);
                if own.0.cache().stats().evictions() > 0 {
                    return Ok(sum);
                }
                sum += weight(*access);
            }
        }
        Ok(sum)
    }

    /// The hits of each in percent, of accesses and of bytes.
    fn ratios(&self) -> Result<Vec<(f64, f64)>> {
        let room = self.room()?;
        let each = room / self.accesses.len().max(1) as u64;
        let mut all: Vec<Box<dyn Policy>> = vec![
            Box::new(Own::new(self.size)?),
            Box::new(Moka::new(room)),
            Box::new(Quick::new(room, self.mean().max(each))),
            Box::new(Sieve::new(room)),
            Box::new(S3Fifo::new(room, 1)),
            Box::new(S3Fifo::new(room, 2)),
            Box::new(Lru::new(room)),
            Box::new(Optimal::new(room, &self.accesses)),
        ];
        Ok(all.iter_mut().map(|policy| self.run(&mut **policy)).collect())
    }

    /// The weight of an entry, on average.
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

/// The segment cache in private memory, told of no size of entries.
struct Own(Session, Vec<u8>);

impl Own {
    fn new(size: usize) -> Result<Self> {
        Ok(Self(Cache::private(&Options::of_size(size))?.session(), Vec::new()))
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
        // It puts its work off for longer where one thread does nothing else.
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
