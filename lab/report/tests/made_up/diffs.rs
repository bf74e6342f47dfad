//! Made-up differences of two runs.

use larder_report::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, DiffSide, Differing,
    NotCompared, Operation,
};

use super::plan::size;

fn cell(name: &str, operation: Operation, bytes: u64) -> DiffCell {
    DiffCell { target: name.into(), name: name.into(), point: size(bytes), operation }
}

fn figure(value: f64) -> DiffFigure {
    DiffFigure { value, ci95: Some([value * 0.98, value * 1.03]), rounds: 10 }
}

fn change(cell: DiffCell, measure: DiffMeasure, old: f64, new: f64) -> Change {
    let ratio = new / old;
    let more = measure.rises_for_the_better();
    let verdict = match ratio {
        ratio if (ratio - 1.0).abs() < 0.05 => ChangeVerdict::Indistinguishable,
        ratio if (ratio > 1.0) == more => ChangeVerdict::Better,
        _ => ChangeVerdict::Worse,
    };
    Change {
        cell,
        measure,
        old: figure(old),
        new: figure(new),
        ratio: Some(ratio),
        ci95: Some([ratio * 0.97, ratio * 1.04]),
        p: if verdict == ChangeVerdict::Indistinguishable { 0.62 } else { 0.0004 },
        verdict,
    }
}

/// Two targets at two sizes: one became slower at the larger size, the other hits less.
pub(crate) fn difference() -> Diff {
    let side = |path: &str| DiffSide {
        path: path.into(),
        larder: "0.1.0".into(),
        scenario: "quick".into(),
        seed: 1,
        started: "2026-11-21T20:41:07.25Z".into(),
        interrupted: path == "after",
    };
    let get = |name: &str, bytes| cell(name, Operation::Get, bytes);
    let mut hits = change(get("moka:", 4096), DiffMeasure::HitRatio, 0.98, 0.91);
    (hits.ci95, hits.old.ci95, hits.new.ci95) = (None, None, None);
    Diff {
        old: side("before"),
        new: side("after"),
        common: [("machine", "a machine"), ("keys", "1000"), ("threads", "1")]
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        mixed: vec![Differing { name: "kernel".into(), old: "6.1".into(), new: "6.2".into() }],
        changes: vec![
            change(get("moka:", 1024), DiffMeasure::OpsPerS, 640e3, 651e3),
            change(get("memcached:", 1024), DiffMeasure::OpsPerS, 112e3, 132e3),
            change(get("moka:", 4096), DiffMeasure::OpsPerS, 600e3, 120e3),
            change(get("moka:", 4096), DiffMeasure::P99Ns, 8870.0, 44_000.0),
            hits,
        ],
        not_compared: vec![NotCompared {
            cell: get("file:", 1024),
            reason: "no figures in new: lost in the first round".into(),
            may_be_worse: true,
        }],
        only_old: (0..9).map(|n| get(&format!("old {n}"), 1024)).collect(),
        only_new: vec![get("new:", 1024), get("new:", 4096)],
        notes: vec!["the seeds are 1 and 2, and each draws its own keys".into()],
    }
}

/// One target at one point, faster than before, with too few rounds for an interval.
pub(crate) fn one_cell() -> Diff {
    let mut diff = difference();
    diff.mixed.clear();
    (diff.not_compared, diff.only_old, diff.only_new) = Default::default();
    diff.changes.truncate(2);
    let mut faster = diff.changes.remove(1);
    (faster.ci95, faster.old.ci95, faster.new.ci95) = (None, None, None);
    (faster.old.rounds, faster.new.rounds) = (3, 4);
    diff.changes = vec![faster];
    diff
}

/// Names and reasons that do harm on a page that does not treat them as text.
pub(crate) fn hostile_difference() -> Diff {
    let script =
        "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>\u{202e}*|`";
    let mut diff = difference();
    (diff.old.path, diff.new.scenario) = (script.into(), script.into());
    diff.notes.push(script.into());
    diff.mixed[0].old = script.into();
    diff.common.insert(script.into(), script.into());
    for change in diff.changes.iter_mut().filter(|change| change.cell.name == "moka:") {
        (change.cell.name, change.cell.target) = (script.into(), script.into());
    }
    diff.not_compared[0].reason = script.into();
    diff
}
