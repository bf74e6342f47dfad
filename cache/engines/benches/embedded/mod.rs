//! The cost of an engine on top of the library under it: the same gets and sets through a session and through the bare
//! library. Both run in alternating slices of one process, so that other work of the machine meets both.
//!
//! `LARDER_FLOOR_DIR` names the folder to measure in; the default is `/dev/shm`.

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use larder_engines::ENGINES;
use larder_store::{Session, SetOptions, StoreUrl};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Entries that each side holds.
const KEYS: u64 = 50_000;
/// Pairs of slices, and operations of a slice.
const SLICES: usize = 100;
const OPERATIONS: u64 = 500;

/// The bare library, with the same work as a session.
pub(crate) trait Bare {
    /// Copies the value under `key` into `value`.
    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<()>;

    /// Stores it.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
}

/// Measures values of 100 bytes and of 1 KiB.
pub(crate) fn measure<B: Bare>(scheme: &str, open_bare: impl Fn(&Path) -> Result<B>) -> Result<()> {
    // `cargo test --benches` only wants to know that it runs.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (slices, keys) = if is_bench { (SLICES, KEYS) } else { (2, 1000) };
    let folder = std::env::var("LARDER_FLOOR_DIR").unwrap_or_else(|_| "/dev/shm".into());
    for len in [100, 1024] {
        let root = Folder::create(Path::new(&folder))?;
        let url = StoreUrl::parse(&format!("{scheme}:{}", root.0.join("ours").display()))?;
        let mut session = ENGINES.open(&url)?.session()?;
        let mut bare = open_bare(&root.0.join("bare"))?;
        let mut value = vec![b'v'; len];
        for i in 0..keys {
            session.set(&key(i), &value, &SetOptions::default())?;
            bare.set(&key(i), &value)?;
        }
        let gets = alternate(slices, keys, |ours, key, buffer| {
            if ours { get(&mut *session, key, buffer) } else { bare.get(key, buffer) }
        })?;
        report(scheme, "get", len, gets)?;
        let sets = alternate(slices, keys, |ours, key, _| {
            // A value that is there already need not be written, and SQLite sees that.
            value[0] = value[0].wrapping_add(1);
            if ours { set(&mut *session, key, &value) } else { bare.set(key, &value) }
        })?;
        report(scheme, "set", len, sets)?;
    }
    Ok(())
}

fn get(session: &mut dyn Session, key: &[u8], buffer: &mut Vec<u8>) -> Result<()> {
    session.get(key, buffer)?.ok_or("a miss")?;
    Ok(())
}

fn set(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<()> {
    session.set(key, value, &SetOptions::default())?;
    Ok(())
}

/// Nanoseconds an operation of each slice, ours and bare.
fn alternate(
    slices: usize,
    keys: u64,
    mut operation: impl FnMut(bool, &[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<[Vec<f64>; 2]> {
    let mut buffer = Vec::new();
    let mut times = [Vec::new(), Vec::new()];
    for slice in 0..slices as u64 {
        // They take turns at going first, so that neither always finds the caches as the other left them.
        for turn in 0..2 {
            let ours = (slice + turn) % 2 == 0;
            let start = Instant::now();
            for i in 0..OPERATIONS {
                let key = key((slice * OPERATIONS + i) * 7919 % keys);
                operation(ours, black_box(&key), &mut buffer)?;
            }
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            let each = start.elapsed().as_secs_f64() * 1e9 / OPERATIONS as f64;
            times[usize::from(!ours)].push(each);
        }
    }
    Ok(times)
}

fn report(scheme: &str, operation: &str, len: usize, times: [Vec<f64>; 2]) -> Result<()> {
    let ratios = times[0].iter().zip(&times[1]).map(|(ours, bare)| ours / bare).collect();
    let [ours, bare] = times.map(median);
    writeln!(
        std::io::stdout(),
        "{scheme} {operation} {len:5} B: {ours:7.0} ns, bare {bare:7.0} ns, ratio {:.2}",
        median(ratios)
    )?;
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Sixteen bytes in no order.
fn key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

/// A folder that vanishes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn create(parent: &Path) -> Result<Self> {
        let path = parent.join(format!("larder-floor-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files that stay behind lie in a temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
