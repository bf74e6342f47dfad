//! The time of an iteration of one target in each round: the sum over its operations.

use larder_report::{
    Cell, Finding, Latency, Operation, PART, Point, PointValue, ReasonKind, Run, Sample, label,
};

use larder_analysis::check::STAND_IN;

/// The fewest operations for a 99th percentile: ten lie beyond it. With fewer, single operations decide it.
const P99_OPS: u64 = 1000;

/// The place of an article's figure in a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct FigurePlace<'a> {
    /// The name of the target.
    pub(super) target: &'a str,
    /// The name of the part, in a run of several parts.
    pub(super) part: Option<&'a str>,
    /// The point in the sweep of the part; `None` for all points.
    pub(super) at: Option<&'a Point>,
    /// The operations of an iteration, joined by `+`; `None` for all that are measured there.
    pub(super) operation: Option<&'a str>,
}

/// The time of an iteration, with a figure for each complete round.
#[derive(Debug, Clone)]
pub(super) struct IterationTimes {
    /// Seconds of wall clock.
    pub(super) wall_s: Vec<f64>,
    /// Seconds of the client's CPU; `None` unless every round has them.
    cpu_s: Option<Vec<f64>>,
    /// The seconds of these in the kernel; `None` unless every round has them.
    system_s: Option<Vec<f64>>,
    /// Seconds of the servers' CPU; `None` unless every round has them.
    server_cpu_s: Option<Vec<f64>>,
    /// Resident memory in bytes; `None` unless every round has it.
    rss_bytes: Option<Vec<f64>>,
    /// Mean latencies in seconds; `None` unless every round has them.
    latency_s: Option<Vec<f64>>,
    /// The 99th percentile of each round, in seconds; `None` with short rounds or several operations.
    p99_s: Option<Vec<f64>>,
    /// The time of each round's slowest operation, in seconds; `None` if unknown, or with several operations.
    max_s: Option<Vec<f64>>,
    /// Reads of each round that found nothing.
    pub(super) misses: Vec<f64>,
    /// Iterations of a round.
    pub(super) iterations: u64,
    /// Reads of all rounds, and of these the hits and the misses.
    pub(super) reads: u64,
    pub(super) hits: u64,
    pub(super) missed: u64,
    /// The checks that disqualify these figures.
    pub(super) doubts: Vec<String>,
}

impl IterationTimes {
    /// Seconds of the client's CPU for an iteration, or the reason why they are unknown.
    pub(super) fn cpu_s(&self) -> Result<&[f64], String> {
        let known = self.cpu_s.as_deref();
        known.ok_or_else(|| "the client's CPU time of an iteration is not known".to_owned())
    }

    /// Seconds of the client's CPU in the kernel for an iteration, or the reason why they are unknown.
    pub(super) fn system_s(&self) -> Result<&[f64], String> {
        let known = self.system_s.as_deref();
        known.ok_or_else(|| "the split of the client's CPU time is not known".to_owned())
    }

    /// Seconds of the client's CPU in its own code for an iteration, or the reason why they are unknown.
    pub(super) fn user_s(&self) -> Result<Vec<f64>, String> {
        let both = self.cpu_s()?.iter().zip(self.system_s()?);
        Ok(both.map(|(cpu, system)| (cpu - system).max(0.0)).collect())
    }

    /// Seconds of the servers' CPU for an iteration, or the reason why they are unknown.
    pub(super) fn server_cpu_s(&self) -> Result<&[f64], String> {
        let known = self.server_cpu_s.as_deref();
        known.ok_or_else(|| "no server's CPU time is known here".to_owned())
    }

    /// Resident memory in bytes, or the reason why it is unknown.
    pub(super) fn rss_bytes(&self) -> Result<&[f64], String> {
        let known = self.rss_bytes.as_deref();
        known.ok_or_else(|| "its memory use is not known".to_owned())
    }

    /// Mean latencies in seconds, or the reason why they are unknown.
    pub(super) fn latency_s(&self) -> Result<&[f64], String> {
        let known = self.latency_s.as_deref();
        known.ok_or_else(|| "the latency of an iteration is not known".to_owned())
    }

    /// The 99th percentile of the operations of each round, in seconds, or the reason why it is unknown.
    pub(super) fn p99_s(&self) -> Result<&[f64], String> {
        let known = self.p99_s.as_deref();
        known.ok_or_else(|| {
            format!("a 99th percentile needs rounds of one operation, {P99_OPS} requests or more")
        })
    }

