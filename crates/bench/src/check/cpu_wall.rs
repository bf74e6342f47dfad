//! CPU-WALL: a ranking by the client's CPU time that contradicts the one by wall clock.

use std::collections::BTreeMap;

use larder_report::{Cell, Operation, Point, Run, Sample, Severity};

use super::{About, Check, Needs, Report, measured};

/// Both rankings must differ by this factor before they are said to contradict each other.
const CLEARLY: f64 = 1.2;

/// Where targets are compared: a point, an operation, and how many work on it.
type Place<'a> = (&'a Point, Operation, u32);

pub(super) struct CpuWall;

impl Check for CpuWall {
    fn about(&self) -> &'static About {
        &About {
            id: "CPU-WALL",
            severities: &[Severity::Warn],
            sees: "two targets of which one is faster by wall clock and the other by CPU time of the client",
            seen_in: "A002: cmpthese divides by client CPU: 12.95 times faster by CPU, 1.4 times slower by wall",
            advice: "rank by wall clock; time spent waiting for a server or a disk is time",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let mut groups: BTreeMap<Place<'_>, Vec<(&Cell, Cost)>> = BTreeMap::new();
        for cell in measured(run) {
            if let Some(cost) = Cost::of(run, cell) {
                groups
                    .entry((&cell.point, cell.operation, cell.workers))
                    .or_default()
                    .push((cell, cost));
            }
        }
        for ((point, operation, _), cells) in groups {
            // The clearest contradiction of the group stands for all of them.
            let contradictions = cells.iter().flat_map(|a| cells.iter().map(move |b| (a, b)));
            let clearest = contradictions
                .map(|(a, b)| (a.1.wall_against(&b.1).min(b.1.cpu_against(&a.1)), a, b))
                .filter(|(clearness, a, b)| *clearness > CLEARLY && in_every_round(a.0, b.0))
                .max_by(|x, y| x.0.total_cmp(&y.0));
            if let Some((_, (a, a_cost), (b, b_cost))) = clearest {
                let name = |cell: &Cell| {
                    let target = run.target(&cell.target);
                    target.map_or_else(|| cell.target.clone(), |target| target.name.clone())
                };
                let (slower, faster) = (name(a), name(b));
                let text = format!(
                    "by wall clock {faster} is {:.1} times faster than {slower}; by client CPU it is the other way round, {:.1} \
                     times: {:.1} % of the time of {slower} is not the client's CPU",
                    a_cost.wall_against(b_cost),
                    b_cost.cpu_against(a_cost),
                    a_cost.off_cpu() * 100.0
                );
                report.place(Severity::Warn, point, operation, text);
            }
        }
    }
}

/// Whether the slowest round of `b` was still faster than the fastest of `a`, and the cheapest still dearer than the
/// dearest: one odd round contradicts nothing.
fn in_every_round(a: &Cell, b: &Cell) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let each = |sample: &Sample| Some(sample.client_cpu_s? / sample.counts.ops.max(1) as f64);
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rates = |cell: &Cell| {
        range(cell.samples.iter().map(|sample| sample.counts.ops as f64 / sample.wall_s))
    };
    let costs = |cell: &Cell| range(cell.samples.iter().filter_map(each));
    rates(b).0 > rates(a).1 && costs(b).0 > costs(a).1
}

/// The least and the greatest.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// Seconds of one operation.
struct Cost {
    wall: f64,
    cpu: f64,
    workers: f64,
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn of(run: &Run, cell: &Cell) -> Option<Self> {
        run.target(&cell.target).filter(|target| target.stores == Some(true))?;
        let cpu = cell.client_cpu_s? / cell.counts.ops as f64;
        let wall = cell.wall_s? / cell.counts.ops as f64;
        (cpu > 0.0 && wall > 0.0).then_some(Self { wall, cpu, workers: cell.workers.into() })
    }

    /// How many times longer an operation takes than the other's.
    fn wall_against(&self, other: &Self) -> f64 {
        self.wall / other.wall
    }

    fn cpu_against(&self, other: &Self) -> f64 {
        self.cpu / other.cpu
    }

    fn off_cpu(&self) -> f64 {
        (1.0 - self.cpu / (self.wall * self.workers)).max(0.0)
    }
}
