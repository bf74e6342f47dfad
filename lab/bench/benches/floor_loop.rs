//! The cost of the measured loop itself: `null:` with values of 100 bytes, beside one reading of the clock.
//!
//! `cargo bench -p larder-bench --bench floor_loop`. The loop reads the clock, takes a key, calls the store through its
//! trait, verifies the value and records the latency. The clock is its floor.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::sync::atomic::AtomicBool;

use larder_bench::{Permissions, Plan, Scenario, Silent, compare};
use larder_engines::ENGINES;
use larder_workload::WorkloadSpec;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workload = WorkloadSpec {
        keys: Some("100k".parse()?),
        data_size: Some("100".parse()?),
        requests: Some("2m".parse()?),
        rounds: Some("15".parse()?),
        ..WorkloadSpec::default()
    };
    let scenario = Scenario {
        name: "floor".into(),
        targets: vec!["null:".into()],
        workload,
        ..Scenario::default()
    };
    let plan = Plan::new(&scenario, true, &ENGINES)?;
    let stop = AtomicBool::new(false);
    let outcome = compare(&plan, &ENGINES, Vec::new(), Permissions::default(), &Silent, &stop)?;
    let run = outcome.run;
    println!("clock      {:6.1} ns a reading", run.environment.clock_ns);
    for cell in &run.cells {
        let mut walls: Vec<f64> =
            cell.samples.iter().map(|sample| 1e9 / sample.ops_per_s).collect();
        walls.sort_by(f64::total_cmp);
        let [least, median, most] = [0, walls.len() / 2, walls.len() - 1].map(|at| walls[at]);
        println!("{:10} {median:6.1} ns an operation [{least:.1}-{most:.1}]", cell.operation);
    }
    Ok(())
}
