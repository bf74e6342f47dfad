//! A workload as it is typed: the flags of `larder compare` and the fields of a scenario file are this one struct.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use larder_store::{ByteSize, Span};

use super::flag_fields::text;
use super::{
    ArrivalKind, Bound, Capacity, EachThread, KeyPattern, OnMiss, Operations, Ratio, Replay, Scan,
    SizeSpec, Sweep, Until,
};

/// The work for each target. Every field may be left out; a flag wins over a scenario's field.
#[derive(Debug, Clone, Default, PartialEq, Args, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Workload")]
pub struct WorkloadSpec {
    /// Number of keys; a comma sweeps [default: 20000, or those of a trace]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub keys: Option<Sweep<Count>>,

    /// Length of keys: 32, uniform:20-60, list:16:1,40:3, normal:M,SD, histogram:FILE; a comma between plain
    /// lengths sweeps [default: 32]
    #[arg(hide_short_help = true, long, value_name = "LEN")]
    #[serde(deserialize_with = "text")]
    pub key_size: Option<Sweep<SizeSpec>>,

    /// The keys that are read: uniform, zipf:0.99, trace:FILE … [default: uniform]
    ///
    /// Their order and frequency: seq, first, uniform, zipf:0.99, gauss, hotspot:0.2,0.8, latest, popularity:FILE,
    /// trace:FILE, trace:builtin:web12
    #[arg(long, value_name = "PATTERN", alias = "keys-from", visible_alias = "keys-from")]
    #[serde(deserialize_with = "text", alias = "keys-from")]
    pub key_pattern: Option<KeyPattern>,

    /// Size of values: 4k, uniform:1k-64k … [default: 1k]
    ///
    /// Also normal:4k,1k, list:4k:1,72k:1, histogram:FILE; a comma between plain sizes sweeps
    #[arg(short, long, value_name = "SIZE")]
    #[serde(deserialize_with = "text")]
    pub data_size: Option<Sweep<SizeSpec>>,

    /// Share of each value that compresses away, 0 to 1 [default: 0]
    #[arg(hide_short_help = true, long, value_name = "SHARE")]
    #[serde(deserialize_with = "text")]
    pub compressibility: Option<Share>,

