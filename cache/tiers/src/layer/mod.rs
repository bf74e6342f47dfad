//! Layers that any store can have around it, one file each. [`LAYERS`] lists them as options of a URL:
//! `memcached://h?retry=2&breaker=5`. Each module's `layer` puts the layer around an open store.
//!
//! The order is fixed, whatever the order in a URL. From the store outwards:
//!
//! 1. `compress`: the other layers see values as the caller does.
//! 2. `breaker`: it counts every call that reaches the store, repeated ones too. So it opens early, and a probe is one
//!    call and never several.
//! 3. `retry`: it repeats what the breaker let through, and never a call that the breaker refused.
//! 4. `metrics`: it counts and times what the caller sees.
//! 5. `spans`: it tells what the caller sees; repeated calls are one span.
//!
//! Around a get of 100 bytes from `memory:`, which takes 95 ns, `breaker` added 15 ns, `compress` 25 ns (a short value),
//! `retry` 45 ns and `metrics` 86 ns. The last two read the clock, once and twice. A 4 KiB text took 3 µs to compress
//! by zstd or 2.3 µs by LZ4, and 3 µs to decompress (all on an idle 2-core machine of 2026, in a release build). `spans`
//! added 130 ns where no tracer provider took the span.
//!
//! A layered store sends no requests ahead of their answers ([`Capabilities::pipeline`]): such a request has no call that a
//! layer could repeat, refuse or time.
//!
//! [`Capabilities::pipeline`]: larder_store::Capabilities::pipeline

pub mod breaker;
pub mod compress;
pub mod metrics;
mod parts;
pub mod retry;
pub mod spans;
mod timer;

use larder_store::StoreLayer;

pub use timer::{SystemTimer, Timer};

/// Every layer, the innermost first.
pub const LAYERS: &[StoreLayer] =
    &[compress::LAYER, breaker::LAYER, retry::LAYER, metrics::LAYER, spans::LAYER];
