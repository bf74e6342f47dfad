//! `larder report`: it renders, prints and draws earlier results.

use std::fs;

use serde_json::Value;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_report_is_rendered_again_as_the_comparison_wrote_it", rendered_again),
    (NOTHING, "a_report_of_any_format_is_printed_and_leaves_nothing", printed),
    (NOTHING, "charts_are_drawn_for_one_run_and_side_by_side_for_several", drawn),
    (NOTHING, "a_comparison_draws_its_charts_where_it_is_told", drawn_at_once),
    (NOTHING, "charts_of_an_earlier_run_go_and_other_files_stay", drawn_over),
    (NOTHING, "a_comparison_that_cannot_draw_leaves_no_folder", not_drawn),
    (NOTHING, "the_run_of_an_earlier_version_is_rendered", earlier),
    (NOTHING, "a_folder_without_a_result_is_refused_in_one_line", refused),
];

/// A run of a version without distributions and timelines.
const EARLIER: &str = include_str!("../../../lab/report/tests/fixture/run.json");

/// A scene with the results of a small comparison in `out`.
fn compared(arguments: &[&str]) -> Scene {
    let scene = Scene::new();
    let small = ["compare", "moka:", "file:", "-q", "-k", "30", "-r", "2", "-o", "out"];
    scene.larder(&[&small, arguments].concat()).ends_with(0);
    scene
}

fn rendered_again() {
    let scene = compared(&[]);
    let reports = ["report.md", "report.html"].map(|name| scene.path("out").join(name));
    let written = reports.each_ref().map(|path| fs::read_to_string(path).unwrap());
    for (path, text) in reports.iter().zip(["an old report", "an old page"]) {
        fs::write(path, text).unwrap();
    }
    let before = fs::read(scene.path("out/run.json")).unwrap();
    let answer = scene.larder(&["report", "out"]);
    answer.ends_with(0);
    assert_eq!((answer.out.as_str(), answer.err.as_str()), ("", "reports: out\n"));
    assert_eq!(reports.each_ref().map(|path| fs::read_to_string(path).unwrap()), written);
    assert_eq!(fs::read(scene.path("out/run.json")).unwrap(), before);
    let mut files = scene.files("out");
    files.sort();
    assert_eq!(files, ["hdr", "report.html", "report.md", "run.json", "samples.csv", "usage.csv"]);

    // The path of the file works as well as the path of its folder.
    fs::remove_file(&reports[0]).unwrap();
    scene.larder(&["report", "out/run.json"]).ends_with(0);
    assert_eq!(fs::read_to_string(&reports[0]).unwrap(), written[0]);
}

fn printed() {
    let scene = compared(&["--format", "matrix"]);
    fs::remove_file(scene.path("out/report.md")).unwrap();
    for (format, part) in [
        ("table", "What the figures say"),
        ("matrix", "moka:"),
        ("markdown", "### get"),
        ("html", "<!DOCTYPE html>"),
        ("json", "\"schema\": 1"),
        ("csv", "ops_per_s"),
    ] {
        let answer = scene.larder(&["report", "out", "--format", format]);
        answer.ends_with(0);
        assert_contains(&answer.out, &[part]);
        assert_eq!(answer.err, "", "{format}");
    }
    assert!(!scene.path("out/report.md").exists());
    let twice = scene.larder(&["report", "out", "out/run.json", "--format", "markdown"]);
    assert_eq!(twice.out.matches("### What this does not show").count(), 2);
    for format in ["html", "json", "csv"] {
        let several = scene.larder(&["report", "out", "out/run.json", "--format", format]);
        several.ends_with(2).complains(&[&format!("--format {format} takes one run, not 2")]);
        assert_eq!(several.out, "");
    }
    scene
        .larder(&["report", "out", "--format", "xml"])
        .ends_with(2)
        .complains(&["unknown format `xml`", "known: table, matrix, markdown, html, json, csv"]);
}

/// The run of an earlier version, reduced to gets of one size without latencies: a few charts.
fn few_charts() -> String {
    let mut run: Value = serde_json::from_str(EARLIER).unwrap();
    let cells = run["cells"].as_array_mut().unwrap();
    cells.retain(|cell| cell["operation"] == "get" && cell["point"]["data_size"] == 4096);
    for cell in cells {
        cell["latency_ns"] = Value::Null;
    }
    run.to_string()
}

