//! CPU-WALL: a ranking by the client's CPU time that contradicts the one by wall clock.

use std::collections::BTreeMap;

use larder_report::{Cell, Operation, Point, Run, Sample, Severity};

use super::{About, Check, Needs, Report, measured};
use crate::statistics::{median, median_ci95};

/// The slower target must be slower by this factor in its least time, beyond the uncertainty of the rounds, ...
const SLOWER: f64 = 1.1;
/// ... and the faster target dearer by this factor: a client's processor time depends more on the machine's other work.
const DEARER: f64 = 1.2;

/// From this share of waiting for a processor on, the finding says that the waits are left out.
const MUCH: f64 = 0.05;
/// The seed of the intervals, fixed so that the check finds the same in the same run.
const SEED: u64 = 0;

/// The place of a comparison: a point, an operation, and the number of workers.
type Place<'a> = (&'a Point, Operation, u32);

pub(super) struct CpuWall;

impl Check for CpuWall {
    fn about(&self) -> &'static About {
        &About {
            id: "CPU-WALL",
            severities: &[Severity::Warn],
            sees: "two targets, one faster by wall clock and the other by the client's CPU time",
            seen_in: "A002: cmpthese divides by client CPU: 12.95 times faster by CPU, 1.4 times slower by wall \
                      clock",
            advice: "rank by wall clock; time spent waiting for a server or a disk is time",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let mut groups: BTreeMap<Place<'_>, Vec<&Cell>> = BTreeMap::new();
        let stores = |cell: &&Cell| run.target(&cell.target).and_then(|it| it.stores) == Some(true);
        for cell in measured(run).filter(stores) {
            groups.entry((&cell.point, cell.operation, cell.workers)).or_default().push(cell);
        }
        for ((point, operation, _), cells) in groups {
            // The clearest contradiction of the group stands for all of them.
            let pairs = cells.iter().flat_map(|a| cells.iter().map(move |b| (*a, *b)));
            let found = pairs.filter_map(|(a, b)| Contradiction::between(run, a, b));
            let clearest = found.max_by(|x, y| x.clearness().total_cmp(&y.clearness()));
            if let Some(clearest) = clearest {
                report.place(Severity::Warn, point, operation, clearest.text());
            }
        }
    }
}

/// Two targets, one of which is faster by wall clock and dearer by CPU time.
struct Contradiction<'a> {
    slower: &'a str,
    faster: &'a str,
    /// The ratio by wall clock.
    by_wall: f64,
    /// The ratio by CPU time.
    by_cpu: f64,
    /// The share of the slower target's wall-clock time that is not the client's CPU time.
    off_cpu: f64,
    /// The times leave out the waits of both for a processor, because these are long.
    without_waits: bool,
}

impl<'a> Contradiction<'a> {
    /// The contradiction that `b` is surely faster than `a` and surely dearer. Other programs on the processors slow
    /// down every client, and busier clients more. So the times leave out the clients' waits, as if a processor were
    /// always free. Of the slower target they leave out its servers' waits too, because other programs caused these. Of
    /// the faster target they do not: server threads wait side by side, and also while no client waits for them.
    fn between(run: &'a Run, a: &'a Cell, b: &'a Cell) -> Option<Self> {
        let wanted = Spent::of(run, a, true).zip(Spent::of(run, b, false));
        let (a_spent, b_spent) = match wanted {
            Some(both) => both,
            None => (Spent::with_waits(a)?, Spent::with_waits(b)?),
        };
        let by_wall = a_spent.wall.clearly_above(&b_spent.wall, SLOWER)?;
        let by_cpu = b_spent.cpu.clearly_above(&a_spent.cpu, DEARER)?;
        let name = |cell: &'a Cell| run.target(&cell.target).map_or(&*cell.target, |it| &*it.name);
        let workers = f64::from(a.workers.max(1));
        Some(Self {
            slower: name(a),
            faster: name(b),
            by_wall,
            by_cpu,
            off_cpu: (1.0 - a_spent.cpu.median / (a_spent.wall.median * workers)).max(0.0),
            without_waits: a_spent.waited.max(b_spent.waited) > MUCH,
        })
    }

    fn clearness(&self) -> f64 {
        self.by_wall.min(self.by_cpu)
    }