    /// Cut values from this file, a page of your own, or from the page of 30 kB that is built in (builtin:page); without
    /// --data-size each value is as long as the file
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with = "compressibility")]
    #[serde(deserialize_with = "text")]
    pub payload: Option<PathBuf>,

    /// The measured operations: set, get, delete, touch … [default: set,get]
    ///
    /// In this order, each on every key or on --requests: set, get, `get_or_set`, delete, touch; with + between them, all
    /// on one key before the next: set+get; with --group, a whole group one by one (`get_each`), by one request for its
    /// keys (`get_many`), by its tag (`get_tag`)
    #[arg(long, value_name = "LIST", conflicts_with = "ratio")]
    #[serde(deserialize_with = "text")]
    pub operations: Option<Operations>,

    /// Mix sets and gets: 1:10 is 1 set to 10 gets
    ///
    /// A third number is that of deletes
    #[arg(long, value_name = "SET:GET")]
    #[serde(deserialize_with = "text")]
    pub ratio: Option<Ratio>,

    /// The operation that follows a miss: fill, fill-next, skip
    ///
    /// `fill` stores the value (get-or-set; each round starts empty), `fill-next` stores the value under the next key (a
    /// known mistake), `skip` does nothing
    #[arg(long, value_name = "WHAT")]
    #[serde(deserialize_with = "text")]
    pub on_miss: Option<OnMiss>,

    /// The room of each target: 10%, 64m; needs --on-miss fill
    ///
    /// A share of all keys and values (10%), or a size (64m); a comma sweeps. The hit ratios stand beside those of an exact
    /// LRU and of the optimal choice
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub capacity: Option<Sweep<Capacity>>,

    /// The time that the application needs to make a value that a get-or-set missed. This sleep between the miss and
    /// its fill is part of the time of the operation
    #[arg(hide_short_help = true, long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub load_time: Option<Span>,

    /// Read this many keys in one request
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub multiget: Option<Count>,

    /// Store this many keys in one request
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub multiset: Option<Count>,

    /// Read successive keys together, in groups of this many; with `get_tag`, each value is stored with the tag of its
    /// group
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub group: Option<Count>,

    /// Give every value this time to live
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub ttl: Option<Span>,

    /// Threads; a comma sweeps [default: 1]
    ///
    /// Without --connections each has one session, and so one connection to a server
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub threads: Option<Sweep<Count>>,

    /// Connections of all threads together [default: one a thread]
    ///
    /// To 50000. Each thread watches its share of them and answers whichever is ready, so a few threads load a server as
    /// many clients do; a comma sweeps
    #[arg(short = 'c', long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub connections: Option<Sweep<Count>>,

    /// Requests that each connection sends before it has the answer to the first of them, to 1024; a comma sweeps
    /// [default: 1]
    #[arg(hide_short_help = true, short = 'P', long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub pipeline: Option<Sweep<Count>>,

    /// Further connections that are open all the time and send nothing
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub idle_connections: Option<Count>,

    /// Further connections that come each second while operations are measured, each for one read: 500
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub connect_rate: Option<Count>,

    /// The keys that each thread reads, with --key-pattern seq: share, its part of the keys; all, every key; all:16, every
    /// key of its application, where 16 threads are one application with --keys of its own [default: share]
    #[arg(hide_short_help = true, long, value_name = "WHICH", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub each_thread: Option<EachThread>,

    /// Processes of each guest (a cache of another language), forked once its cache is open: a guest has no threads. It
    /// is not compared with a target of another number of threads [default: as many as --threads]
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub processes: Option<Count>,

    /// Reads or mixed operations a round [default: as many as keys]
    ///
    /// All threads together; those of the whole trace where there is one. Separate sets, deletes and touches are always one
    /// a key
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        conflicts_with = "duration",
        allow_hyphen_values = true
    )]
    #[serde(deserialize_with = "text")]
    pub requests: Option<Count>,

    /// Time of a round, in place of a number of operations
    ///
    /// It ends the reads or mixed operations of a round
    #[arg(long, value_name = "TIME", alias = "test-time", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub duration: Option<Span>,

    /// Operations that come each second: 10k, 2.5k
    ///
    /// Of all threads together, whether the target keeps up or not. Latency counts from the instant at which an operation
    /// was due; a comma sweeps. Without it, each thread's next operation begins when its last one is over
    #[arg(short = 'R', long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub rate: Option<Sweep<Count>>,

    /// The spacing of operations over time: fixed, at the same distance; exponential, as from many callers; trace, as
    /// recorded, at another rate [default: fixed]
    #[arg(hide_short_help = true, long, value_name = "HOW", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub arrivals: Option<ArrivalKind>,

    /// The pace of a trace: asap, as fast as targets answer; 1x, as it was recorded; 10x or 0.5x, so many times as fast,
    /// with the recorded TTLs on the same clock [default: asap]
    #[arg(
        hide_short_help = true, long,
        value_name = "SPEED",
        conflicts_with_all = ["rate", "arrivals", "scan", "search"],
        allow_hyphen_values = true
    )]
    #[serde(deserialize_with = "text")]
    pub replay: Option<Replay>,

    /// Measure at the rates from the first to the last in steps, 10k:50k:10k, and show latency against throughput
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FROM:TO:STEP",
        conflicts_with = "rate",
        allow_hyphen_values = true
    )]
    #[serde(deserialize_with = "text")]
    pub scan: Option<Scan>,

    /// Look for the highest rate at which a percentile of the latency, p50 to p99.9 or max, stays within a time: p99:1ms
    #[arg(hide_short_help = true, long, value_name = "PERCENTILE:TIME", conflicts_with_all = ["rate", "scan"], allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub search: Option<Bound>,

    /// Before the first round, do all operations unmeasured for this time
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub warmup: Option<Span>,

    /// Rounds, interleaved over the targets [default: 10]
    #[arg(short, long, value_name = "N", alias = "runs", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub rounds: Option<Count>,

    /// More rounds, after the first --rounds, until the 95 % interval of every rate lies within this percentage of the
    /// rate, 2%, and that of every ratio of two rates within 1.4 times as much. Where targets are compared, 28 rounds
    /// at least; each point of a sweep ends by itself
    #[arg(hide_short_help = true, long, value_name = "PERCENT", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub until: Option<Until>,

    /// Begin no further round after this time; each point has its first round in any case [default: 5m with --until]
    #[arg(hide_short_help = true, long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub max_time: Option<Span>,

    /// Take fewer keys where the rounds would take longer than this
    ///
    /// The same for every target, as a short trial of each on this machine shows
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub within: Option<Span>,

    /// The number from which every key, size and operation follows [default: 1]
    #[arg(hide_short_help = true, long, value_name = "N", allow_hyphen_values = true)]
    #[serde(deserialize_with = "text")]
    pub seed: Option<u64>,

    /// Memory of the whole run, from 64m
    ///
    /// Of client, servers and guests together, with the pages of their files in the page cache and in file systems in
    /// memory, where the system supports such a limit
    #[arg(long, value_name = "SIZE")]
    #[serde(deserialize_with = "text")]
    pub memory: Option<ByteSize>,

    /// Keep thread i on processor i
    #[arg(hide_short_help = true, long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(deserialize_with = "text")]
    pub pin: Option<bool>,
}