    /// The time of the slowest operation of each round, in seconds, or the reason why it is unknown.
    pub(super) fn max_s(&self) -> Result<&[f64], String> {
        let known = self.max_s.as_deref();
        known.ok_or_else(|| "the slowest operation of each round is not known".to_owned())
    }
}

impl FigurePlace<'_> {
    /// Whether a point belongs to the named part and has the named coordinates.
    pub(super) fn holds(&self, point: &Point) -> bool {
        let part = match (self.part, point.get(PART)) {
            (Some(part), Some(PointValue::Text(name))) => part == name,
            _ => true,
        };
        let mut named = self.at.into_iter().flatten();
        part && named.all(|(name, value)| point.get(name) == Some(value))
    }

    /// The operations that this run measures at this place, in its order.
    fn measured(&self, run: &Run) -> Vec<Operation> {
        let mut operations = Vec::new();
        for cell in run.cells.iter().filter(|cell| self.holds(&cell.point)) {
            if !operations.contains(&cell.operation) {
                operations.push(cell.operation);
            }
        }
        operations
    }

    /// The operations of an iteration, without those that the run does not measure.
    fn operations(&self, run: &Run) -> Vec<Operation> {
        let mut operations = self.measured(run);
        if let Some(named) = self.operation {
            operations.retain(|operation| named.split('+').any(|name| name == operation.as_str()));
        }
        operations
    }

    /// The name of an iteration.
    pub(super) fn operation_in(&self, run: &Run) -> String {
        self.operation.map_or_else(
            || {
                let all = self.measured(run);
                all.iter().map(|operation| operation.as_str()).collect::<Vec<_>>().join("+")
            },
            str::to_owned,
        )
    }

    /// Whether a check is about this place.
    pub(super) fn concerns(&self, run: &Run, check: &Finding) -> bool {
        let url = |url: &String| run.target(url).is_some_and(|target| target.name == self.target);
        check.target.as_ref().is_none_or(url)
            && check.point.as_ref().is_none_or(|point| self.holds(point))
            && check.operation.is_none_or(|operation| self.operations(run).contains(&operation))
    }
}

/// A point with all its coordinates.
fn named(point: &Point) -> String {
    label(point, &point.keys().map(String::as_str).collect::<Vec<_>>())
}

/// The rounds of a place, or the reason why the run has no rounds there.
pub(super) fn find(run: &Run, place: &FigurePlace<'_>) -> Result<IterationTimes, String> {
    let name = place.target;
    let target = run.targets.iter().find(|target| target.name == name);
    let target = target.ok_or_else(|| format!("{name} is not among the targets of this run"))?;
    if let Some(reason) = &target.reason {
        return Err(format!("{name} did not run: {reason}"));
    }
    let operations = place.operations(run);
    let wanted = place.operation.map_or(operations.len(), |named| named.split('+').count());
    if operations.is_empty() || operations.len() < wanted {
        let at = place.at.filter(|at| !at.is_empty()).map(|at| format!(" at {}", named(at)));
        let at = at.unwrap_or_default();
        let what = FigurePlace { at: None, ..*place }.operation_in(run);
        return Err(format!("this run does not measure {what}{at}"));
    }
    let mine = |cell: &&Cell| cell.target == target.url && place.holds(&cell.point);
    let mut times: Option<IterationTimes> = None;
    for operation in operations {
        let mut cells = run.cells.iter().filter(mine).filter(|cell| cell.operation == operation);
        let cell = cells.next().ok_or_else(|| format!("{name} has no {operation}"))?;
        if cells.next().is_some() {
            return Err(format!("this run sweeps, and {name} has several figures for {operation}"));
        }
        let own = of_cell(run, cell).map_err(|reason| format!("{name}: {reason}"))?;
        times = Some(match times {
            None => own,
            Some(others) => others.plus(own),
        });
    }
    times.ok_or_else(|| format!("{name} has no figures"))
}

