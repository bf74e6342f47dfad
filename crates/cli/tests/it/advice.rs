//! `larder advise`: a trace in, an answer out.

use std::fmt::Write as _;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "an_advice_names_a_cache_and_a_size_and_leaves_its_figures", names_one),
    (NOTHING, "an_advice_says_which_wish_nothing_fulfils", fulfils_none),
    (NOTHING, "an_advice_without_a_trace_or_with_a_wrong_wish_is_refused", refused),
];

/// A scene with a trace of 6,000 reads: a few popular keys of 1,200, each value of 1 KiB.
fn with_trace() -> Scene {
    let scene = Scene::new();
    let mut text = String::from("key,op,size\n");
    let mut state = 1_u32;
    for _ in 0..6000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let draw = f64::from(state >> 8) / f64::from(1 << 24);
        // A third power makes the first keys popular.
        writeln!(text, "key{},get,1024", (1200.0 * draw.powi(3)).floor()).unwrap();
    }
    scene.write("web.csv", text);
    scene
}

fn names_one() {
    let scene = with_trace();
    let arguments = ["advise", "web.csv", "moka:", "quick_cache:", "-r", "2", "-q", "-o", "advice"];
    let answer = scene.larder(&arguments);
    let text = answer.ends_with(0).out.clone();
    assert_contains(
        &text,
        &["1. Take ", "of the reads hit", "\n2. ", "\n3. ", "\n4. ", "\n5. Not tried"],
    );
    assert_eq!(scene.files("advice").iter().filter(|name| name.starts_with("advice.")).count(), 2);
    assert!(scene.path("advice/report.html").is_file() && scene.path("advice/run.json").is_file());
    assert_eq!(std::fs::read_to_string(scene.path("advice/advice.md")).unwrap(), text);
    // More hits take more room; the folder of an earlier advice is replaced.
    let advised = |wishes: &[&str]| {
        let all = [&arguments[..], wishes, &["--format", "json"]].concat();
        let advice = scene.larder(&all).ends_with(0).json();
        assert_eq!(advice["sentences"].as_array().unwrap().len(), 5);
        let chosen = advice["choice"].clone();
        assert!(advice["candidates"].as_array().unwrap().contains(&chosen), "{advice:#}");
        chosen
    };
    let capacity = |hits: &str| advised(&["--min-hit-ratio", hits])["capacity_bytes"].as_u64();
    let (few, many) = (capacity("40%"), capacity("75%"));
    assert!(few < many, "{few:?} < {many:?}");
    let chosen = advised(&["--cost-of-miss", "8ms"]);
    assert!(chosen["with_misses_ns"].as_f64() > chosen["request_ns"].as_f64(), "{chosen:#}");
    scene.assert_nothing_left();
}

fn fulfils_none() {
    let scene = with_trace();
    let arguments = ["advise", "web.csv", "moka:", "-r", "1", "-q", "-o", "advice"];
    let wishes = ["--min-hit-ratio", "99%", "--memory", "300k"];
    let answer = scene.larder(&[&arguments[..], &wishes].concat());
    let beginning =
        "1. No measured candidate has at most 300 KiB and 99 % of hits. The nearest is moka:";
    assert_contains(&answer.ends_with(1).out, &[beginning]);
}

fn refused() {
    let scene = with_trace();
    let refused = |arguments: &[&str], told: &[&str]| {
        let answer = scene.larder(&[&["advise"], arguments].concat());
        answer.ends_with(2).complains(told);
    };
    refused(&["web.csv", "--min-hit-ratio", "0.9"], &["`0.9` is not 0% to 100%; write 95%"]);
    refused(&["web.csv", "nosuch:", "-o", "advice"], &["unknown engine `nosuch:`"]);
    refused(&["web.csv", "--p99", "soon"], &["soon"]);
    let missing = scene.larder(&["advise", "none.csv", "moka:", "-o", "advice"]);
    missing.complains(&["none.csv"]);
    assert!(!scene.path("advice").exists());
}