impl WorkloadSpec {
    /// This specification, completed by the fields of another one.
    #[must_use]
    pub fn or(self, mut other: Self) -> Self {
        // Of two fields that exclude each other, the nearer specification's field wins.
        if self.operations.is_some() || self.ratio.is_some() {
            (other.operations, other.ratio) = (None, None);
        }
        if self.operations.is_some() {
            other.on_miss = None;
        }
        if self.on_miss.is_some_and(OnMiss::fills) {
            other.operations = None;
        }
        if self.requests.is_some() || self.duration.is_some() {
            (other.requests, other.duration) = (None, None);
        }
        if self.says_how_much() {
            other.within = None;
        }
        if self.rate.is_some() || self.scan.is_some() || self.search.is_some() {
            (other.rate, other.scan, other.search, other.replay) = (None, None, None, None);
        }
        if self.arrivals.is_some() {
            other.replay = None;
        }
        if self.replay.is_some() {
            (other.rate, other.scan, other.search, other.arrivals) = (None, None, None, None);
        }
        if self.compressibility.is_some() || self.payload.is_some() {
            (other.compressibility, other.payload) = (None, None);
        }
        Self {
            keys: self.keys.or(other.keys),
            key_size: self.key_size.or(other.key_size),
            key_pattern: self.key_pattern.or(other.key_pattern),
            data_size: self.data_size.or(other.data_size),
            compressibility: self.compressibility.or(other.compressibility),
            payload: self.payload.or(other.payload),
            operations: self.operations.or(other.operations),
            ratio: self.ratio.or(other.ratio),
            on_miss: self.on_miss.or(other.on_miss),
            capacity: self.capacity.or(other.capacity),
            load_time: self.load_time.or(other.load_time),
            multiget: self.multiget.or(other.multiget),
            multiset: self.multiset.or(other.multiset),
            group: self.group.or(other.group),
            ttl: self.ttl.or(other.ttl),
            threads: self.threads.or(other.threads),
            connections: self.connections.or(other.connections),
            pipeline: self.pipeline.or(other.pipeline),
            idle_connections: self.idle_connections.or(other.idle_connections),
            connect_rate: self.connect_rate.or(other.connect_rate),
            each_thread: self.each_thread.or(other.each_thread),
            processes: self.processes.or(other.processes),
            requests: self.requests.or(other.requests),
            duration: self.duration.or(other.duration),
            rate: self.rate.or(other.rate),
            arrivals: self.arrivals.or(other.arrivals),
            replay: self.replay.or(other.replay),
            scan: self.scan.or(other.scan),
            search: self.search.or(other.search),
            warmup: self.warmup.or(other.warmup),
            rounds: self.rounds.or(other.rounds),
            until: self.until.or(other.until),
            max_time: self.max_time.or(other.max_time),
            within: self.within.or(other.within),
            seed: self.seed.or(other.seed),
            memory: self.memory.or(other.memory),
            pin: self.pin.or(other.pin),
        }
    }
}

impl WorkloadSpec {
    /// Whether a field sets the amount of work.
    fn says_how_much(&self) -> bool {
        self.keys.is_some()
            || self.requests.is_some()
            || self.duration.is_some()
            || self.until.is_some()
            || self.rate.is_some()
            || self.scan.is_some()
            || self.search.is_some()
            || self.replay.is_some_and(|replay| replay.speed().is_some())
            || self.capacity.is_some()
    }

    /// The rates at which operations come, in turn; `None` where the targets set the pace.
    pub fn rates(&self) -> Option<Sweep<Count>> {
        self.scan.map(|scan| scan.rates().collect()).or_else(|| self.rate.clone())
    }

