//! Latencies of requests as histograms: from the moment a request is parsed until its answer is written.
//!
//! A bucket is an eighth of a power of two of nanoseconds wide, so a percentile is right to an eighth. Reading the clock
//! costs as much as a short request, so of each turn of a connection the first request is timed, unless a storage thread
//! answers or slow requests are logged: then each is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_protocol::binary::{REQUEST_MAGIC, opcode};

/// Kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Get,
    Set,
    Delete,
    Count,
    Touch,
    Other,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 6] =
        [Self::Get, Self::Set, Self::Delete, Self::Count, Self::Touch, Self::Other];

    /// The name in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Delete => "delete",
            Self::Count => "arithmetic",
            Self::Touch => "touch",
            Self::Other => "other",
        }
    }

    /// The kind of the request that begins with these bytes.
    #[expect(clippy::match_same_arms, reason = "a line for each protocol, or each group of names")]
    pub(crate) fn of(request: &[u8]) -> Self {
        match request {
            [b'm', b'g', b' ', ..] | [b'g', ..] => Self::Get,
            [b'm', b's', b' ', ..] | [b's', b'e', ..] | [b'r', b'e', b'p', ..] => Self::Set,
            [b'm', b'd', b' ', ..] | [b'd', b'e', b'l', ..] => Self::Delete,
            [b'm', b'a', b' ', ..] | [b'i' | b'd', ..] => Self::Count,
            [b't', ..] => Self::Touch,
            [b'a' | b'c' | b'p', ..] => Self::Set,
            [REQUEST_MAGIC, operation, ..] => Self::of_opcode(*operation),
            _ => Self::Other,
        }
    }

    #[expect(clippy::match_same_arms, reason = "a line for each group of names")]
    fn of_opcode(operation: u8) -> Self {
        use opcode as op;
        match operation {
            op::GET | op::GETQ | op::GETK | op::GETKQ => Self::Get,
            op::GAT | op::GATQ | op::GATK | op::GATKQ => Self::Get,
            op::SET | op::ADD | op::REPLACE | op::APPEND | op::PREPEND => Self::Set,
            op::SETQ | op::ADDQ | op::REPLACEQ | op::APPENDQ | op::PREPENDQ => Self::Set,
            op::DELETE | op::DELETEQ => Self::Delete,
            op::INCREMENT | op::INCREMENTQ | op::DECREMENT | op::DECREMENTQ => Self::Count,
            op::TOUCH => Self::Touch,
            _ => Self::Other,
        }
    }
}

/// Bits of a bucket's place within its power of two.
const BITS: u32 = 3;

/// Buckets: eight in each power of two, to 2^40 ns, which are 18 minutes.
const N_BUCKETS: usize = 38 << BITS;

/// Times of one thread, by kind.
#[derive(Debug)]
pub(crate) struct Latencies([Histogram; Kind::ALL.len()]);

#[derive(Debug)]
struct Histogram {
    buckets: [AtomicU64; N_BUCKETS],
    sum_ns: AtomicU64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Histogram {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_ns: AtomicU64::new(0),
        }))
    }
}

impl Latencies {
    /// Adds the latency of `n` requests.
    pub(crate) fn add(&self, kind: Kind, time: Duration, n: u64) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let histogram = &self.0[kind as usize];
        histogram.buckets[bucket_of(ns)].fetch_add(n, Ordering::Relaxed);
        histogram.sum_ns.fetch_add(ns.saturating_mul(n), Ordering::Relaxed);
    }

    /// Begins anew.
    pub(crate) fn reset(&self) {
        for histogram in &self.0 {
            histogram.buckets.iter().for_each(|bucket| bucket.store(0, Ordering::Relaxed));
            histogram.sum_ns.store(0, Ordering::Relaxed);
        }
    }
}

fn bucket_of(ns: u64) -> usize {
    let exponent = ns.max(1).ilog2();
    let place = if exponent < BITS {
        ns
    } else {
        u64::from(exponent - BITS + 1) << BITS | (ns >> (exponent - BITS)) & ((1 << BITS) - 1)
    };
    usize::try_from(place).map_or(N_BUCKETS - 1, |place| place.min(N_BUCKETS - 1))
}

