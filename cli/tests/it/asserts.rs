//! Conditions on a result: `--assert` and `--strict`, and their exit codes.

use std::fs;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "an_assertion_that_holds_changes_nothing_and_one_that_fails_is_an_exit_code", judged),
    (NOTHING, "an_assertion_is_read_before_anything_runs", read_first),
    (NOTHING, "a_misleading_figure_goes_before_a_failed_assertion", precedence),
];

fn compare(scene: &Scene, more: &[&str]) -> crate::scene::Answer {
    let small = ["compare", "moka:", "file:", "-q", "-k", "1000", "-r", "2", "-o", "out"];
    scene.larder(&[&small, more].concat())
}

fn judged() {
    let scene = Scene::new();
    let holds = ["--assert", "rate(get, moka:) > 1", "--assert", "hit_ratio(get) >= 100%"];
    let answer = compare(&scene, &holds);
    answer.ends_with(0);
    assert_eq!(answer.err, "results: out\n");
    let fails =
        ["--assert", "rate(get) > 10G", "--assert", "misses(get) > 0", "--assert", "max(*) < 1h"];
    let answer = compare(&scene, &fails[..4]);
    answer.ends_with(4);
    let lines: Vec<&str> = answer.err.lines().collect();
    assert_eq!(lines.len(), 5, "{answer:#?}");
    assert!(
        lines[1].starts_with("larder: rate(get) > 10G does not hold: get of moka: rate is "),
        "{lines:#?}"
    );
    assert!(lines[4].ends_with("get of file: misses is 0"), "{lines:#?}");
    // The results are stored all the same, and can be asserted again.
    let again =
        scene.larder(&["report", "out", "--format", "csv", "--assert", "p50(get, moka:) < 1ns"]);
    again.ends_with(4);
    assert_contains(&again.out, &["ops_per_s"]);
    assert_contains(
        &again.err,
        &["larder: p50(get, moka:) < 1ns does not hold: get of moka: p50 is "],
    );
    scene.larder(&["report", "out", "--strict", "--assert", "p50(get) < 1s"]).ends_with(0);
    let few = scene.larder(&["report", "out", "--assert", "p99.9(get, moka:) < 1s"]);
    few.ends_with(4);
    assert_contains(&few.err, &["there is no figure: fewer than ten operations"]);
}

fn read_first() {
    let scene = Scene::new();
    for (assertion, parts) in [
        ("p99(get) < 1", &["--assert", "`1` is no limit for p99", "such as 1ms"][..]),
        ("p42(get) < 1ms", &["there is no metric `p42`"]),
        (
            "rate(delete) > 1",
            &["names no cell of this run", "the operations get, set", "file:, moka:"],
        ),
        ("rate(get, redis:) > 1", &["names no cell of this run"]),
    ] {
        compare(&scene, &["--assert", assertion]).ends_with(2).complains(parts);
        assert!(!scene.path("out").exists(), "{assertion}");
    }
    let set = scene.larder(&["compare", "--scenario", "all-articles", "--assert", "rate() > 1"]);
    set.ends_with(2).complains(&["--assert", "`all-articles` is a set"]);
}

fn precedence() {
    let scene = Scene::new();
    compare(&scene, &[]).ends_with(0);
    let text = fs::read_to_string(scene.path("out/run.json")).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    run["checks"] = serde_json::json!([{
        "id": "NEVER-HITS", "severity": "error", "target": "moka:", "point": null, "operation": "get",
        "text": "nothing hits", "advice": "mend it",
    }]);
    scene.write("out/run.json", run.to_string());
    let misleads = ["report", "out", "--assert", "rate(get) > 1"];
    let answer = scene.larder(&misleads);
    answer.ends_with(4);
    assert_contains(
        &answer.err,
        &["get of moka: there is no figure: the cell is no result: NEVER-HITS"],
    );
    scene.larder(&[&misleads[..], &["--strict"]].concat()).ends_with(3);
    scene.larder(&["report", "out", "--strict"]).ends_with(3);
    // A failure comes before both.
    let failed =
        ["compare", "moka:", "file:/proc/nowhere", "-q", "-k", "20", "-r", "1", "-o", "other"];
    scene.larder(&[&failed[..], &["--assert", "rate(get) > 10G"]].concat()).ends_with(1);
}
