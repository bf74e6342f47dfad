//! The time of an iteration of one target in each round, added up over the operations that it consists of.

use larder_report::{
    Cell, Check, Latency, Operation, PART, Point, PointValue, ReasonKind, Run, Sample, label,
};

use larder_analysis::check::STAND_IN;

/// So many operations have ten beyond their 99th percentile; fewer say more about themselves than about it.
const P99_OPS: u64 = 1000;

/// Where the figures of an article are found in a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct FigurePlace<'a> {
    /// The name of the target.
    pub(super) target: &'a str,
    /// The name of the part, where there are several.
    pub(super) part: Option<&'a str>,
    /// Where in the sweep of the part; `None` for all of it.
    pub(super) at: Option<&'a Point>,
    /// The operations of an iteration, joined by `+`; all that are measured there, where it is left out.
    pub(super) operation: Option<&'a str>,
}

/// The time of an iteration, a figure for each whole round.
#[derive(Debug, Clone)]
pub(super) struct IterationTimes {
    /// Seconds of wall clock.
    pub(super) wall_s: Vec<f64>,
    /// Seconds of the client's CPU; `None` where they are not known in every round.
    cpu_s: Option<Vec<f64>>,
    /// Of these, seconds in the system's kernel; `None` where they are not known in every round.
    system_s: Option<Vec<f64>>,
    /// Seconds of the servers' CPU; `None` where they are not known in every round.
    server_cpu_s: Option<Vec<f64>>,
    /// Resident memory in bytes; `None` where it is not known in every round.
    rss_bytes: Option<Vec<f64>>,
    /// Mean latencies in seconds; `None` where they are not known in every round.
    latency_s: Option<Vec<f64>>,
    /// The 99th percentiles of a round in seconds; `None` where the rounds are too short to have one, or do several things.
    p99_s: Option<Vec<f64>>,
    /// The slowest of a round in seconds; `None` where they are not known in every round, or do several things.
    max_s: Option<Vec<f64>>,
    /// Reads that found nothing, in a round.
    pub(super) misses: Vec<f64>,
    /// Iterations of a round.
    pub(super) iterations: u64,
    /// Reads of all rounds together, those that hit, and those that found nothing.
    pub(super) reads: u64,
    pub(super) hits: u64,
    pub(super) missed: u64,
    /// The checks that make these figures no result.
    pub(super) doubts: Vec<String>,
}

impl IterationTimes {
    /// Seconds of the client's CPU an iteration, or why they are not known.
    pub(super) fn cpu_s(&self) -> Result<&[f64], String> {
        let known = self.cpu_s.as_deref();
        known.ok_or_else(|| "the client's CPU time of an iteration is not known".to_owned())
    }

    /// Of the client's CPU an iteration, seconds in the system's kernel, or why they are not known.
    pub(super) fn system_s(&self) -> Result<&[f64], String> {
        let known = self.system_s.as_deref();
        known.ok_or_else(|| "how the client's CPU time divides is not known".to_owned())
    }

    /// Of the client's CPU an iteration, seconds in its own code, or why they are not known.
    pub(super) fn user_s(&self) -> Result<Vec<f64>, String> {
        let both = self.cpu_s()?.iter().zip(self.system_s()?);
        Ok(both.map(|(cpu, system)| (cpu - system).max(0.0)).collect())
    }

    /// Seconds of the servers' CPU an iteration, or why they are not known.
    pub(super) fn server_cpu_s(&self) -> Result<&[f64], String> {
        let known = self.server_cpu_s.as_deref();
        known.ok_or_else(|| "there is no server here whose CPU time is known".to_owned())
    }

    /// Resident memory in bytes, or why it is not known.
    pub(super) fn rss_bytes(&self) -> Result<&[f64], String> {
        let known = self.rss_bytes.as_deref();
        known.ok_or_else(|| "what it takes of memory is not known".to_owned())
    }