    /// The fields by which this specification, laid over another one, makes another workload. More rounds, more
    /// requests, other draws and less memory do not make another workload.
    pub fn changes(&self, other: &Self) -> Vec<&'static str> {
        let fields = [
            ("keys", differs(self.keys.as_ref(), other.keys.as_ref(), "")),
            ("key-size", differs(self.key_size.as_ref(), other.key_size.as_ref(), "32")),
            (
                "key-pattern",
                differs(self.key_pattern.as_ref(), other.key_pattern.as_ref(), "uniform"),
            ),
            ("data-size", differs(self.data_size.as_ref(), other.data_size.as_ref(), "")),
            (
                "compressibility",
                differs(self.compressibility.as_ref(), other.compressibility.as_ref(), "0"),
            ),
            ("payload", differs(self.payload.as_ref(), other.payload.as_ref(), "")),
            ("operations", differs(self.operations.as_ref(), other.operations.as_ref(), "set,get")),
            ("ratio", differs(self.ratio.as_ref(), other.ratio.as_ref(), "")),
            ("on-miss", differs(self.on_miss.as_ref(), other.on_miss.as_ref(), "skip")),
            ("capacity", differs(self.capacity.as_ref(), other.capacity.as_ref(), "")),
            ("load-time", differs(self.load_time.as_ref(), other.load_time.as_ref(), "")),
            ("multiget", differs(self.multiget.as_ref(), other.multiget.as_ref(), "1")),
            ("multiset", differs(self.multiset.as_ref(), other.multiset.as_ref(), "1")),
            ("group", differs(self.group.as_ref(), other.group.as_ref(), "")),
            ("ttl", differs(self.ttl.as_ref(), other.ttl.as_ref(), "")),
            ("threads", differs(self.threads.as_ref(), other.threads.as_ref(), "1")),
            ("connections", differs(self.connections.as_ref(), other.connections.as_ref(), "")),
            ("pipeline", differs(self.pipeline.as_ref(), other.pipeline.as_ref(), "")),
            (
                "idle-connections",
                differs(self.idle_connections.as_ref(), other.idle_connections.as_ref(), ""),
            ),
            ("connect-rate", differs(self.connect_rate.as_ref(), other.connect_rate.as_ref(), "")),
            (
                "each-thread",
                differs(self.each_thread.as_ref(), other.each_thread.as_ref(), "share"),
            ),
            ("processes", differs(self.processes.as_ref(), other.processes.as_ref(), "1")),
            ("duration", differs(self.duration.as_ref(), other.duration.as_ref(), "")),
            ("rate", differs(self.rate.as_ref(), other.rate.as_ref(), "")),
            ("arrivals", differs(self.arrivals.as_ref(), other.arrivals.as_ref(), "fixed")),
            ("replay", differs(self.replay.as_ref(), other.replay.as_ref(), "asap")),
            ("scan", differs(self.scan.as_ref(), other.scan.as_ref(), "")),
            ("search", differs(self.search.as_ref(), other.search.as_ref(), "")),
            ("pin", differs(self.pin.as_ref(), other.pin.as_ref(), "false")),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// Whether a field is given and differs from the other specification's field, or from the default where that field is
/// missing.
fn differs<T: FromStr + PartialEq>(own: Option<&T>, other: Option<&T>, default: &str) -> bool {
    own.is_some_and(|own| match other {
        Some(other) => own != other,
        None => default.parse().ok().as_ref() != Some(own),
    })
}

/// A whole number from 1, as people write it: `20000`, `20k`, `1.5m`; the units are powers of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, factor) = match text.trim().to_ascii_lowercase() {
            number if number.ends_with('k') => (number[..number.len() - 1].to_owned(), 1e3),
            number if number.ends_with('m') => (number[..number.len() - 1].to_owned(), 1e6),
            number => (number, 1.0),
        };
        let number: f64 = number.parse().map_err(|_| format!("`{text}` is not a number"))?;
        let number = number * factor;
        if !(1.0..=f64::from(u32::MAX)).contains(&number) || number.fract() != 0.0 {
            return Err(format!("`{text}` is not a whole number from 1 to {}", u32::MAX));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded above"
        )]
        Ok(Self(number as u32))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A share from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or_else(|| format!("`{text}` is not a share from 0 to 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_people_write_them() {
        for (text, count) in [("1", 1), ("20k", 20_000), ("1.5m", 1_500_000), ("100", 100)] {
            assert_eq!(text.parse(), Ok(Count(count)));
        }
        for text in ["0", "-1", "1.5", "5g", "many", "5000m"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_nearer_of_two_that_exclude_each_other_wins() {
        let typed =
            WorkloadSpec { ratio: Some("1:10".parse().unwrap()), ..WorkloadSpec::default() };
        let scenario = WorkloadSpec {
            operations: Some("set,get".parse().unwrap()),
            keys: Some(Count(7).into()),
            ..WorkloadSpec::default()
        };
        let merged = typed.clone().or(scenario.clone());
        assert_eq!((merged.operations.is_none(), merged.keys), (true, Some(Count(7).into())));
        let merged = scenario.clone().or(typed);
        assert!(merged.operations.is_some() && merged.ratio.is_none());
        let filling = WorkloadSpec { on_miss: Some(OnMiss::Fill), ..WorkloadSpec::default() };
        let merged = filling.clone().or(scenario.clone());
        assert!(merged.operations.is_none() && merged.on_miss == Some(OnMiss::Fill));
        let merged = scenario.or(filling);
        assert!(merged.operations.is_some() && merged.on_miss.is_none());
    }
}
