//! How often a cache of some capacity could have hit, on the very operations that were measured: exact LRU, and the
//! optimal choice, which knows the future.
//!
//! A ratio by itself says little: 60 % may be all that the order of the keys allows, or half of it. So beside what the
//! targets reached stand two models that see the same operations, drawn from the same seed. They count bytes of keys and
//! values and nothing else; what a store needs besides comes out of its own capacity.
//!
//! The operations of several threads are dealt in turn, one of each: how they really interleaved is not known. With one
//! thread, and in a trace, their order is exact.

mod accesses;
mod belady;
mod curve;
mod lru;
mod time_set;

#[cfg(test)]
mod tests;

pub(crate) use curve::curves;