#[expect(clippy::cast_precision_loss, reason = "counts of operations")]
fn of_cell(run: &Run, cell: &Cell) -> Result<IterationTimes, String> {
    let whole = |sample: &&Sample| sample.complete && sample.counts.ops > 0;
    let samples: Vec<&Sample> = cell.samples.iter().filter(whole).collect();
    // Reads that found nothing still took time.
    let missed = cell.reason_kind == Some(ReasonKind::NothingSucceeded)
        && cell.counts.misses == cell.counts.ops;
    if samples.is_empty() || (cell.wall_s.is_none() && !missed) {
        return Err(cell.reason.clone().unwrap_or_else(|| "no round was carried out".to_owned()));
    }
    let each = |of: &dyn Fn(&Sample) -> f64| -> Vec<f64> {
        samples.iter().map(|sample| of(sample) / sample.counts.ops as f64).collect()
    };
    let known = samples.iter().all(|sample| sample.client_cpu_s.is_some());
    // A time of zero is below the clock's resolution, and not a figure.
    let cpu_s = || each(&|sample| sample.client_cpu_s.unwrap_or_default());
    let cpu_s = known.then(cpu_s).filter(|seconds| seconds.iter().all(|cpu| *cpu > 0.0));
    let system_s = samples.iter();
    let system_s =
        system_s.map(|sample| Some(sample.client_system_s? / sample.counts.ops as f64)).collect();
    let server_cpu_s =
        samples.iter().map(|sample| Some(sample.server_cpu_s? / sample.counts.ops as f64));
    let server_cpu_s = server_cpu_s.collect();
    let rss_bytes = samples.iter().map(|sample| Some(sample.rss_bytes? as f64)).collect();
    let latency_s = samples.iter().map(|sample| Some(sample.latency_ns?.mean / 1e9)).collect();
    let long = samples.iter().all(|sample| succeeded(sample) >= P99_OPS);
    let slowest = |of: fn(&Latency) -> u64| -> Option<Vec<f64>> {
        let each = samples.iter().map(|sample| Some(of(&sample.latency_ns?) as f64 / 1e9));
        each.collect()
    };
    let p99_s =
        slowest(|latency| latency.p99).filter(|_| long && !cell.operation.is_of_many_keys());
    let max_s = slowest(|latency| latency.max);
    let reads = cell.operation.reads();
    let misses = samples.iter().map(|sample| if reads { sample.counts.misses as f64 } else { 0.0 });
    let of_reads = |count: u64| if reads { count } else { 0 };
    Ok(IterationTimes {
        wall_s: each(&|sample| sample.wall_s),
        cpu_s,
        system_s,
        server_cpu_s,
        rss_bytes,
        latency_s,
        p99_s,
        max_s,
        misses: misses.collect(),
        iterations: samples.iter().map(|sample| sample.counts.ops).max().unwrap_or(0),
        reads: of_reads(cell.counts.ops),
        hits: of_reads(cell.counts.hits),
        missed: of_reads(cell.counts.misses),
        doubts: doubts(run, cell),
    })
}

/// The checks that disqualify a cell: those that keep it out of the ranking, and the check for stand-ins.
fn doubts(run: &Run, cell: &Cell) -> Vec<String> {
    let stands_in =
        |check: &Finding| check.id == STAND_IN && check.target.as_ref() == Some(&cell.target);
    let against = run.checks.iter().filter(|check| check.disqualifies(cell) || stands_in(check));
    let mut doubts: Vec<String> = against.map(|check| check.id.clone()).collect();
    doubts.dedup();
    doubts
}

/// The number of operations in a round that have latencies.
fn succeeded(sample: &Sample) -> u64 {
    let counts = &sample.counts;
    counts.ops.saturating_sub(counts.misses + counts.wrong + counts.errors)
}

impl IterationTimes {
    /// Adds the operations of another iteration to this one.
    fn plus(self, other: Self) -> Self {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let mut doubts = self.doubts;
        for doubt in other.doubts {
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
        Self {
            wall_s: sum(&self.wall_s, &other.wall_s),
            cpu_s: self.cpu_s.zip(other.cpu_s).map(|(a, b)| sum(&a, &b)),
            system_s: self.system_s.zip(other.system_s).map(|(a, b)| sum(&a, &b)),
            latency_s: self.latency_s.zip(other.latency_s).map(|(a, b)| sum(&a, &b)),
            server_cpu_s: self.server_cpu_s.zip(other.server_cpu_s).map(|(a, b)| sum(&a, &b)),
            // Memory after the last operation includes the results of earlier operations.
            rss_bytes: other.rss_bytes,
            // The slowest cases of two operations do not fall into the same iteration, so they do not add up.
            p99_s: None,
            max_s: None,
            misses: sum(&self.misses, &other.misses),
            iterations: self.iterations.max(other.iterations),
            reads: self.reads + other.reads,
            hits: self.hits + other.hits,
            missed: self.missed + other.missed,
            doubts,
        }
    }
}
