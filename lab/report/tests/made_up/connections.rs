//! A made-up sweep of connections: two servers that reach their limits, one of them unfair, and a cache without requests
//! that wait.

use larder_report::{
    Cell, Comers, Counts, Driven, Idle, Latency, Operation, Point, PointValue, ReasonKind, Run,
    Spread,
};

use super::pairs::comparisons;
use super::plan::Plan;
use super::profile::PROFILES;

const CONNECTIONS: [u32; 4] = [1, 10, 50, 200];

/// The sweep, with sets and gets each by itself.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made up")]
pub(crate) fn connections() -> Run {
    let at = |connections: u32| {
        Point::from([("connections".into(), PointValue::Number(connections.into()))])
    };
    let profiles = [PROFILES[4], PROFILES[7], PROFILES[0]];
    let mut run = Plan::new(&profiles, CONNECTIONS.map(at).to_vec()).run();
    for cell in &mut run.cells {
        let Some(PointValue::Number(connections)) = cell.point.get("connections") else { continue };
        let connections = u32::try_from(*connections).unwrap_or(1);
        match profiles.iter().position(|profile| profile.url == cell.target) {
            Some(2) => {
                *cell = Cell {
                    target: cell.target.clone(),
                    point: cell.point.clone(),
                    operation: cell.operation,
                    reason: Some(
                        "waits for the answer to each request: leave out --connections".into(),
                    ),
                    reason_kind: Some(ReasonKind::Unsupported),
                    ..Cell::default()
                };
            }
            Some(server) => drive(cell, connections, server == 1),
            None => {}
        }
    }
    run.comparisons = comparisons(&run.cells);
    run.workload.insert("connections".into(), "1,10,50,200".into());
    let told = |latency: u64| Latency {
        p50: latency,
        p99: latency * 4,
        max: latency * 9,
        ..Latency::default()
    };
    for cell in run.cells.iter_mut().filter(|cell| cell.operation == Operation::Get) {
        if cell.driven.is_some_and(|driven| driven.connections == 200) {
            let bytes = if cell.target == profiles[0].url { Some(2310.4) } else { None };
            cell.idle = Some(Idle { connections: 1000, server_bytes_per_connection: bytes });
            cell.comers = Some(Comers {
                planned_per_s: 100.0,
                begun_per_s: 99.8,
                begun: (99.8 * cell.wall_s.unwrap_or(0.0)) as u64,
                failed: 2,
                connect_ns: Some(told(48_000)),
                first_answer_ns: Some(told(97_000)),
            });
        }
    }
    run
}

/// Gives a cell the figures of this many connections: a server does ten times as much at most as with one.
fn drive(cell: &mut Cell, connections: u32, is_unfair: bool) {
    let gain = 10.0 * f64::from(connections) / (f64::from(connections) + 9.0);
    let wait = f64::from(connections) / gain;
    let rate = cell.ops_per_s.unwrap_or(0.0) * gain;
    cell.ops_per_s = Some(rate);
    cell.ops_per_s_ci95 = cell.ops_per_s_ci95.map(|ci95| ci95.map(|bound| bound * gain));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "made up"
    )]
    let longer = |ns: u64| (ns as f64 * wait) as u64;
    cell.latency_ns = cell.latency_ns.map(|it| Latency {
        min: it.min,
        mean: it.mean * wait,
        p50: longer(it.p50),
        p90: longer(it.p90),
        p99: longer(it.p99),
        p999: longer(it.p999),
        max: longer(it.max),
    });
    cell.latency_ns_ci95 = None;
    let each = rate / f64::from(connections);
    let starved = if is_unfair && connections == 200 { 6 } else { 0 };
    let least = if starved > 0 { each / 8.0 } else { each * 0.9 };
    cell.driven = Some(Driven {
        connections,
        pipeline: 1,
        answered_per_s: Spread { least, median: each, most: each * 1.1 },
        starved,
        outstanding_mean: Some(f64::from(connections) * 0.98),
        outstanding_most: connections.into(),
        server_processors: Some(0.05 * gain + 0.4),
    });
    cell.counts = Counts { lost: starved.into(), errors: starved.into(), ..cell.counts };
    for sample in &mut cell.samples {
        sample.ops_per_s *= gain;
        sample.client_busy = Some(0.09 * gain);
    }
}
