//! The floor: the same plan on a store that keeps nothing, so that the cost of the measuring is known and shown.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_report::{Floor, Point};
use larder_store::{Catalog, Engine, StoreUrl};

use super::samples::Entry;
use super::turn::{Amount, Pacing, Turn};
use crate::guest::INTERPRETER;
use crate::plan::{Plan, PlannedPoint, PlannedTarget};
use crate::target::Target;

/// The number of times that the floor is measured at each point, if it does not take too long.
const ROUNDS: u32 = 3;
/// The longest time for each operation in a round: a floor needs no more.
const AT_MOST: Duration = Duration::from_millis(200);
/// After this time no further round begins at a point. With so cheap a store, the work between timed segments takes a
/// multiple of their time, and on a busy machine a multiple of that.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

/// The engine that keeps nothing under a target, and the interpreter that the target's URL names for its program.
struct Ground {
    engine: &'static Engine,
    interpreter: Option<String>,
}

impl Ground {
    fn of(target: &PlannedTarget, catalog: &Catalog) -> Option<Self> {
        let engine = catalog.keeps_nothing(target.engine.scheme)?;
        let named = target.is_guest().then(|| target.url.option(INTERPRETER)).flatten();
        Some(Self { engine, interpreter: named.map(str::to_owned) })
    }

    fn url(&self) -> Option<StoreUrl> {
        let url = StoreUrl::parse(&self.engine.default_url()).ok()?;
        Some(match &self.interpreter {
            Some(named) => url.or_option(INTERPRETER, named),
            None => url,
        })
    }
}

/// Measures the floor at every point where a target stands on it, on the engine that keeps nothing. Each language of
/// the plan's guests has a cache for this, which each interpreter with a guest measures. A target without such an
/// engine has no floor.
pub(super) fn measure_floors(plan: &Plan, catalog: &Catalog, stop: &AtomicBool) -> Vec<Floor> {
    let mut engines: Vec<(Ground, Vec<&PlannedTarget>)> = Vec::new();
    for target in &plan.targets {
        let Some(ground) = Ground::of(target, catalog) else { continue };
        match engines.iter_mut().find(|(had, _)| had.url() == ground.url()) {
            Some((_, targets)) => targets.push(target),
            None => engines.push((ground, vec![target])),
        }
    }
    let floors = engines.into_iter().map(|(ground, targets)| {
        let is_measured = |point: &&PlannedPoint| targets.iter().any(|target| point.is_for(target));
        let points: Vec<&PlannedPoint> = plan.points.iter().filter(is_measured).collect();
        floors_on(&ground, &points, plan, catalog, stop)
    });
    floors.flatten().collect()
}

/// The floors at these points, on an engine that keeps nothing; empty where the engine cannot be opened.
fn floors_on(
    ground: &Ground,
    points: &[&PlannedPoint],
    plan: &Plan,
    catalog: &Catalog,
    stop: &AtomicBool,
) -> Vec<Floor> {
    let Some(url) = ground.url() else { return Vec::new() };
    let engine = ground.engine;
    let planned = PlannedTarget::new(url, engine.scheme.into(), engine, false, catalog);
    let Ok(mut target) = Target::open(&planned, plan, catalog) else { return Vec::new() };
    let mut floors: Vec<Floor> = Vec::new();
    for point in points {
        // The cost of measuring does not depend on the schedule: all rates have the floor of the first.
        let same = |floor: &&Floor| without_rate(&floor.point) == without_rate(&point.point);
        let known: Vec<Floor> = floors.iter().filter(same).cloned().collect();
        if let Some(Floor { point: first, .. }) = known.first() {
            let of_first = known.iter().filter(|floor| floor.point == *first);
            let here = |floor: &Floor| Floor { point: point.point.clone(), ..floor.clone() };
            floors.extend(of_first.map(here));
            continue;
        }
        let mut entries: Vec<Entry> = Vec::new();
        let began = Instant::now();
        for round in (1..=ROUNDS).take_while(|round| *round == 1 || began.elapsed() < LONG_ENOUGH) {
            let turn = Turn {
                point,
                round,
                number: round,
                position: 1,
                seed: plan.seed,
                amount: Amount::AtMost(AT_MOST),
                pacing: Pacing::Closed,
                clock: Instant::now(),
                stop,
            };
            turn.run(&mut target, &mut |entry| entries.push(entry));
        }
        floors.extend(of_rounds(point, target.language(), &entries));
    }
    floors
}

/// The floor of each operation of a point, from the entries of its rounds.
fn of_rounds(point: &PlannedPoint, language: Option<&str>, entries: &[Entry]) -> Vec<Floor> {
    let mut floors = Vec::new();
    for operation in point.measured_operations() {
        let each = |of: fn(&Entry) -> f64| {
            let rounds: Vec<f64> = entries
                .iter()
                .filter(|entry| entry.operation == operation && entry.sample.counts.ops > 0)
                .map(of)
                .collect();
            // The smallest figure counts, because other work of the machine only adds time.
            rounds.into_iter().min_by(f64::total_cmp)
        };
        let wall = each(|entry| per_op(entry.sample.wall_s, entry));
        // In a mix the CPU of each operation is not known.
        let cpu = each(|entry| {
            entry.sample.client_cpu_s.map_or(f64::NAN, |seconds| per_op(seconds, entry))
        });
        if let Some(ns_per_op) = wall {
            let cpu_ns_per_op = cpu.filter(|cpu| cpu.is_finite());
            let point = point.point.clone();
            let language = language.map(str::to_owned);
            let own = entries.iter().filter(|entry| entry.operation == operation);
            let rss_bytes = own.filter_map(|entry| entry.sample.rss_bytes).max();
            floors.push(Floor { point, operation, language, ns_per_op, cpu_ns_per_op, rss_bytes });
        }
    }
    floors
}

/// The coordinates of a point without its rate.
fn without_rate(point: &Point) -> Point {
    let mut point = point.clone();
    point.remove("rate");
    point
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn per_op(seconds: f64, entry: &Entry) -> f64 {
    seconds * 1e9 / entry.sample.counts.ops as f64
}
