//! The made-up runs.

use larder_report::{
    Cell, Counts, Finding, Latency, Operation, Point, PointValue, ReasonKind, Run, Severity, Target,
};

use super::article::article;
use super::connections::connections;
use super::doubtful::{capacities, too_few_rounds, unlike_hits, withheld};
use super::pairs::comparisons;
use super::plan::{Plan, duration_s, size};
use super::profile::PROFILES;
use super::usage::usage;

/// A run with its name.
pub(crate) type MadeUp = (&'static str, fn() -> Run);

/// The runs as readers may meet them.
pub(crate) const MADE_UP: &[MadeUp] = &[
    ("sweep", sweep),
    ("interrupted", interrupted),
    ("missing-cells", missing_cells),
    ("one-target", one_target),
    ("twelve-targets", twelve_targets),
    ("zero-hits", zero_hits),
    ("all-unavailable", all_unavailable),
    ("one-point", one_point),
    ("older", older),
    ("coordinates", coordinates),
    ("article", article),
    ("withheld", withheld),
    ("unlike-hits", unlike_hits),
    ("too-few-rounds", too_few_rounds),
    ("capacities", capacities),
    ("connections", connections),
];

/// Five targets over five sizes, with a finding of each severity.
pub(crate) fn sweep() -> Run {
    let sizes = [1, 4, 16, 64, 256].map(|kib| size(kib << 10));
    let mut run = Plan::new(&PROFILES[..5], sizes.to_vec()).run();
    run.notes = vec!["values do not compress: each is a slice of random bytes".into()];
    run.checks = vec![
        Finding {
            point: Some(size(64 << 10)),
            operation: Some(Operation::Get),
            ..check(
                "TRUNCATED",
                Severity::Error,
                Some("sqlite:"),
                "12 of 200000 reads came back cut short",
            )
        },
        Finding {
            point: Some(size(1 << 10)),
            operation: Some(Operation::Get),
            ..check(
                "CLIENT-COST",
                Severity::Warn,
                Some("moka:"),
                "the measuring takes 31 of 334 ns",
            )
        },
        check(
            "ACK-PARITY",
            Severity::Note,
            Some("moka:"),
            "writes are volatile, those of lmdb: are os-cache",
        ),
    ];
    run
}

/// Stopped in the first round, at the second size: one target had its turn, one was in its turn, one had none.
pub(super) fn interrupted() -> Run {
    let plan = Plan::new(&PROFILES[..3], vec![size(1024), size(16 << 10)]);
    let mut run = Plan { rounds: 1, ..plan }.run();
    run.interrupted = true;
    for cell in run.cells.iter_mut().filter(|cell| cell.point == size(16 << 10)) {
        match cell.target.as_str() {
            "lmdb:?sync=off" if cell.operation == Operation::Set => break_off(cell),
            "moka:" => {}
            _ => empty(cell, ReasonKind::Interrupted, "interrupted before its first round"),
        }
    }
    compared_anew(run)
}

/// Each reason for an empty cell except an interruption.
fn missing_cells() -> Run {
    let sizes = vec![size(4 << 10), size(64 << 10), size(2170 << 10)];
    let profiles = [0, 1, 2, 3, 4, 7].map(|n| PROFILES[n]);
    let mut plan = Plan::new(&profiles, sizes);
    plan.operations.push(Operation::Touch);
    let mut run = plan.run();
    for cell in &mut run.cells {
        let large = cell.point == size(2170 << 10);
        match cell.target.as_str() {
            "memcached:" if large => {
                empty(cell, ReasonKind::Oversize, "value 2.1 MiB > item limit 1 MiB");
            }
            "sqlite:" if large => {
                let reason = "lost after 3 of 10 rounds: sqlite: corrupted: database disk image";
                empty(cell, ReasonKind::Lost, reason);
            }
            "file:" if cell.operation == Operation::Touch => {
                empty(cell, ReasonKind::Unsupported, "has no touch");
            }
            _ => {}
        }
    }
    close(&mut run, "redis:", "redis: connection to 127.0.0.1:6379 refused; start the server");
    compared_anew(run)
}

fn one_target() -> Run {
    Plan::new(&PROFILES[..1], vec![size(1024), size(8192), size(65536)]).run()
}

fn twelve_targets() -> Run {
    Plan::new(&PROFILES, vec![size(1024), size(16 << 10), size(256 << 10)]).run()
}

/// Every read misses, on both targets.
fn zero_hits() -> Run {
    let mut run = Plan::new(&[PROFILES[2], PROFILES[4]], vec![size(1024)]).run();
    for cell in run.cells.iter_mut().filter(|cell| cell.operation == Operation::Get) {
        let missed = |counts: Counts| Counts { misses: counts.ops, hits: 0, ..counts };
        let counts = missed(cell.counts);
        let samples = std::mem::take(&mut cell.samples);
        let none =
            format!("of {} operations none succeeded: {0} missed, 0 wrong, 0 failed", counts.ops);
        empty(cell, ReasonKind::NothingSucceeded, &none);
        (cell.rounds, cell.counts, cell.samples) = (10, counts, samples);
        for sample in &mut cell.samples {
            (sample.counts, sample.ops_per_s) = (missed(sample.counts), 0.0);
            sample.latency_ns = None::<Latency>;
        }
        let text = "0 hits of 200000 reads: only misses timed";
        let operation = Some(Operation::Get);
        run.checks.push(Finding {
            operation,
            ..check("NEVER-HITS", Severity::Error, Some(&cell.target), text)
        });
    }
    compared_anew(run)
}

/// No target is available.
pub(super) fn all_unavailable() -> Run {
    let mut run = Plan::new(&PROFILES[7..10], vec![size(1024)]).run();
    for profile in &PROFILES[7..10] {
        let engine = profile.url.trim_end_matches(':');
        let reason = format!("{engine}: {engine} is not installed: apt-get install {engine}");
        close(&mut run, profile.url, &reason);
    }
    run.floors.clear();
    compared_anew(run)
}

pub(crate) fn one_point() -> Run {
    Plan::new(&PROFILES[..4], vec![Point::new()]).run()
}

/// A run as version 0.1.0 wrote it: no curves, no timelines, no intervals.
fn older() -> Run {
    Run::from_json(include_str!("../fixture/run.json")).expect("the fixture is a run.json")
}

/// Sizes, one of them a distribution, and numbers of threads.
fn coordinates() -> Run {
    let sizes = [
        PointValue::Number(1024),
        PointValue::Number(64 << 10),
        PointValue::Text("uniform:1k-64k".into()),
    ];
    let of = |size: &PointValue, threads| {
        let threads = PointValue::Number(threads);
        Point::from([("data_size".into(), size.clone()), ("threads".into(), threads)])
    };
    let points = sizes.iter().flat_map(|size| [1, 2, 4, 8].map(|threads| of(size, threads)));
    Plan::new(&PROFILES[..4], points.collect()).run()
}

/// The largest run that a report must show at once: 10 targets, 20 points, 2 operations, 10 rounds.
pub(crate) fn largest() -> Run {
    let points = (3..23).map(|power| size(1 << power));
    let mut run = Plan::new(&PROFILES[..10], points.collect()).run();
    run.usage = usage(&run, 3600);
    run
}

/// Names, reasons and settings that do harm in a report that does not treat them as text.
pub(crate) fn hostile() -> Run {
    let script = "</script><script>document.title='taken'</script><img src=x onerror=document.title='taken'>";
    let long = format!("memcached://{}.example.org:11211", "very-long-host-name-".repeat(12));
    let mut run = Plan::new(&PROFILES[..4], vec![size(1024), size(4096)]).run();
    let names = [
        script,
        &long,
        "\u{202e}desrever \u{5e9}\u{5dc}\u{5d5}\u{5dd} \"quoted\" & 'single'",
        "<!--<script>{{`${1}`}}",
    ];
    for (n, name) in names.into_iter().enumerate() {
        let url = std::mem::replace(&mut run.targets[n].url, format!("{name}#{n}"));
        let url_now = run.targets[n].url.clone();
        run.targets[n].name = name.into();
        run.targets[n].settings.insert(script.into(), name.into());
        run.targets[n].version = Some(script.into());
        for cell in run.cells.iter_mut().filter(|cell| cell.target == url) {
            cell.target.clone_from(&url_now);
        }
        let text = format!("{name} answered {script}");
        run.checks.push(Finding {
            advice: script.into(),
            ..check(script, Severity::Warn, Some(&url_now), &text)
        });
    }
    empty(&mut run.cells[0], ReasonKind::Lost, &format!("lost: {script}"));
    run.workload.insert(script.into(), script.into());
    run.notes = vec![script.into()];
    run.scenario = script.into();
    run.argv = vec!["larder".into(), script.into()];
    run.environment.cpu = Some(script.into());
    compared_anew(run)
}

/// Makes a target unavailable, and drops its details.
fn close(run: &mut Run, url: &str, reason: &str) {
    for target in run.targets.iter_mut().filter(|target| target.url == url) {
        let Target { url, name, engine, .. } = std::mem::take(target);
        *target = Target { url, name, engine, reason: Some(reason.into()), ..Target::default() };
    }
    for cell in run.cells.iter_mut().filter(|cell| cell.target == url) {
        empty(cell, ReasonKind::Unavailable, reason);
    }
}

/// Removes the figures of a cell, and sets the reason.
fn empty(cell: &mut Cell, kind: ReasonKind, reason: &str) {
    *cell = Cell {
        rounds: 0,
        reason: Some(reason.into()),
        reason_kind: Some(kind),
        counts: Counts::default(),
        wall_s: None,
        ops_per_s: None,
        ops_per_s_ci95: None,
        client_cpu_s: None,
        server_cpu_s: None,
        rss_bytes: None,
        disk_bytes: None,
        bytes: 0,
        latency_ns: None,
        latency_ns_ci95: None,
        tiers: Vec::new(),
        latency_curve: Vec::new(),
        latency_to: Vec::new(),
        samples: Vec::new(),
        ..cell.clone()
    };
}

/// Leaves a third of the only round.
fn break_off(cell: &mut Cell) {
    let ops = cell.counts.ops / 3;
    cell.counts.ops = ops;
    cell.wall_s = cell.wall_s.map(|wall_s| wall_s / 3.0);
    for sample in &mut cell.samples {
        sample.complete = false;
        sample.counts.ops = ops;
        sample.wall_s /= 3.0;
        sample.timeline = None;
    }
}

/// Makes the comparisons from the remaining cells.
fn compared_anew(mut run: Run) -> Run {
    run.comparisons = comparisons(&run.cells);
    run.duration_s = duration_s(&run.cells);
    run
}

/// A finding against all cells of a target.
pub(super) fn check(id: &str, severity: Severity, target: Option<&str>, text: &str) -> Finding {
    Finding {
        id: id.into(),
        severity,
        target: target.map(Into::into),
        point: None,
        operation: None,
        stored: false,
        text: text.into(),
        advice: "look at docs/checks.md".into(),
    }
}
