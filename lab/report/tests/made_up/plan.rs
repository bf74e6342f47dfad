//! The plan of a made-up run, and the run that follows from it.

use std::collections::BTreeMap;

use larder_report::{Cell, Environment, Floor, Operation, Point, PointValue, Run, SCHEMA_VERSION};
use larder_testkit::Random;

use super::cells::{KEYS, Place as InPlan, cell};
use super::pairs::comparisons;
use super::profile::Profile;

/// The targets and points of a made-up run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The caches.
    pub(crate) profiles: Vec<Profile>,
    /// The points of the sweep; a run without a sweep has one point without coordinates.
    pub(crate) points: Vec<Point>,
    /// The operations at each point.
    pub(crate) operations: Vec<Operation>,
    /// The number of rounds.
    pub(crate) rounds: u32,
    /// The number of operations of a round.
    pub(crate) ops: u64,
}

impl Plan {
    /// Sets and gets, in ten rounds.
    pub(crate) fn new(profiles: &[Profile], points: Vec<Point>) -> Self {
        let operations = vec![Operation::Set, Operation::Get];
        Self { profiles: profiles.to_vec(), points, operations, rounds: 10, ops: 20_000 }
    }

    /// The run that follows from the plan.
    pub(crate) fn run(&self) -> Run {
        let mut random = Random::new(1);
        let mut cells = Vec::new();
        for point in &self.points {
            for operation in &self.operations {
                for (n, profile) in (1..).zip(&self.profiles) {
                    let place = InPlan { point, operation: *operation, position: n };
                    cells.push(cell(profile, place, self.rounds, self.ops, &mut random));
                }
            }
        }
        let urls = self.profiles.iter().map(|profile| profile.url.to_owned());
        let argv = ["larder".to_owned(), "compare".to_owned()].into_iter().chain(urls).collect();
        let comparisons = comparisons(&cells);
        Run {
            schema: SCHEMA_VERSION,
            larder: "0.1.0".into(),
            argv,
            scenario: "made-up".into(),
            seed: 1,
            started: "2026-11-21T20:41:07Z".into(),
            duration_s: duration_s(&cells),
            workload: workload(self.ops),
            notes: Vec::new(),
            environment: environment(),
            targets: self.profiles.iter().map(Profile::target).collect(),
            cells,
            floors: self.floors(),
            comparisons,
            ..Run::default()
        }
    }

    fn floors(&self) -> Vec<Floor> {
        let of = |point: &Point, operation: Operation| {
            let ns_per_op = if operation.reads() { 31.0 } else { 38.0 };
            let cpu_ns_per_op = Some(ns_per_op - 0.4);
            Floor {
                point: point.clone(),
                operation,
                language: None,
                ns_per_op,
                cpu_ns_per_op,
                rss_bytes: None,
            }
        };
        let points = self.points.iter();
        points.flat_map(|point| self.operations.iter().map(move |it| of(point, *it))).collect()
    }
}

/// The time of the measured loops, and a second for the rest of the run.
pub(crate) fn duration_s(cells: &[Cell]) -> f64 {
    1.0 + cells.iter().filter_map(|cell| cell.wall_s).sum::<f64>()
}

/// A point of a sweep over sizes of values.
pub(crate) fn size(bytes: u64) -> Point {
    Point::from([("data_size".into(), PointValue::Number(bytes))])
}

fn workload(ops: u64) -> BTreeMap<String, String> {
    let options = [
        ("keys", KEYS.to_string()),
        ("key-pattern", "zipf:0.99".to_owned()),
        ("key-size", "32".to_owned()),
        ("requests", ops.to_string()),
    ];
    options.map(|(name, value)| (name.to_owned(), value)).into()
}

fn environment() -> Environment {
    Environment {
        os: Some("Debian GNU/Linux 12 (bookworm)".into()),
        kernel: Some("6.1.0-40-amd64".into()),
        cpu: Some("AMD EPYC 7B13".into()),
        cores: 2,
        memory_bytes: Some(8 << 30),
        memory_limit_bytes: None,
        swap_bytes: Some(0),
        governor: None,
        load: Some(0.12),
        clock_ns: 19.4,
        build: "release".into(),
    }
}