    /// Mean latencies in seconds, or why they are not known.
    pub(super) fn latency_s(&self) -> Result<&[f64], String> {
        let known = self.latency_s.as_deref();
        known.ok_or_else(|| "the latency of an iteration is not known".to_owned())
    }

    /// The 99th percentile of the operations of each round, in seconds, or why it is not known.
    pub(super) fn p99_s(&self) -> Result<&[f64], String> {
        let known = self.p99_s.as_deref();
        known.ok_or_else(|| {
            format!("a 99th percentile wants rounds of one operation, {P99_OPS} times or more")
        })
    }

    /// The time of the slowest operation of each round, in seconds, or why it is not known.
    pub(super) fn max_s(&self) -> Result<&[f64], String> {
        let known = self.max_s.as_deref();
        known.ok_or_else(|| "the slowest of each round is not known".to_owned())
    }
}

impl FigurePlace<'_> {
    /// Whether a point belongs to the part, and is the one that is named.
    pub(super) fn holds(&self, point: &Point) -> bool {
        let part = match (self.part, point.get(PART)) {
            (Some(part), Some(PointValue::Text(name))) => part == name,
            _ => true,
        };
        let mut named = self.at.into_iter().flatten();
        part && named.all(|(name, value)| point.get(name) == Some(value))
    }

    /// The operations that this run measures here, in its order.
    fn measured(&self, run: &Run) -> Vec<Operation> {
        let mut operations = Vec::new();
        for cell in run.cells.iter().filter(|cell| self.holds(&cell.point)) {
            if !operations.contains(&cell.operation) {
                operations.push(cell.operation);
            }
        }
        operations
    }

    /// The operations of an iteration by their names; those that the run has not are left out.
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
    pub(super) fn concerns(&self, run: &Run, check: &Check) -> bool {
        let url = |url: &String| run.target(url).is_some_and(|target| target.name == self.target);
        check.target.as_ref().is_none_or(url)
            && check.point.as_ref().is_none_or(|point| self.holds(point))
            && check.operation.is_none_or(|operation| self.operations(run).contains(&operation))
    }
}

/// A point by all of its coordinates.
fn named(point: &Point) -> String {
    label(point, &point.keys().map(String::as_str).collect::<Vec<_>>())
}

/// The rounds of a place, or why there are none.
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
    // That nothing was found is no reason not to say how long it took.
    let missed = cell.reason_kind == Some(ReasonKind::NothingSucceeded)
        && cell.counts.misses == cell.counts.ops;
    if samples.is_empty() || (cell.wall_s.is_none() && !missed) {
        return Err(cell.reason.clone().unwrap_or_else(|| "no round was carried out".to_owned()));
    }
    let each = |of: &dyn Fn(&Sample) -> f64| -> Vec<f64> {
        samples.iter().map(|sample| of(sample) / sample.counts.ops as f64).collect()
    };
    let known = samples.iter().all(|sample| sample.client_cpu_s.is_some());
    // Less than the clock can tell is not a time.
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

/// The checks that make a cell no result: those that keep it out of the ranking, and that a stand-in answered.
fn doubts(run: &Run, cell: &Cell) -> Vec<String> {
    let stands_in =
        |check: &Check| check.id == STAND_IN && check.target.as_ref() == Some(&cell.target);
    let against = run.checks.iter().filter(|check| check.disqualifies(cell) || stands_in(check));
    let mut doubts: Vec<String> = against.map(|check| check.id.clone()).collect();
    doubts.dedup();
    doubts
}

/// The operations whose latencies a round has.
fn succeeded(sample: &Sample) -> u64 {
    let counts = &sample.counts;
    counts.ops.saturating_sub(counts.misses + counts.wrong + counts.errors)
}

impl IterationTimes {
    /// An iteration that also does what the other one does.
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
            // The last operation finds the results of those before it.
            rss_bytes: other.rss_bytes,
            // The slowest of two things are not slow in the same iteration: they do not add up.
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
