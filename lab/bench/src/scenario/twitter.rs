//! `twitter:N`: the synthetic twin of one of Twitter's clusters, generated from its published statistics.

use std::fmt::Write;

use super::generated::{GeneratedScenario, quoted};

pub(super) const TWITTER: GeneratedScenario = GeneratedScenario {
    name: "twitter",
    argument: "N",
    is_file: false,
    summary: "the synthetic twin of one of Twitter's 54 clusters of caches: its sizes, mix, TTL and skew as published",
    needs: "N from 1 to 54: the number of a cluster of Twitter's (https://github.com/twitter/cache-trace)",
    example: "12",
    make,
};

/// The published statistics, a line for each cluster.
const TABLE: &str = include_str!("../../../../scenarios/twitter.csv");
/// The headings in the first line of the table that is not a comment.
const COLUMNS: &str = "cluster,key_size,value_size,operations,ttls,working_set_mb,zipf_alpha";

/// The most keys, and the most bytes of keys and values, of the short form and at full length. They keep a load on the
/// slowest target within seconds.
const SHORT: Bound = Bound { keys: 20_000, bytes: 64 << 20, requests: 40_000 };
const FULL: Bound = Bound { keys: 1_000_000, bytes: 1 << 30, requests: 1_000_000 };
/// Fewer keys would all fit into the processor's caches.
const FEWEST_KEYS: u64 = 1000;
/// The exponent of YCSB's workloads, where no exponent is published.
const COMMON_ALPHA: &str = "0.99";

/// The targets: a cache of the process, files of a host, servers of a network, and a tiered cache.
const TARGETS: &[&str] = &[
    "moka:",
    "memory:",
    "mmap:",
    "file:",
    "lmdb:",
    "sqlite:",
    "memcached:",
    "redis:",
    "tiered:moka:|memcached:",
];

/// The limits of a form.
struct Bound {
    keys: u64,
    bytes: u64,
    requests: u64,
}

/// The published figures of a cluster.
struct Cluster {
    number: u32,
    key_size: u64,
    value_size: u64,
    /// Shares of the operations, as published.
    operations: &'static str,
    /// The most common TTLs with their shares, as published.
    ttls: &'static str,
    working_set_mb: u64,
    /// The exponent; empty where it is not published.
    alpha: &'static str,
}

/// Sets, gets and deletes, in hundredths of all operations.
struct Mix {
    sets: u32,
    gets: u32,
    deletes: u32,
    /// A comment on operations that were counted as other operations.
    counted: String,
}

fn make(number: &str) -> Result<String, String> {
    let known = "give the number of a cluster, 1 to 54";
    let number: u32 = number.parse().map_err(|_| known.to_owned())?;
    let cluster = clusters().find(|cluster| cluster.as_ref().is_ok_and(|(n, _)| *n == number));
    let (_, cluster) = cluster.ok_or(known)??;
    let cluster =
        cluster.ok_or("no statistics of this cluster are published; take another cluster")?;
    cluster.scenario()
}

/// Every cluster of the table by its number; `None` for clusters without published figures.
fn clusters() -> impl Iterator<Item = Result<(u32, Option<Cluster>), String>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && *line != COLUMNS);
    lines.map(|line| row(line).ok_or_else(|| format!("its table has an invalid line: {line}")))
}

fn row(line: &'static str) -> Option<(u32, Option<Cluster>)> {
    let mut columns = line.split(',');
    let number = columns.next()?.parse().ok()?;
    let rest: Vec<&str> = columns.collect();
    let [key_size, value_size, operations, ttls, working_set, alpha] = rest[..] else {
        return None;
    };
    if key_size.is_empty() {
        return Some((number, None));
    }
    let cluster = Cluster {
        number,
        key_size: key_size.parse().ok()?,
        value_size: value_size.parse().ok()?,
        operations,
        ttls,
        working_set_mb: working_set.parse().ok()?,
        alpha,
    };
    Some((number, Some(cluster)))
}

