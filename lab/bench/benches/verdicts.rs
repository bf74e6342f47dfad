//! Whether verdicts are right: real comparisons of which the answer is known.
//!
//! `just verdicts`, or `cargo bench -p larder-bench --bench verdicts -- [RUNS] [URL] [PERCENT]`. Each run, with
//! `--until 2%`, compares a real store with itself (two of its kind, under two names). It also compares the store with
//! a store whose operations take 10 % longer. The store itself must come out as indistinguishable, and the slowed
//! store as slower, in at least 28 of 30 runs.
//!
//! A slowed store measures its own operations and works on for a tenth of each. So every effect of the machine on the
//! store is a tenth worse for it.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_bench::{Permissions, Plan, Scenario, Silent, compare};
use larder_engines::ENGINES;
use larder_report::{Operation, Run, Verdict};
use larder_store::{
    Capabilities, Catalog, Engine, Medium, Meta, Result, Session, SetOptions, SetOutcome, Stats,
    Store, StoreInfo, StoreUrl,
};
use larder_workload::WorkloadSpec;
use schemars::JsonSchema;
use serde::Deserialize;

const SCHEME: &str = "slowed";

/// The options of `slowed:`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The URL of the store that does the work.
    inner: String,
    /// The additional time of each operation, in percent.
    percent: f64,
}

const SLOWED: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "Another store, slowed",
    example: "slowed:?inner=map:&percent=10",
    medium: Medium::Memory,
    capacity_option: None,
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(Options),
    open: |url, catalog| {
        let Options { inner, percent } = url.options(SCHEME)?;
        let inner = catalog.open(&StoreUrl::parse(&inner)?)?;
        Ok(Arc::new(Slowed { inner, share: percent / 100.0 }))
    },
};

#[derive(Debug)]
struct Slowed {
    inner: Arc<dyn Store>,
    share: f64,
}

impl Store for Slowed {
    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(SlowedSession { inner: self.inner.session()?, share: self.share }))
    }

    fn stats(&self) -> Result<Stats> {
        self.inner.stats()
    }
}

struct SlowedSession {
    inner: Box<dyn Session>,
    share: f64,
}

impl SlowedSession {
    fn slowly<T>(&mut self, operation: impl FnOnce(&mut dyn Session) -> T) -> T {
        let began = Instant::now();
        let done = operation(&mut *self.inner);
        let whole = began.elapsed().mul_f64(1.0 + self.share);
        while began.elapsed() < whole {
            std::hint::spin_loop();
        }
        done
    }
}

impl Session for SlowedSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.slowly(|inner| inner.get(key, value))
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.slowly(|inner| inner.set(key, value, options))
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.delete(key)
    }

    fn clear(&mut self) -> Result<()> {
        self.inner.clear()
    }
}

/// The verdicts on the runs of one pair.
#[derive(Debug, Default)]
struct Count {
    right: u32,
    wrong: Vec<String>,
    rounds: Vec<u32>,
    there: u32,
}

impl Count {
    fn add(&mut self, run: &Run, wanted: Verdict) {
        let [comparison] = &run.comparisons[..] else { panic!("{:?}", run.comparisons) };
        if comparison.verdict == wanted {
            self.right += 1;
        } else {
            let (ratio, p) = (comparison.ratio, comparison.p);
            self.wrong.push(format!("{:?}: ratio {ratio:.3}, p {p:.2e}", comparison.verdict));
        }
        self.rounds.push(run.cells[0].rounds);
        let there =
            run.rounds_ended.as_ref().is_some_and(|how| !how.contains("did not reach that"));
        self.there += u32::from(there);
    }

    fn print(&mut self, what: &str, runs: u32, began: Instant) {
        self.rounds.sort_unstable();
        let (least, most) = (self.rounds[0], self.rounds[self.rounds.len() - 1]);
        let median = self.rounds[self.rounds.len() / 2];
        println!(
            "{what}: right in {} of {runs} runs; {least}, {median}, {most} rounds (least, median, most); \
             to ±2 % in {}; {:.0} s so far",
            self.right,
            self.there,
            began.elapsed().as_secs_f64()
        );
        for wrong in &self.wrong {
            println!("  not so: {wrong}");
        }
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let argument = |at: usize, usual: &str| arguments.get(at).cloned().unwrap_or(usual.into());
    let runs: u32 = argument(0, "30").parse()?;
    let url = argument(1, "memcached:");
    let percent: f64 = argument(2, "10").parse()?;
    let engines: Vec<Engine> = ENGINES.iter().copied().chain([SLOWED]).collect();
    let catalog = Catalog::new(engines.leak());
    let target =
        |name: &str, percent: f64| format!("slowed:?inner={url}&percent={percent}&name={name}");
    let plain = target("plain", 0.0);
    let pairs = [
        ("with itself", [plain.clone(), target("itself", 0.0)], Verdict::Indistinguishable),
        ("with one slowed", [plain, target("slowed", percent)], Verdict::Faster),
    ];
    let mut counts = [Count::default(), Count::default()];
    let began = Instant::now();
    for run in 1..=runs {
        // The pairs alternate, so that other work of the machine meets both alike.
        for ((_, targets, wanted), count) in pairs.iter().zip(&mut counts) {
            count.add(&compared(&catalog, targets, u64::from(run))?, *wanted);
        }
    }
    for ((what, ..), count) in pairs.iter().zip(&mut counts) {
        count.print(&format!("{url} {what}"), runs, began);
    }
    Ok(())
}

/// One comparison of two targets by gets.
fn compared(
    catalog: &Catalog,
    targets: &[String; 2],
    seed: u64,
) -> std::result::Result<Run, Box<dyn std::error::Error>> {
    let workload = WorkloadSpec {
        // Few keys, because all keys are stored again before each round and deleted after it.
        keys: Some("200".parse()?),
        requests: Some("2000".parse()?),
        operations: Some(Operation::Get.as_str().parse()?),
        until: Some("2%".parse()?),
        max_time: Some(larder_store::Span(Duration::from_secs(15))),
        seed: Some(seed),
        ..WorkloadSpec::default()
    };
    let scenario = Scenario {
        name: "verdicts".into(),
        targets: targets.to_vec(),
        workload,
        ..Scenario::default()
    };
    let plan = Plan::new(&scenario, true, catalog)?;
    let stop = AtomicBool::new(false);
    Ok(compare(&plan, catalog, Vec::new(), Permissions::default(), &Silent, &stop)?.run)
}
