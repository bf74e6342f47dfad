//! The cost of a verified load beside its floor, in one run.
//!
//! `just bench-load`, or `cargo bench -p larder-bench --bench load -- [SHAPE]...`, where a shape is a part of its name. A memcached with one thread has one processor, and the
//! clients have another. For each shape of load, a bare loop over epoll and a comparison of Larder take turns. The bare loop
//! sends and receives as many bytes and checks nothing. Every ratio is of turns that stand side by side.
//!
//! At the end one connection is driven by readiness, and one by a thread that waits, in turns.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod floor;
mod shape;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use floor::{Figures, Floor};
use larder_analysis::statistics::{median, quantile};
use larder_bench::{Permissions, Plan, Scenario, Silent, compare};
use larder_engines::ENGINES;
use larder_store::{Store, StoreUrl};
use larder_workload::WorkloadSpec;
use shape::{Access, SHAPES, Shape};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The turns of each side, and their length.
const TURNS: usize = 7;
const TURN: Duration = Duration::from_secs(1);
/// A single connection may differ from a waiting one by this share.
const SAME: f64 = 0.03;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (flags, names): (Vec<_>, Vec<_>) = arguments.iter().partition(|it| it.starts_with("--"));
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(*part));
    let brief = flags.iter().any(|flag| *flag == "--brief");
    let (turns, time) = if brief { (1, Duration::from_millis(100)) } else { (TURNS, TURN) };
    let server = Server::start()?;
    println!("client CPU an operation, in ns: median of {turns} turns, and all of them\n");
    for shape in SHAPES.iter().filter(|shape| is_asked(shape.name)) {
        let floor = Floor::new(*shape, server.address)?;
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            bare.push(floor.run(time)?);
            ours.push(larder(&server, *shape, Drive::Readiness, time)?);
        }
        println!("{}", shape.name);
        line("bare loop", &bare);
        line("larder", &ours);
        ratio("larder over the bare loop", &ours, &bare, |figures| figures.cpu_ns, shape.goal);
    }
    if !is_asked("one connection") {
        return Ok(());
    }
    println!("one connection, get");
    let shape = Shape { connections: 1, ..SHAPES[0] };
    let (mut waiting, mut driven) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        waiting.push(larder(&server, shape, Drive::Waiting, time)?);
        driven.push(larder(&server, shape, Drive::Readiness, time)?);
    }
    line("a thread that waits", &waiting);
    line("--connections 1", &driven);
    let goal = Some(1.0 + SAME);
    ratio("CPU an operation", &driven, &waiting, |figures| figures.cpu_ns, goal);
    ratio("time an operation", &driven, &waiting, |figures| 1e9 / figures.ops_per_s, goal);
    ratio("p50", &driven, &waiting, |figures| figures.p50_ns.unwrap_or(f64::NAN), goal);
    Ok(())
}

/// How connections are driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drive {
    /// By a thread that waits for each answer.
    Waiting,
    /// By readiness.
    Readiness,
}

/// One turn of Larder: a comparison of one target with one round.
fn larder(server: &Server, shape: Shape, drive: Drive, time: Duration) -> Result<Figures> {
    let text = |number: usize| number.to_string();
    let driven = drive == Drive::Readiness;
    let batch = Some(text(shape.keys_a_request).parse()?).filter(|_| shape.keys_a_request > 1);
    let ratio = if shape.access == Access::Get { "0:1" } else { "1:0" };
    let operations = batch.map(|_| if shape.access == Access::Get { "get" } else { "set" });
    let workload = WorkloadSpec {
        keys: Some(text(shape.keys).parse()?),
        data_size: Some(text(shape.value_bytes).parse()?),
        duration: Some(format!("{}ms", time.as_millis()).parse()?),
        ratio: Some(ratio.parse()?).filter(|_| batch.is_none()),
        operations: operations.map(str::parse).transpose()?,
        connections: driven.then(|| text(shape.connections).parse()).transpose()?,
        pipeline: driven.then(|| text(shape.pipeline).parse()).transpose()?,
        multiget: batch.filter(|_| shape.access == Access::Get),
        multiset: batch.filter(|_| shape.access == Access::Set),
        rounds: Some("1".parse()?),
        ..WorkloadSpec::default()
    };
    let target = format!("memcached://{}", server.address);
    let (name, targets) = ("load".into(), vec![target]);
    let scenario = Scenario { name, targets, workload, ..Scenario::default() };
    let plan = Plan::new(&scenario, true, &ENGINES)?;
    let stop = AtomicBool::new(false);
    let outcome = compare(&plan, &ENGINES, Vec::new(), Permissions::default(), &Silent, &stop)?;
    let cell = outcome.run.cells.iter().find(|cell| cell.ops_per_s.is_some());
    let cell = cell.ok_or("the run has no figures")?;
    if cell.counts.wrong + cell.counts.errors + cell.counts.misses > 0 {
        return Err(format!("answers that are not right: {:?}", cell.counts).into());
    }
    let (ops, cpu_s) = (cell.counts.ops, cell.client_cpu_s.ok_or("no CPU time")?);
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let cpu_ns = cpu_s * 1e9 / ops as f64;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let p50_ns = cell.latency_ns.as_ref().map(|latency| latency.p50 as f64);
    Ok(Figures { ops_per_s: cell.ops_per_s.ok_or("no rate")?, cpu_ns, p50_ns })
}

/// Prints the figures of one side.
fn line(who: &str, turns: &[Figures]) {
    let of = |of: fn(&Figures) -> f64| turns.iter().map(of).collect::<Vec<f64>>();
    let (cpu, rates) = (of(|figures| figures.cpu_ns), of(|figures| figures.ops_per_s));
    let all = |values: &[f64], q| quantile(values, q).unwrap_or(f64::NAN);
    println!(
        "  {who:<28} {:>7.0} ns ({:.0} to {:.0})   {:>6.0} thousand a second",
        median(&cpu).unwrap_or(f64::NAN),
        all(&cpu, 0.0),
        all(&cpu, 1.0),
        median(&rates).unwrap_or(f64::NAN) / 1e3,
    );
}

/// Prints the ratio of turns that stand side by side, and the goal.
fn ratio(
    what: &str,
    ours: &[Figures],
    theirs: &[Figures],
    of: fn(&Figures) -> f64,
    goal: Option<f64>,
) {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| of(a) / of(b)).collect();
    let all = |q| quantile(&ratios, q).unwrap_or(f64::NAN);
    let found = median(&ratios).unwrap_or(f64::NAN);
    let verdict = match goal {
        Some(goal) if found <= goal => format!("   at most {goal}: met"),
        Some(goal) => format!("   at most {goal}: missed"),
        None => String::new(),
    };
    println!("  {what:<28} {found:>7.2} × ({:.2} to {:.2}){verdict}", all(0.0), all(1.0));
}

/// A memcached with one thread, on a processor of its own. It ends with the benchmark, however that ends.
struct Server {
    address: SocketAddr,
    _store: Arc<dyn Store>,
}

impl Server {
    fn start() -> Result<Self> {
        // A program inherits the processors of the thread that starts it.
        stay_on(1);
        let store = ENGINES.open(&StoreUrl::parse("memcached:?server_threads=1&m=512m")?)?;
        stay_on(0);
        let address = store.info().addresses.first().ok_or("a server has an address")?.parse()?;
        Ok(Self { address, _store: store })
    }
}

/// Keeps the calling thread, and what it starts from now on, on one processor. On a machine without it nothing changes.
fn stay_on(processor: usize) {
    // SAFETY: a zeroed set is an empty one, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}
