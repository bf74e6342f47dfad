//! What tests of several processes share.

pub(crate) mod ledger;
pub(crate) mod work;

use larder_segment::Options;

/// Processes that work.
pub(crate) const WORKERS: usize = 8;

/// Keys, of which each is changed by one worker.
pub(crate) const KEYS: usize = 4096;

/// A region that the keys' values do not all fit in.
pub(crate) const OPTIONS: Options =
    Options { size: 8 << 20, item: 2048, max_key: 250, max_value: Some(1 << 20) };

/// A folder in memory where there is one.
pub(crate) fn folder() -> tempfile::TempDir {
    let shared = std::path::Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.into() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder")
}

/// Numbers that look random, the same for a seed (xorshift64*, Vigna 2016).
pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
