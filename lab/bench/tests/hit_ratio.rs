//! Hit ratios by capacity. A store that is an exact LRU reaches the ratio that the model has for the measured
//! operations. Every target keeps to its capacity, or says why not.

mod support;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_bench::{Permissions, Plan, compare};
use larder_engines::ENGINES;
use larder_report::{CAPACITY, Cell, Finding, Operation, PointValue, Run, Severity};
use larder_store::{
    ByteSize, Capabilities, Catalog, Engine, Medium, Meta, Result, Session, SetOptions, SetOutcome,
    Stats, Store, StoreInfo, StoreUrl,
};
use schemars::JsonSchema;
use serde::Deserialize;
use support::{cell, findings, run, scenario};

/// LRUs: `exact` keeps to its size, `steps` takes whole steps only, and `endless` takes no size. `late` and `sly`
/// exceed their size for some sets before they drop; `late` tells its bytes, and `sly` does not.
const LRUS: Catalog = Catalog::new(LIST);
const LIST: &[Engine] = &[
    Engine { capacity_option: Some("size"), ..engine("exact") },
    Engine { capacity_option: Some("size"), ..engine("steps") },
    engine("endless"),
    Engine { capacity_option: Some("size"), ..engine("late") },
    Engine { capacity_option: Some("size"), ..engine("sly") },
];

/// The number of sets before a late store drops an entry.
const LATE: usize = 20;

const fn engine(scheme: &'static str) -> Engine {
    Engine {
        scheme,
        aliases: &[],
        summary: "",
        example: "",
        medium: Medium::Memory,
        capacity_option: None,
        connections_option: None,
        recipes: &[],
        options: || schemars::schema_for!(LruOptions),
        open: |url, _| {
            let LruOptions { size } = url.options("lru")?;
            let step = if url.scheme() == "steps" { 10_000 } else { 1 };
            let size = size.map_or(u64::MAX, |ByteSize(size)| size.next_multiple_of(step));
            Ok(Arc::new(Lru { size, state: Arc::default(), url: url.clone() }))
        },
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct LruOptions {
    /// Bytes of keys and values.
    size: Option<ByteSize>,
}

type Entries = VecDeque<(Vec<u8>, Vec<u8>)>;

/// Entries in a queue, with the last used entry at its end.
#[derive(Debug, Clone)]
struct Lru {
    size: u64,
    state: Arc<Mutex<State>>,
    url: StoreUrl,
}

#[derive(Debug, Default)]
struct State {
    entries: Entries,
    /// Sets since the last clear.
    sets: usize,
    peak: u64,
}

impl Lru {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_late(&self) -> bool {
        matches!(self.url.scheme(), "late" | "sly")
    }

    fn take(entries: &mut Entries, key: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let at = entries.iter().position(|(other, _)| other == key)?;
        entries.remove(at)
    }
}

impl Store for Lru {
    fn info(&self) -> StoreInfo {
        let settings = [("policy".to_owned(), "lru".to_owned())].into();
        StoreInfo { scheme: "lru", url: self.url.to_string(), settings, ..StoreInfo::default() }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { stores: true, evicts: true, clear: true, ..Capabilities::default() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }

    fn stats(&self) -> Result<Stats> {
        let mut stats = Stats::default();
        stats.capacity_bytes = Some(self.size).filter(|size| *size < u64::MAX);
        if self.url.scheme() != "sly" {
            let State { entries, peak, .. } = &*self.state();
            stats.items = Some(entries.len() as u64);
            stats.bytes = Some(entries.iter().map(bytes).sum());
            stats.bytes_peak = Some(*peak);
        }
        Ok(stats)
    }
}

impl Session for Lru {
    fn engine(&self) -> &'static str {
        "lru"
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        let entries = &mut self.state().entries;
        let Some(entry) = Self::take(entries, key) else { return Ok(None) };
        value.extend_from_slice(&entry.1);
        entries.push_back(entry);
        Ok(Some(Meta::default()))
    }

    fn set(&mut self, key: &[u8], value: &[u8], _: &SetOptions) -> Result<SetOutcome> {
        let State { entries, sets, peak } = &mut *self.state();
        Self::take(entries, key);
        entries.push_back((key.to_vec(), value.to_vec()));
        *sets += 1;
        *peak = (*peak).max(entries.iter().map(bytes).sum());
        if !self.is_late() || sets.is_multiple_of(LATE) {
            while entries.iter().map(bytes).sum::<u64>() > self.size {
                entries.pop_front();
            }
        }
        Ok(SetOutcome::Stored(None))
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        Ok(Self::take(&mut self.state().entries, key).is_some())
    }

    fn clear(&mut self) -> Result<()> {
        *self.state() = State::default();
        Ok(())
    }
}

fn bytes((key, value): &(Vec<u8>, Vec<u8>)) -> u64 {
    (key.len() + value.len()) as u64
}

fn cells<'a>(run: &'a Run, target: &str) -> Vec<&'a Cell> {
    let is_it = |cell: &&Cell| cell.target == target && cell.operation == Operation::GetOrSet;
    run.cells.iter().filter(is_it).collect()
}