/// The end of a bucket, in nanoseconds: its times are below it.
fn end_of(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    let (power, place) = (next >> BITS, next & ((1 << BITS) - 1));
    if power == 0 { place } else { ((1 << BITS) | place) << (power - 1) }
}

/// The times of all threads, of one kind or of all.
#[derive(Debug)]
pub(crate) struct Times {
    buckets: Vec<u64>,
    /// The sum of all times.
    pub(crate) sum: Duration,
}

impl Times {
    /// Adds threads up; `None` is all kinds.
    pub(crate) fn of<'a>(threads: impl Iterator<Item = &'a Latencies>, kind: Option<Kind>) -> Self {
        let mut times = Self { buckets: vec![0; N_BUCKETS], sum: Duration::ZERO };
        for latencies in threads {
            for of_kind in Kind::ALL.into_iter().filter(|of| kind.is_none_or(|kind| kind == *of)) {
                let histogram = &latencies.0[of_kind as usize];
                for (sum, bucket) in times.buckets.iter_mut().zip(&histogram.buckets) {
                    *sum += bucket.load(Ordering::Relaxed);
                }
                times.sum += Duration::from_nanos(histogram.sum_ns.load(Ordering::Relaxed));
            }
        }
        times
    }

    /// How many times there are.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How many times are below a bound.
    pub(crate) fn below(&self, bound: Duration) -> u64 {
        let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        let inside = self.buckets.iter().enumerate().take_while(|(i, _)| end_of(*i) <= bound);
        inside.map(|(_, count)| count).sum()
    }

    /// The time below which `of_ten_thousand` of 10,000 requests are; `None` without requests.
    pub(crate) fn quantile(&self, of_ten_thousand: u64) -> Option<Duration> {
        let wanted = (self.count() * of_ten_thousand).div_ceil(10_000).max(1);
        let mut seen = 0;
        let place = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(Duration::from_nanos(end_of(place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_the_bucket_that_ends_behind_it() {
        for ns in (0..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789, 1 << 38]) {
            let bucket = bucket_of(ns);
            assert!(ns < end_of(bucket), "{ns}");
            assert!(bucket == 0 || ns >= end_of(bucket - 1), "{ns}");
            // An eighth at most.
            assert!(end_of(bucket) <= ns + ns / 8 + 1, "{ns}");
        }
        assert_eq!(bucket_of(u64::MAX), N_BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_right_to_an_eighth() {
        let latencies = Latencies::default();
        for micros in 1..=1000 {
            latencies.add(Kind::Get, Duration::from_micros(micros), 1);
        }
        latencies.add(Kind::Set, Duration::from_secs(1), 1);
        let gets = Times::of(std::iter::once(&latencies), Some(Kind::Get));
        assert_eq!((gets.count(), gets.sum), (1000, Duration::from_micros(500_500)));
        for (of_ten_thousand, micros) in [(5000, 500), (9900, 990), (9990, 999)] {
            let found = gets.quantile(of_ten_thousand).unwrap().as_nanos();
            assert!((micros * 1000..=micros * 1125).contains(&found), "{found}");
        }
        assert_eq!(gets.below(Duration::from_secs(1)), 1000);
        let all = Times::of(std::iter::once(&latencies), None);
        assert_eq!(all.count(), 1001);
        assert!(all.quantile(10_000).unwrap() > Duration::from_secs(1));
        latencies.reset();
        assert_eq!(Times::of(std::iter::once(&latencies), None).quantile(5000), None);
    }

    #[test]
    fn requests_are_told_apart_by_their_first_bytes() {
        for (request, kind) in [
            ("gets a", Kind::Get),
            ("gat 1 a", Kind::Get),
            ("mg a", Kind::Get),
            ("set a", Kind::Set),
            ("cas a", Kind::Set),
            ("replace a", Kind::Set),
            ("ms a", Kind::Set),
            ("delete a", Kind::Delete),
            ("md a", Kind::Delete),
            ("decr a 1", Kind::Count),
            ("incr a 1", Kind::Count),
            ("ma a", Kind::Count),
            ("touch a 1", Kind::Touch),
            ("stats", Kind::Other),
            ("mn", Kind::Other),
            ("\u{80}", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of(request.as_bytes()), kind, "{request}");
        }
        assert_eq!(Kind::of(&[0x80, 0x12]), Kind::Set);
    }
}