    fn text(&self) -> String {
        let Self { slower, faster, by_wall, by_cpu, .. } = self;
        let (without, least) = if self.without_waits {
            (", without the waits for a processor that other programs had,", "at least ")
        } else {
            ("", "")
        };
        format!(
            "by wall clock{without} {faster} is {least}{by_wall:.2} times faster than {slower}; by client CPU the \
             order is reversed, {by_cpu:.2} times: {:.1} % of the time of {slower} is not the client's CPU",
            self.off_cpu * 100.0
        )
    }
}

/// The times of an operation, over the rounds.
struct Spent {
    wall: Spread,
    cpu: Spread,
    /// The share of the wall-clock time that was left out.
    waited: f64,
}

impl Spent {
    /// The times without the client's waits for a processor, and without the servers' waits if `without_servers`;
    /// `None` where these are unknown.
    fn of(run: &Run, cell: &Cell, without_servers: bool) -> Option<Self> {
        let ownership = run.target(&cell.target)?.ownership.as_deref();
        let has_servers = matches!(ownership, Some("managed" | "external"));
        Self::new(cell, |sample| {
            let servers = match sample.server_wait_s {
                None if has_servers => return None,
                waited => waited.filter(|_| without_servers).unwrap_or(0.0),
            };
            // The workers wait side by side, so each waited for its share of both.
            Some((sample.client_wait_s? + servers) / f64::from(cell.workers.max(1)))
        })
    }

    /// The times as measured.
    fn with_waits(cell: &Cell) -> Option<Self> {
        Self::new(cell, |_| Some(0.0))
    }

    fn new(cell: &Cell, waited_s: impl Fn(&Sample) -> Option<f64>) -> Option<Self> {
        let (mut walls, mut cpus, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for sample in cell.samples.iter().filter(|sample| sample.complete) {
            #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
            let ops = sample.counts.ops as f64;
            let (cpu, waited) = (sample.client_cpu_s?, waited_s(sample)?);
            // Threads of a server wait side by side and while the network is busy, so their sum can exceed the round.
            let wall = (sample.wall_s - waited).max(least_s(cell, sample, cpu));
            walls.push(wall / ops);
            cpus.push(cpu / ops);
            shares.push(1.0 - wall / sample.wall_s);
        }
        let spent =
            Self { wall: Spread::of(&walls)?, cpu: Spread::of(&cpus)?, waited: median(&shares)? };
        (spent.wall.median > 0.0 && spent.cpu.median > 0.0).then_some(spent)
    }
}

/// The least time of a round on any machine: the client's processor time, or the fastest operation's time for every
/// success, whichever is longer.
fn least_s(cell: &Cell, sample: &Sample, cpu_s: f64) -> f64 {
    let is_one_by_one = sample.paced.is_none() && !cell.operation.is_of_many_keys();
    let fastest = sample.latency_ns.filter(|_| is_one_by_one);
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let each_s = fastest.map_or(0.0, |latency| latency.min as f64 / 1e9);
    let succeeded = sample.ops_per_s * sample.wall_s;
    cpu_s.max(each_s * succeeded).min(sample.wall_s * f64::from(cell.workers.max(1)))
        / f64::from(cell.workers.max(1))
}

/// The median of a figure over the rounds, and its sure range. The range is the interval, or all values where the
/// rounds are too few for an interval.
struct Spread {
    median: f64,
    between: [f64; 2],
}

impl Spread {
    /// `None` for a single value, which is sure of nothing.
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let between = median_ci95(values, SEED).unwrap_or([least, most]);
        Some(Self { median: median(values)?, between })
    }