fn capacity(cell: &Cell) -> u64 {
    match cell.point[CAPACITY] {
        PointValue::Number(bytes) => bytes,
        PointValue::Text(ref text) => panic!("{text}"),
    }
}

/// An exact LRU hits as often as the model says, to the last read. This holds for a pattern whose rounds differ, with
/// sets and deletes between reads, and with several sizes.
#[test]
fn an_exact_lru_reaches_the_ratio_of_the_model() {
    for workload in [
        "key-pattern = 'zipf:0.9'\nrequests = 3000",
        "key-pattern = 'zipf:0.9'\nratio = '1:8:1'\nrequests = 3000",
        "key-pattern = 'hotspot:0.2,0.8'\ndata-size = 'uniform:10-400'\nrequests = 2000",
    ] {
        let workload = format!(
            "keys = 300\nrounds = 2\non-miss = 'fill'\ncapacity = '2%,10%,50%'\n{workload}"
        );
        let run = run(&LRUS, &["exact:"], &workload);
        let [curve] = &run.hit_curves[..] else { panic!("{:?}", run.hit_curves) };
        let cells = cells(&run, "exact:");
        assert_eq!((cells.len(), curve.capacities.len()), (3, 3), "{workload}");
        for (cell, model) in cells.iter().zip(&curve.capacities) {
            assert_eq!(capacity(cell), model.capacity_bytes);
            assert_eq!(cell.capacity_bytes, Some(model.capacity_bytes));
            let hits: u64 = cell.samples.iter().map(|sample| sample.counts.hits).sum();
            let ops: u64 = cell.samples.iter().map(|sample| sample.counts.ops).sum();
            assert_eq!(hits + cell.counts.misses, ops, "{cell:?}");
            // Rounds of a mix differ in their number of reads.
            let each = cell.samples.iter().map(|sample| {
                f64::from(u32::try_from(sample.counts.hits).unwrap())
                    / f64::from(u32::try_from(sample.counts.ops).unwrap())
            });
            let rounds = 2.0;
            let mean = each.sum::<f64>() / rounds;
            assert!((mean - model.lru).abs() < 1e-9, "{workload}: {mean} {model:?}");
            assert!(model.lru < model.optimal, "{model:?}");
        }
        for id in ["CAPACITY", "NEVER-HITS", "SILENT-DROP"] {
            assert!(findings(&run, id).is_empty(), "{id}: {:#?}", run.checks);
        }
        assert_eq!(run.targets.len(), 1);
    }
}

/// Room for 10 and for 500 of 1000 entries: a handful more is a lot for the first, and little for the second.
const FEW_AND_MANY: &str = "keys = 1000\nrounds = 2\non-miss = 'fill'\ncapacity = '1%,50%'\nkey-pattern = 'zipf:0.8'\nrequests = 4000";

