//! `larder diff`: the changes from one result to another.

use std::fs;

use larder_report::Run;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_result_set_against_itself_has_not_changed", unchanged),
    (NOTHING, "a_rate_that_fell_is_told_and_can_be_made_an_exit_code", slower),
    (NOTHING, "results_of_two_machines_are_refused_until_told_to", mixed),
    (NOTHING, "runs_that_cannot_be_compared_are_refused_in_one_line", refused),
    (NOTHING, "a_page_of_the_changes_is_written_and_replaces_no_other_file", page),
];

/// A scene with a small result in `out`.
fn compared() -> Scene {
    let scene = Scene::new();
    let small = ["compare", "moka:", "-q", "-k", "2000", "-r", "6", "-o", "out"];
    scene.larder(&small).ends_with(0);
    scene
}

/// The same result in the folder `other`, changed.
fn with_other(scene: &Scene, change: impl FnOnce(&mut Run)) {
    let mut run = scene.run_json();
    change(&mut run);
    fs::create_dir(scene.path("other")).unwrap();
    scene.write("other/run.json", run.to_json());
}

fn halve(run: &mut Run) {
    for cell in &mut run.cells {
        cell.ops_per_s = cell.ops_per_s.map(|rate| rate / 20.0);
        for sample in &mut cell.samples {
            sample.ops_per_s /= 20.0;
        }
    }
}

fn unchanged() {
    let scene = compared();
    let answer = scene.larder(&["diff", "out", "out/run.json", "--fail-on", "slower"]);
    answer.ends_with(0);
    assert_eq!(answer.err, "");
    assert_contains(&answer.out, &["old ", "machine ", "both ", "set rate", "get p99", "  ~  "]);
    assert!(!answer.out.contains("slower") && !answer.out.contains("faster"), "{}", answer.out);
    for (format, part) in
        [("markdown", "| get rate |"), ("csv", "ops_per_s"), ("json", "\"ratio\": 1.0")]
    {
        let answer = scene.larder(&["diff", "out", "out", "--format", format]);
        answer.ends_with(0);
        assert_contains(&answer.out, &[part]);
    }
}

fn slower() {
    let scene = compared();
    with_other(&scene, halve);
    let answer = scene.larder(&["diff", "out", "other"]);
    answer.ends_with(0);
    assert_contains(&answer.out, &["−95.0 %  slower"]);
    let answer = scene.larder(&["diff", "out", "other", "--fail-on", "slower:5%", "-q"]);
    answer.ends_with(2).complains(&["-q"]);
    let answer = scene.larder(&["diff", "out", "other", "--fail-on", "slower:5%"]);
    answer.ends_with(4);
    assert_contains(
        &answer.err,
        &["larder: get of moka:", "95.0 % slower; --fail-on allows less than 5 %"],
    );
    assert_eq!(answer.err.lines().count(), 2);
    scene.larder(&["diff", "other", "out", "--fail-on", "slower:5%"]).ends_with(0);
    scene.larder(&["diff", "out", "other", "--fail-on", "slower:96%"]).ends_with(0);
}

fn mixed() {
    let scene = compared();
    with_other(&scene, |run| {
        run.environment.kernel = Some("9.9".into());
        run.environment.cores += 1;
    });
    let answer = scene.larder(&["diff", "out", "other"]);
    let parts = ["out and other differ in cores (", "kernel (", "against 9.9)", "--mixed"];
    answer.ends_with(2).complains(&parts);
    let answer = scene.larder(&["diff", "out", "other", "--mixed"]);
    answer.ends_with(0);
    let first = answer.out.lines().next().unwrap();
    assert!(first.starts_with("these runs differ in more than the figures"), "{first}");
}

fn refused() {
    let scene = compared();
    with_other(&scene, |run| {
        run.targets[0].url = "file:".into();
        for cell in &mut run.cells {
            cell.target = "file:".into();
        }
    });
    scene.larder(&["diff", "out", "other"]).ends_with(2).complains(&["have no cell in common"]);
    scene.larder(&["diff", "out", "other", "--by-name"]).ends_with(0);
    scene.larder(&["diff", "out", "nowhere"]).ends_with(2).complains(&["nothing at nowhere"]);
    scene.larder(&["diff", "out"]).ends_with(2).complains(&["<NEW>"]);
    let answer = scene.larder(&["diff", "out", "out", "--format", "matrix"]);
    let known = "--format matrix: a difference has table, markdown, html, json, csv";
    answer.ends_with(2).complains(&[known]);
}

fn page() {
    let scene = compared();
    let answer = scene.larder(&["diff", "out", "out", "--html", "changes.html"]);
    answer.ends_with(0);
    assert_eq!(answer.out, "");
    assert_contains(&answer.err, &["larder: the page is changes.html"]);
    let page = fs::read_to_string(scene.path("changes.html")).unwrap();
    assert_contains(&page, &["What changed from out to out", "diff.json.gz"]);
    // The existing page is replaced, and printed where a format is named.
    let all = ["diff", "out", "out", "--html", "changes.html", "--format", "html"];
    assert_eq!(scene.larder(&all).ends_with(0).out, page);
    let answer = scene.larder(&["diff", "out", "out", "--html", "-"]);
    answer.ends_with(2).complains(&["--html -: a page is written to a file; name one, or print"]);
    assert!(!scene.path("-").exists());
    let is_other = "exists, and is no page of `larder diff`; name another file";
    for other in ["out/run.json", "out/report.html", "out"] {
        let before = fs::read(scene.path(other)).ok();
        let answer = scene.larder(&["diff", "out", "out", "--html", other]);
        answer.ends_with(2).complains(&[is_other]);
        assert_eq!(fs::read(scene.path(other)).ok(), before, "{other}");
    }
}
