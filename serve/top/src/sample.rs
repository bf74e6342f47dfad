//! From counters to figures: two samples of one server give its rates. Nothing here knows a socket or a clock.

use std::time::Instant;

/// Two samples nearer than this, in seconds, give no rate: the clock's errors would be in it.
const SHORTEST_S: f64 = 0.01;

/// The counters of a server at one moment, by the names of memcached's `stats`, in the server's order.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) counters: Vec<(String, String)>,
}

impl Sample {
    /// The value of a counter as the server writes it.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.counters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The version of the server. `larder serve` reports the version of memcached whose protocols it speaks, and its own.
    pub(crate) fn version(&self) -> String {
        let version = self.text("version").unwrap_or_default();
        self.text("larder_version")
            .map_or_else(|| version.to_owned(), |own| format!("{version}-larder-{own}"))
    }

    /// The value of a counter that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.text(name).and_then(number)
    }
}

/// A decimal number; words that only look like one, such as `inf`, are no numbers.
fn number(text: &str) -> Option<f64> {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| text.parse().ok())?
}

/// The figures of one server, or of several together. An unknown figure is `None`, never a zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    /// Rates in a second: reads, writes, and all other commands for keys.
    pub(crate) gets: Option<f64>,
    pub(crate) sets: Option<f64>,
    pub(crate) others: Option<f64>,
    /// Rates of the two outcomes of a read.
    pub(crate) hits: Option<f64>,
    pub(crate) misses: Option<f64>,
    pub(crate) evictions: Option<f64>,
    pub(crate) read_bytes: Option<f64>,
    pub(crate) written_bytes: Option<f64>,
    /// Processor time in a second, 1 for one processor.
    pub(crate) cpu: Option<f64>,
    /// The present levels.
    pub(crate) up_s: Option<f64>,
    pub(crate) connections: Option<f64>,
    pub(crate) max_connections: Option<f64>,
    pub(crate) items: Option<f64>,
    pub(crate) bytes: Option<f64>,
    pub(crate) limit_bytes: Option<f64>,
    /// The latencies that 50 %, 99 % and 99.9 % of requests do not exceed, where the server tells them.
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) p999_us: Option<f64>,
}

/// Commands for keys that are neither reads nor writes. `cmd_meta` is left out: each meta command also counts as the
/// classic command that it stands for.
const OTHERS: [&str; 8] = [
    "delete_hits",
    "delete_misses",
    "incr_hits",
    "incr_misses",
    "decr_hits",
    "decr_misses",
    "touch_hits",
    "touch_misses",
];

impl Figures {
    /// The levels of the later sample, and the rates between both.
    pub(crate) fn of(earlier: Option<&Sample>, later: &Sample) -> Self {
        // A limit of zero is a server without a limit.
        let level = |name| later.number(name);
        let limit = |name| level(name).filter(|limit| *limit > 0.0);
        let levels = Self {
            up_s: level("uptime"),
            connections: level("curr_connections"),
            max_connections: limit("max_connections"),
            items: level("curr_items"),
            bytes: level("bytes"),
            limit_bytes: limit("limit_maxbytes"),
            p50_us: level("larder_latency_p50_us"),
            p99_us: level("larder_latency_p99_us"),
            p999_us: level("larder_latency_p999_us"),
            ..Self::default()
        };
        let Some(interval) = earlier.and_then(|earlier| Interval::between(earlier, later)) else {
            return levels;
        };
        let rate = |name| interval.rate(name);
        Self {
            gets: rate("cmd_get"),
            sets: rate("cmd_set"),
            others: sum(OTHERS.into_iter().map(rate)),
            hits: rate("get_hits"),
            misses: rate("get_misses"),
            evictions: rate("evictions"),
            read_bytes: rate("bytes_read"),
            written_bytes: rate("bytes_written"),
            cpu: sum(["rusage_user", "rusage_system"].into_iter().map(rate)),
            ..levels
        }
    }