fn drawn() {
    let scene = Scene::new();
    for folder in ["out", "other", "other/out"] {
        fs::create_dir(scene.path(folder)).unwrap();
        scene.write(&format!("{folder}/run.json"), few_charts());
    }
    let answer = scene.larder(&["report", "out", "--export-svg", "svg", "--export-png", "png"]);
    answer.ends_with(0);
    let charts = [
        "outcomes-get",
        "rate-get",
        "resources-get-CPU",
        "resources-get-disk",
        "resources-get-memory",
    ];
    assert_eq!(answer.err, "reports: out\ncharts: svg (5 files)\ncharts: png (5 files)\n");
    let drawn = |folder: &str| {
        let mut files = scene.files(folder);
        files.sort();
        files
    };
    for (extension, beginning) in [("svg", b"<svg".as_slice()), ("png", b"\x89PNG")] {
        let expected = charts.map(|id| format!("{id}.{extension}"));
        assert_eq!(drawn(extension), expected);
        for name in expected {
            assert!(
                fs::read(scene.path(extension).join(&name)).unwrap().starts_with(beginning),
                "{name}"
            );
        }
    }
    let several = ["out", "other/out", "other", "--export-svg", "all"];
    scene.larder(&[&["report"], &several[..]].concat()).ends_with(0);
    assert_eq!(drawn("all"), ["other", "out", "out-2"]);
    assert_eq!(drawn("all/out-2"), drawn("svg"));
}

fn drawn_at_once() {
    let scene = compared(&["--export-svg", "svg"]);
    assert!(scene.files("svg").contains(&"rate-get.svg".to_owned()));
}

fn drawn_over() {
    let scene = Scene::new();
    for folder in ["out", "svg"] {
        fs::create_dir(scene.path(folder)).unwrap();
    }
    scene.write("out/run.json", few_charts());
    let others = ["rate-limits.svg", "rate-get.png", "logo.svg", "rate-get.svg.txt"];
    for name in others.iter().chain(&["rate-set.svg", "latency-get-1-KiB-p50.svg"]) {
        scene.write(&format!("svg/{name}"), "");
    }
    scene.larder(&["report", "out", "--export-svg", "svg"]).ends_with(0);
    let files = scene.files("svg");
    assert!(others.iter().all(|name| files.contains(&(*name).to_owned())), "{files:?}");
    assert_eq!(files.len(), others.len() + 5, "{files:?}");
}

fn not_drawn() {
    let scene = Scene::new();
    scene.write("file", "");
    let mut before = scene.files(".");
    before.sort();
    for output in [&[][..], &["-o", "results"]] {
        let draws = ["compare", "moka:", "-q", "-k", "30", "--export-png", "file/charts"];
        let answer = scene.larder(&[&draws[..], output].concat());
        answer.ends_with(1).complains(&["writing file/charts"]);
        let mut after = scene.files(".");
        after.sort();
        assert_eq!(after, before, "{output:?}");
    }
}

fn earlier() {
    let scene = Scene::new();
    fs::create_dir(scene.path("out")).unwrap();
    scene.write("out/run.json", EARLIER);
    scene.larder(&["report", "out", "--export-svg", "svg"]).ends_with(0);
    for (report, part) in [("report.md", "perl+filecache"), ("report.html", "perl+filecache")] {
        assert_contains(&fs::read_to_string(scene.path("out").join(report)).unwrap(), &[part]);
    }
    assert!(scene.files("svg").contains(&"percentiles-get-4-KiB.svg".to_owned()));
    assert!(!scene.files("svg").iter().any(|name| name.starts_with("timeline")));
}

fn refused() {
    let scene = Scene::new();
    for folder in ["empty", "broken", "newer", "closed"] {
        fs::create_dir(scene.path(folder)).unwrap();
    }
    scene.write("broken/run.json", "{ \"schema\": 1 }");
    scene.write("newer/run.json", "{ \"schema\": 7, \"larder\": \"4.0.0\" }");
    fs::create_dir(scene.path("closed/run.json")).unwrap();
    scene.write("whole.json", EARLIER);
    let made = "name a folder that `larder compare` made";
    for (path, code, parts) in [
        ("nowhere", 2, &["nothing at nowhere", made][..]),
        ("empty", 2, &["no run.json in empty", made]),
        ("broken", 2, &["broken/run.json: not a run.json", "missing field"]),
        (
            "newer",
            1,
            &["newer/run.json", "has schema 7, written by larder 4.0.0", "take a newer build"],
        ),
        ("closed", 1, &["reading closed/run.json", "directory"]),
    ] {
        scene.larder(&["report", path]).ends_with(code).complains(parts);
        // With one wrong path among several, no report is made.
        let both = ["report", "whole.json", path, "--format", "markdown"];
        scene.larder(&both).ends_with(code).complains(parts);
    }
    scene.larder(&["report"]).ends_with(2).complains(&["<DIR>"]);
    scene.write("file", "");
    let nowhere = ["report", "whole.json", "--format", "csv", "--export-svg", "file/charts"];
    let answer = scene.larder(&nowhere);
    answer.ends_with(1);
    assert_contains(&answer.err, &["writing file/charts", "Not a directory"]);
}