#[test]
fn a_target_that_held_more_than_its_capacity_is_found_and_its_hits_are_no_praise() {
    let run = run(&LRUS, &["exact:", "late:", "sly:"], FEW_AND_MANY);
    let found = findings(&run, "CAPACITY");
    let of = |target: &str| -> Vec<&str> {
        let is_it = |check: &&&Finding| check.target.as_deref() == Some(target);
        found.iter().filter(is_it).map(|check| check.text.as_str()).collect()
    };
    assert_eq!(of("exact:"), [] as [&str; 0]);
    let [late] = of("late:")[..] else { panic!("{found:#?}") };
    assert!(late.starts_with("held up to ") && late.contains(" % above --capacity of "), "{late}");
    // A store that does not tell its bytes is known by its hits.
    let [sly] = of("sly:")[..] else { panic!("{found:#?}") };
    assert!(sly.contains("an LRU store with this ratio held more"), "{sly}");
    assert!(found.iter().all(|check| check.severity == Severity::Warn));
    let [few, many] = cells(&run, "late:")[..] else { panic!("{:?}", run.cells) };
    for (cell, most) in [(few, 3), (many, 2)] {
        let held = cell.held_bytes_peak.unwrap();
        assert!(held > capacity(cell) && held <= most * capacity(cell), "{cell:?}");
    }
    let [exact, _] = cells(&run, "exact:")[..] else { panic!("{:?}", run.cells) };
    // The new entry is there before the oldest goes.
    let entry = capacity(exact) / exact.held_items_peak.unwrap();
    assert!(exact.held_bytes_peak.unwrap() <= capacity(exact) + entry, "{exact:?}");
    assert_eq!(cells(&run, "sly:")[0].held_bytes_peak, None);
    let said = larder_report::sentences(&run);
    let said: Vec<&str> = said.iter().map(|sentence| sentence.text.as_str()).collect();
    let about = |name: &str| {
        let of_name = |text: &&&str| text.contains(&format!(" {name} hits "));
        said.iter().filter(of_name).copied().collect::<Vec<_>>()
    };
    let [late] = about("late:")[..] else { panic!("{said:#?}") };
    assert!(late.contains(", but held up to ") && late.contains(" % above that: an exact LRU"));
    let [sly] = about("sly:")[..] else { panic!("{said:#?}") };
    assert!(sly.contains("more than an LRU of that capacity can"), "{sly}");
    assert!(!said.iter().any(|text| text.contains("more than an exact LRU")), "{said:#?}");
}

#[test]
fn moka_holds_no_more_than_it_is_told() {
    let workload = FEW_AND_MANY.replace("1%", "2%");
    let workload = format!("{workload}\ndata-size = '8k'");
    let targets = ["moka:?policy=lru", "moka:"];
    let run = run(&ENGINES, &targets, &workload);
    assert!(findings(&run, "CAPACITY").is_empty(), "{:#?}", run.checks);
    let [curve] = &run.hit_curves[..] else { panic!("{:?}", run.hit_curves) };
    for target in targets {
        for (cell, model) in cells(&run, target).iter().zip(&curve.capacities) {
            // Its capacity and a hundredth, and one entry that is being stored.
            let most = capacity(cell) / 100 * 101 + 9000;
            assert!(cell.held_bytes_peak.is_some_and(|held| held <= most), "{cell:?}");
            let ratio = cell.hit_ratio().unwrap();
            let is_lru = target != "moka:";
            assert!(!is_lru || ratio <= model.lru, "{target}: {ratio} {model:?}");
        }
    }
}

#[test]
fn a_target_that_rounds_its_size_up_is_given_less_until_it_takes_no_more() {
    let workload = "keys = 300\nrounds = 1\non-miss = 'fill'\ncapacity = '5000,25000,30000'\nkey-pattern = 'zipf:0.9'";
    let run = run(&LRUS, &["exact:", "steps:"], workload);
    let cells = cells(&run, "steps:");
    assert_eq!(cells[1].capacity_bytes, Some(20_000));
    assert_eq!(cells[2].capacity_bytes, Some(30_000));
    let reason = cells[0].reason.as_deref().unwrap();
    assert_eq!(
        reason,
        "cannot be as small as --capacity asks: it takes 9.8 KiB; take a larger capacity, or more --keys"
    );
    assert!(run.target("steps:").is_some_and(|target| target.reason.is_none()));
}

