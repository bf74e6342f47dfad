//! The hit ratios that a cache of some capacity could have had, on exactly the measured operations. The models are
//! an exact LRU, and the optimal choice, which knows the future.
//!
//! A ratio by itself says little: 60 % may be all that the order of the keys allows, or half of it. So two models
//! stand beside the figures of the targets and see the same operations, drawn from the same seed. They count only the
//! bytes of keys and values; a store takes its overhead out of its own capacity. The models are those of `insight`.
//!
//! The operations of several threads are dealt in turn, one of each: how they really interleaved is not known. With one
//! thread, and in a trace, their order is exact.

mod accesses;
mod curve;

pub(crate) use curve::curves;