    /// The ratio of this figure to the other, where it is surely greater by more than `margin`.
    fn clearly_above(&self, other: &Self, margin: f64) -> Option<f64> {
        let times = self.median / other.median;
        (self.between[0] > other.between[1] && times > margin).then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use larder_report::{Latency, Target};

    use super::*;

    /// The times of an operation in one round, in µs: wall clock, the client's CPU, the client's waits for a processor,
    /// and the servers' waits.
    type Round = (f64, f64, f64, Option<f64>);

    fn found(rounds: &[(&str, [Round; 3]); 2]) -> Vec<String> {
        let target = |(url, rounds): &(&str, [Round; 3])| Target {
            url: (*url).into(),
            name: (*url).into(),
            stores: Some(true),
            ownership: Some(if rounds[0].3.is_some() { "managed" } else { "embedded" }.into()),
            ..Target::default()
        };
        let cell = |(url, rounds): &(&str, [Round; 3])| {
            // The least time over the network.
            let least_ns = if *url == "far:" { 1_500_000 } else { 1000 };
            let sample = |(wall, cpu, client, servers): &Round| {
                let mut sample = Sample {
                    complete: true,
                    wall_s: wall / 1e3,
                    client_cpu_s: Some(cpu / 1e3),
                    client_wait_s: Some(client / 1e3),
                    ops_per_s: 1e6 / wall,
                    latency_ns: Some(Latency { min: least_ns, ..Latency::default() }),
                    server_wait_s: servers.map(|servers| servers / 1e3),
                    ..Sample::default()
                };
                sample.counts.ops = 1000;
                sample
            };
            let samples = rounds.iter().map(sample).collect();
            let mut cell = Cell { target: (*url).into(), workers: 1, samples, ..Cell::default() };
            cell.counts.ops = 3000;
            cell
        };
        let targets = rounds.iter().map(target).collect();
        let cells = rounds.iter().map(cell).collect();
        let all = super::super::run_all(&Run { targets, cells, ..Run::default() }).into_iter();
        all.filter(|found| found.id == "CPU-WALL").map(|found| found.text).collect()
    }

    #[test]
    fn a_target_that_lacked_a_processor_is_still_faster_than_a_target_behind_a_network() {
        let files = [
            (2150.0, 280.0, 1500.0, None),
            (2020.0, 260.0, 1600.0, None),
            (2430.0, 285.0, 1700.0, None),
        ];
        let far = [
            (1860.0, 127.0, 100.0, Some(60.0)),
            (1858.0, 129.0, 90.0, Some(70.0)),
            (1783.0, 98.0, 90.0, Some(50.0)),
        ];
        let said = found(&[("files:", files), ("far:", far)]);
        let words = "without the waits for a processor that other programs had, files: is at least 2.61 times faster \
                     than far:; ";
        assert!(said.len() == 1 && said[0].contains(words), "{said:?}");
        // However long a server and a relay waited, no operation was faster than the network.
        let waited = far.map(|(wall, cpu, client, _)| (wall, cpu, client, Some(1300.0)));
        assert_eq!(found(&[("files:", files), ("far:", waited)]).len(), 1);
        // Without a sign that the machine is the cause, the wall clock is right, and by it neither is faster.
        let unknown = files.map(|(wall, cpu, _, servers)| (wall, cpu, 0.0, servers));
        assert_eq!(found(&[("files:", unknown), ("far:", far)]), [""; 0]);
    }

    #[test]
    fn a_server_that_others_kept_from_the_processor_is_not_slower_for_it() {
        let inside = [(100.0, 90.0, 5.0, None), (105.0, 95.0, 5.0, None), (98.0, 88.0, 5.0, None)];
        let server = |waited| {
            [
                (400.0, 30.0, 20.0, Some(waited)),
                (380.0, 28.0, 20.0, Some(waited)),
                (420.0, 31.0, 20.0, Some(waited)),
            ]
        };
        assert_eq!(found(&[("inside:", inside), ("server:", server(0.0))]).len(), 1);
        assert_eq!(found(&[("inside:", inside), ("server:", server(300.0))]), [""; 0]);
    }

    #[test]
    fn waiting_for_a_processor_makes_a_server_no_faster() {
        let far = [
            (950.0, 21.0, 2.0, Some(28.0)),
            (1590.0, 21.0, 18.0, Some(42.0)),
            (810.0, 24.0, 4.0, Some(24.0)),
        ];
        let near = [
            (430.0, 97.0, 93.0, Some(555.0)),
            (1280.0, 106.0, 304.0, Some(1380.0)),
            (410.0, 107.0, 114.0, Some(359.0)),
        ];
        assert_eq!(found(&[("near:", near), ("other:", far)]), [""; 0]);
    }

    #[test]
    fn one_round_of_three_that_says_otherwise_contradicts_nothing() {
        let works = [(100.0, 95.0, 0.0, None), (104.0, 97.0, 0.0, None), (900.0, 99.0, 0.0, None)];
        let waits = [(400.0, 30.0, 0.0, None), (380.0, 28.0, 0.0, None), (420.0, 31.0, 0.0, None)];
        assert_eq!(found(&[("works:", works), ("waits:", waits)]), [""; 0]);
    }
}