#[test]
fn a_target_without_a_bound_says_so() {
    let workload =
        "keys = 300\nrounds = 1\non-miss = 'fill'\ncapacity = '10%'\nkey-pattern = 'zipf:0.9'";
    let all = run(&LRUS, &["exact:", "endless:"], workload);
    let reason = |target| cells(&all, target)[0].reason.as_deref();
    assert_eq!(
        reason("endless:"),
        Some("has no option that bounds its size: leave out --capacity")
    );
    assert_eq!(reason("exact:"), None);
    let real = run(&ENGINES, &["moka:", "tiered:moka:|sqlite:"], workload);
    let reason = |target| cells(&real, target)[0].reason.as_deref();
    assert_eq!(reason("moka:"), None);
    assert_eq!(
        reason("tiered:moka:|sqlite:"),
        Some(
            "each tier of a stack has a size of its own: leave out --capacity, or give the tiers `size`"
        )
    );
}

#[test]
fn a_target_that_the_user_named_and_that_a_flag_leaves_out_has_failed() {
    let workload =
        "keys = 300\nrounds = 1\non-miss = 'fill'\ncapacity = '10%'\nkey-pattern = 'zipf:0.9'";
    for (targets, failed) in [(&["exact:"][..], false), (&["exact:", "endless:"], true)] {
        let is_typed = true;
        let plan = Plan::new(&scenario(targets, workload), is_typed, &LRUS).unwrap();
        let stop = AtomicBool::new(false);
        let silent = &larder_bench::Silent;
        let outcome = compare(&plan, &LRUS, Vec::new(), Permissions::default(), silent, &stop);
        assert_eq!(outcome.unwrap().failed, failed, "{targets:?}");
    }
}

#[test]
fn a_target_that_is_smaller_than_its_data_has_its_curve_unasked() {
    let workload = "keys = 300\nrounds = 1\non-miss = 'fill'\nkey-pattern = 'zipf:0.9'";
    let small = run(&LRUS, &["exact:?size=20000"], workload);
    let model = small.hit_curves[0].capacities[0];
    assert_eq!(model.capacity_bytes, 20_000);
    let hits = cell(&small, "exact:?size=20000", Operation::GetOrSet).hit_ratio().unwrap();
    assert!((hits - model.lru).abs() < 1e-9, "{hits} {model:?}");
    assert!(run(&LRUS, &["exact:"], workload).hit_curves.is_empty());
}

#[test]
fn a_capacity_that_tells_nothing_is_refused_with_a_remedy() {
    for (targets, workload, needle) in [
        (["exact:"], "capacity = '10%'", "add --on-miss fill"),
        (["exact:"], "capacity = '10%'\non-miss = 'fill-next'", "add --on-miss fill"),
        (["exact:"], "capacity = '10%'\non-miss = 'fill'\nduration = '1s'", "with --requests"),
        (["exact:?size=1m"], "capacity = '10%'\non-miss = 'fill'", "`size=1m` of exact:?size=1m"),
    ] {
        let error = Plan::new(&scenario(&targets, workload), true, &LRUS).unwrap_err().to_string();
        assert!(error.contains(needle), "{error}");
    }
    // A misspelt option is an error at every capacity.
    let plan = Plan::new(
        &scenario(&["exact:?sise=1m"], "capacity = '10%'\non-miss = 'fill'"),
        true,
        &LRUS,
    );
    let (plan, stop) = (plan.unwrap(), AtomicBool::new(false));
    let silent = &larder_bench::Silent;
    let outcome = compare(&plan, &LRUS, Vec::new(), Permissions::default(), silent, &stop);
    assert!(outcome.unwrap_err().to_string().contains("unknown option `sise`"));
}
