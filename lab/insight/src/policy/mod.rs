//! What a cache keeps: replacement policies as simulations, one file for each kind.
//!
//! A policy knows keys by small numbers and entries by their sizes. It keeps no values and reads no clock, so a step
//! takes nanoseconds. The unit of sizes is the caller's: with bytes the capacity is in bytes, and with sizes of 1 it is
//! in entries. Expiry, and what a miss fills, are decided outside (`simulate.rs`), so they are the same for all.
//!
//! [`belady`] is no [`Policy`]: it must know the future.

pub(crate) mod belady;
mod queue;
mod rings;
mod s3_fifo;
mod sieve;
mod sketch;
#[cfg(test)]
mod tests;
mod time_set;
mod w_tiny_lfu;

use larder_report::MeasuredIn;

pub(crate) use queue::{Fifo, Lru};
pub(crate) use s3_fifo::S3Fifo;
pub(crate) use sieve::Sieve;
pub(crate) use w_tiny_lfu::WTinyLfu;

/// A cache of a fixed capacity. No entry is larger than the capacity.
pub(crate) trait Policy {
    /// An empty cache for keys below `n_keys`. `measure` is the unit of the capacity and of sizes.
    fn new(capacity: u64, measure: MeasuredIn, n_keys: usize) -> Self;

    /// The most that all entries together may take.
    fn capacity(&self) -> u64;

    /// Whether a key is in the cache.
    fn has(&self, key: u32) -> bool;

    /// Uses a key that is in the cache.
    fn touch(&mut self, key: u32);

    /// Stores a key that is not in the cache, and makes room for it.
    fn insert(&mut self, key: u32, size: u32);

    /// Gives a key that is in the cache another size, and makes room for it; the key itself may have to leave.
    fn resize(&mut self, key: u32, size: u32);

    /// Removes a key that is in the cache.
    fn remove(&mut self, key: u32);

    /// Stores a key, whether it is there or not. A key that is there counts as used. An entry larger than the capacity is
    /// not taken, and its older value is gone.
    fn store(&mut self, key: u32, size: u32) {
        match (self.has(key), u64::from(size) <= self.capacity()) {
            (false, true) => self.insert(key, size),
            (true, true) => {
                self.touch(key);
                self.resize(key, size);
            }
            (true, false) => self.remove(key),
            (false, false) => {}
        }
    }
}