    /// The sums of several servers. Times and latencies have no sum. A limit has one where each server has a limit.
    pub(crate) fn total(all: &[Self]) -> Self {
        let of = |part: fn(&Self) -> Option<f64>| sum(all.iter().map(part));
        let limit = |part: fn(&Self) -> Option<f64>, level: fn(&Self) -> Option<f64>| {
            let limits = all.iter().filter(|it| level(it).is_some()).map(part);
            limits.reduce(|sum, limit| Some(sum? + limit?)).flatten()
        };
        Self {
            gets: of(|it| it.gets),
            sets: of(|it| it.sets),
            others: of(|it| it.others),
            hits: of(|it| it.hits),
            misses: of(|it| it.misses),
            evictions: of(|it| it.evictions),
            read_bytes: of(|it| it.read_bytes),
            written_bytes: of(|it| it.written_bytes),
            cpu: of(|it| it.cpu),
            up_s: None,
            connections: of(|it| it.connections),
            max_connections: limit(|it| it.max_connections, |it| it.connections),
            items: of(|it| it.items),
            bytes: of(|it| it.bytes),
            limit_bytes: limit(|it| it.limit_bytes, |it| it.bytes),
            p50_us: None,
            p99_us: None,
            p999_us: None,
        }
    }

    /// Requests in a second.
    pub(crate) fn requests(&self) -> Option<f64> {
        sum([self.gets, self.sets, self.others].into_iter())
    }

    /// The share of reads that found their entry; `None` without reads.
    pub(crate) fn hit_rate(&self) -> Option<f64> {
        let (hits, misses) = (self.hits?, self.misses?);
        (hits + misses > 0.0).then(|| hits / (hits + misses))
    }

    /// The share of the limit that entries take.
    pub(crate) fn fill(&self) -> Option<f64> {
        Some(self.bytes? / self.limit_bytes?)
    }
}

/// The sum of the known figures; `None` where all are unknown.
fn sum(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures.flatten().reduce(|sum, figure| sum + figure)
}

/// Two samples of one run of a server, without a reset of its counters between them.
#[derive(Debug)]
struct Interval<'a> {
    earlier: &'a Sample,
    later: &'a Sample,
    seconds: f64,
}

impl<'a> Interval<'a> {
    /// `None` where the counters began anew: the work since then has an unknown beginning, so it has no rate.
    fn between(earlier: &'a Sample, later: &'a Sample) -> Option<Self> {
        let seconds = later.at.saturating_duration_since(earlier.at).as_secs_f64();
        let is_same = earlier.text("pid") == later.text("pid");
        let grew = |(name, value): &(String, String)| {
            let only_grows = name == "uptime" || only_grows(name);
            !only_grows || number(value) >= earlier.number(name)
        };
        (seconds >= SHORTEST_S && is_same && later.counters.iter().all(grew)).then_some(Self {
            earlier,
            later,
            seconds,
        })
    }

    /// The growth of a counter in a second; `None` where it shrank.
    fn rate(&self, name: &str) -> Option<f64> {
        let growth = self.later.number(name)? - self.earlier.number(name)?;
        (growth >= 0.0).then_some(growth / self.seconds)
    }
}

/// Whether a counter grows until the server restarts or is told to reset it.
fn only_grows(name: &str) -> bool {
    name.starts_with("cmd_")
        || name.ends_with("_hits")
        || name.ends_with("_misses")
        || matches!(name, "bytes_read" | "bytes_written" | "total_connections" | "evictions")
}

/// A counter that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) name: String,
    /// The present value, as the server writes it.
    pub(crate) value: String,
    /// Growth in a second, below zero for a level that fell.
    pub(crate) rate: f64,
}

/// The numbers of the later sample with their growth in a second, also those that stayed; none after a reset. The
/// server's clocks and its latencies are left out, because their growth tells nothing.
pub(crate) fn growths(earlier: &Sample, later: &Sample) -> Vec<Change> {
    let Some(interval) = Interval::between(earlier, later) else { return Vec::new() };
    let of = |(name, value): &(String, String)| {
        let growth = number(value)? - earlier.number(name)?;
        let (name, value) = (name.clone(), value.clone());
        Some(Change { name, value, rate: growth / interval.seconds })
    };
    let grows = |name: &str| {
        !matches!(name, "time" | "uptime" | "pid") && !name.starts_with("larder_latency_")
    };
    later.counters.iter().filter(|(name, _)| grows(name)).filter_map(of).collect()
}

#[cfg(test)]
pub(crate) mod tests;
