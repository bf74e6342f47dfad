//! Two runs beside each other, in every format.

use insta::assert_snapshot;
use larder_report::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, DiffSide, Differing, Format,
    NotCompared, Operation, Style, diff_formats, render_diff,
};

use super::small::{PLAIN, size};

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
fn difference() -> Diff {
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

fn render(format: Format, style: Style) -> String {
    render_diff(&difference(), format, style).expect("a difference has this format")
}

#[test]
fn a_difference_as_it_is() {
    assert_snapshot!("diff_table", render(Format::TABLE, PLAIN));
    let coloured = render(Format::TABLE, Style { colour: true, width: 60 });
    assert!(
        coloured
            .contains("\u{1b}[1m\u{1b}[32m+17.9 %\u{1b}[0m  \u{1b}[1m\u{1b}[32mfaster\u{1b}[0m"),
        "{coloured}"
    );
    assert!(
        coloured.contains("\u{1b}[31m−80.0 %\u{1b}[0m  \u{1b}[31mslower\u{1b}[0m"),
        "{coloured}"
    );
    assert_snapshot!("diff_markdown", render(Format::MARKDOWN, PLAIN));
    assert_snapshot!("diff_csv", render(Format::CSV, PLAIN));
}

#[test]
fn a_difference_has_some_formats_and_no_others() {
    let known: Vec<&str> = diff_formats().map(Format::as_str).collect();
    assert_eq!(known, ["table", "markdown", "json", "csv"]);
    for format in Format::all() {
        let rendered = render_diff(&difference(), format, PLAIN);
        assert_eq!(rendered.is_some(), known.contains(&format.as_str()), "{format}");
    }
    let read: serde_json::Value = serde_json::from_str(&render(Format::JSON, PLAIN)).unwrap();
    assert_eq!(read["changes"][2]["verdict"], "worse");
    assert_eq!(read["changes"][0]["name"], "moka:");
}

#[test]
fn rounds_that_can_tell_nothing_say_so() {
    let mut few = difference();
    for change in &mut few.changes {
        (change.old.rounds, change.new.rounds) = (3, 5);
    }
    let text = render_diff(&few, Format::MARKDOWN, PLAIN).unwrap();
    assert!(text.contains("so few rounds can tell no change, however clear: 6 rounds"), "{text}");
    assert!(text.contains("| 3+5 |"), "{text}");
    assert!(!render(Format::MARKDOWN, PLAIN).contains("so few rounds"));
}