impl Cluster {
    /// The text of the scenario's file.
    fn scenario(&self) -> Result<String, String> {
        let Self { number, key_size, value_size, operations, ttls, alpha, .. } = self;
        let Mix { sets, gets, deletes, counted } = self.mix()?;
        let (ttl, share) = self.ttl()?;
        let alpha = if alpha.is_empty() { "not published" } else { alpha };
        let mut text = format!(
            "# The synthetic twin of cluster {number} of Twitter's caches, made of its line in stat/2020Mar.md of\n\
             # https://github.com/twitter/cache-trace (Juncheng Yang, Yao Yue, K. V. Rashmi, OSDI 2020; CC BY 4.0):\n\
             # keys of {key_size} bytes and values of {value_size} on average; {operations}; TTLs {ttls};\n\
             # a working set of {} MB; Zipf alpha {alpha}.\n",
            self.working_set_mb
        );
        let targets: Vec<String> = TARGETS.iter().map(|target| quoted(target)).collect();
        let (all, keys) = (self.all_keys(), self.keys(&SHORT));
        let of_all = if keys < all {
            format!("# The working set is {all} such keys.\n")
        } else {
            String::new()
        };
        let _ = write!(
            text,
            "name = \"twitter-{number}\"\nsummary = {}\ntargets = [{}]\n\n\
             [workload]\n{of_all}keys = {keys}\nkey-size = {key_size}\n{}{}\
             {counted}ratio = \"{sets}:{gets}:{deletes}\"\n\
             # Of {share} % of the values, which is the most common.\nttl = \"{ttl}\"\n\
             threads = 4\nrequests = {}\nrounds = 10\n\n\
             [full.workload]\nkeys = {}\nrequests = {}\n",
            quoted(&self.summary()?),
            targets.join(", "),
            self.values(),
            self.pattern(),
            SHORT.requests,
            self.keys(&FULL),
            FULL.requests,
        );
        Ok(text)
    }

    fn summary(&self) -> Result<String, String> {
        let Self { number, key_size, value_size, .. } = self;
        let Mix { sets, gets, deletes, counted } = self.mix()?;
        let shares = [(gets, "gets"), (sets, "sets"), (deletes, "deletes")];
        let shares = shares.into_iter().filter(|(share, _)| *share > 0);
        let shares: Vec<String> = shares.map(|(share, what)| format!("{share} % {what}")).collect();
        let counted = counted.trim_start_matches("# ").trim_end();
        let counted = if counted.is_empty() { String::new() } else { format!(" ({counted})") };
        Ok(format!(
            "the synthetic twin of Twitter's cluster {number}: keys of {key_size} bytes, values of {value_size} on \
             average, {}{counted}",
            shares.join(", ")
        ))
    }

    /// The mix. An operation that Larder does not have counts as the nearest.
    fn mix(&self) -> Result<Mix, String> {
        let mut mix = Mix { sets: 0, gets: 0, deletes: 0, counted: String::new() };
        let mut counted = Vec::new();
        for (operation, share) in shares(self.operations)? {
            let (of, as_) = match operation {
                "get" | "gets" => (&mut mix.gets, "get"),
                "delete" => (&mut mix.deletes, "delete"),
                _ => (&mut mix.sets, "set"),
            };
            *of += share;
            if operation != as_ {
                counted.push(format!("{operation} counts as {as_}"));
            }
        }
        if !counted.is_empty() {
            mix.counted = format!("# {}\n", counted.join(", "));
        }
        Ok(mix)
    }

    /// The most common TTL, the first of several, and its share of the values in hundredths.
    fn ttl(&self) -> Result<(&'static str, u32), String> {
        let most = shares(self.ttls)?.into_iter().rev().max_by_key(|(_, share)| *share);
        most.ok_or_else(|| "no TTL is published".into())
    }

    /// The number of keys of the working set. A set of 0 MB, which is less than 1 MB, is taken as 1 MB.
    fn all_keys(&self) -> u64 {
        (self.working_set_mb.max(1) * 1_000_000 / self.item_bytes()).max(FEWEST_KEYS)
    }

    /// The number of keys of a form.
    fn keys(&self, bound: &Bound) -> u64 {
        self.all_keys().min(bound.keys).min(bound.bytes / self.item_bytes())
    }

    fn item_bytes(&self) -> u64 {
        self.key_size + self.value_size
    }

    /// Sizes with the published mean. Of all distributions from one byte up, the exponential one assumes least.
    fn values(&self) -> String {
        match self.value_size {
            0 | 1 => format!("data-size = {}\n", self.value_size),
            mean => format!(
                "# Only the mean is published; around it sizes are exponential.\n\
                 data-size = \"gpareto:1,{},0\"\n",
                mean - 1
            ),
        }
    }

    fn pattern(&self) -> String {
        match self.alpha {
            "" => format!(
                "# The skew is not published; this value is common.\nkey-pattern = \"zipf:{COMMON_ALPHA}\"\n"
            ),
            "0" => "key-pattern = \"uniform\"\n".into(),
            alpha => format!("key-pattern = \"zipf:{alpha}\"\n"),
        }
    }
}

/// `get:0.98 set:0.02` as names with hundredths.
fn shares(text: &'static str) -> Result<Vec<(&'static str, u32)>, String> {
    let one = |one: &'static str| {
        let (name, share) = one.split_once(':')?;
        let (whole, hundredths) = share.split_once('.')?;
        Some((name, 100 * whole.parse::<u32>().ok()? + hundredths.parse::<u32>().ok()?))
    };
    let all = text
        .split(' ')
        .map(|of| one(of).ok_or_else(|| format!("its table has `{of}`, which is not a share")));
    all.collect()
}
