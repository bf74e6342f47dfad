//! `larder advise`: a trace in, an answer out.

use std::fmt::Write as _;

use serde_json::Value;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "an_advice_names_a_cache_and_a_size_and_leaves_its_figures", names_one),
    (NOTHING, "an_advice_says_which_wish_nothing_fulfils", fulfils_none),
    (NOTHING, "an_advice_without_a_trace_or_with_a_wrong_wish_is_refused", refused),
    (NOTHING, "an_advice_on_a_trace_that_reads_no_key_again_is_that_no_cache_helps", helps_nowhere),
    (
        NOTHING,
        "an_advice_replaces_one_on_the_same_trace_and_asks_before_it_replaces_another",
        replaces,
    ),
    (NOTHING, "an_advice_with_too_little_memory_names_its_own_flags", too_little),
    (NOTHING, "each_candidate_is_tried_at_the_smallest_size_that_it_takes", at_their_floors),
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
        &["\n\n1. Take ", "of the reads hit", "\n2. ", "\n3. ", "\n4. ", "\n5. Not tried"],
    );
    assert_eq!(scene.files("advice").iter().filter(|name| name.starts_with("advice.")).count(), 2);
    assert!(scene.path("advice/report.html").is_file() && scene.path("advice/run.json").is_file());
    assert_eq!(std::fs::read_to_string(scene.path("advice/advice.md")).unwrap(), text);
    assert!(text.starts_with("Take ") && text.lines().next().unwrap().contains(" hits"), "{text}");
    let page = std::fs::read_to_string(scene.path("advice/report.html")).unwrap();
    assert_contains(&page, &["<h1>Which cache for web?</h1>", text.lines().next().unwrap()]);
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
    for (wish, nothing, like) in [
        ("--memory", "0", "512m"),
        ("--p99", "0ms", "1ms"),
        ("--min-hit-ratio", "0%", "70%"),
        ("--cost-of-miss", "0s", "8ms"),
    ] {
        let fix = format!("write more than that, such as {like}, or leave it out");
        refused(&["web.csv", wish, nothing], &[&format!("{wish} 0: "), &fix]);
    }
    refused(&["web.csv", "--p99", "soon"], &["soon"]);
    refused(&["web.csv", "--cost-of-miss", "8"], &["`8` has no unit; write 8ms or 8s"]);
    scene.write("afile", "mine");
    let file = scene.larder(&["advise", "web.csv", "moka:", "-o", "afile"]);
    file.ends_with(1).complains(&["writing afile: it is a file; name a folder"]);
    let missing = scene.larder(&["advise", "none.csv", "moka:", "-o", "advice"]);
    missing.complains(&["none.csv"]);
    assert!(!scene.path("advice").exists());
}

fn helps_nowhere() {
    let scene = Scene::new();
    let mut text = String::from("key,op,size\n");
    for key in 0..500 {
        writeln!(text, "key{key},get,1000").unwrap();
    }
    scene.write("once.csv", text);
    // An earlier advice, on another trace of this name.
    std::fs::copy(scene.path("once.csv"), scene.path("kept.csv")).unwrap();
    scene.write("once.csv", "key,op,size\na,get,100\na,get,100\n");
    let advise = ["advise", "once.csv", "moka:", "-r", "2", "-q", "-o", "advice"];
    scene.larder(&advise).ends_with(0);
    assert!(scene.path("advice/first-look").is_dir());
    std::fs::rename(scene.path("kept.csv"), scene.path("once.csv")).unwrap();
    let expected = "No cache helps: no read of the trace can hit\n\n1. No cache helps: no read of the trace can hit. Of the \
                    reads, 100 % are the first of their keys.\n";
    scene.larder(&advise).ends_with(2).complains(&["`larder advise once.csv", "--overwrite"]);
    for more in [&["--overwrite"][..], &[]] {
        let answer = scene.larder(&[&advise[..], more].concat());
        assert_eq!(answer.ends_with(1).out, expected);
        assert_contains(&answer.err, &["nothing was measured", "`larder trace info once.csv`"]);
        // Nothing was measured, so that there is no page of figures.
        let mut files = scene.files("advice");
        files.sort_unstable();
        assert_eq!(files, ["advice.json", "advice.md"]);
    }
    let json = scene.larder(&[&advise[..], &["--format", "json"]].concat()).ends_with(1).json();
    assert_eq!(json["choice"], Value::Null);
    assert_eq!(json["answer"], "No cache helps: no read of the trace can hit");
    // It keeps its place as every result does.
    scene.write("other.csv", "key,op\na,get\na,get\n");
    let other = ["advise", "other.csv", "moka:", "-r", "1", "-q", "-o", "advice"];
    scene.larder(&other).ends_with(2).complains(&["`larder advise once.csv", "--overwrite"]);
    scene.larder(&[&other[..], &["--overwrite"]].concat()).ends_with(0);
    assert!(scene.path("advice/report.html").is_file());
}

fn replaces() {
    let scene = with_trace();
    std::fs::copy(scene.path("web.csv"), scene.path("other.csv")).unwrap();
    let advise = |trace: &str, more: &[&str]| {
        let arguments = ["advise", trace, "moka:", "-r", "1", "--requests", "500", "-o", "advice"];
        scene.larder(&[&arguments[..], more].concat())
    };
    advise("web.csv", &["-q"]).ends_with(0);
    let again = advise("web.csv", &["--min-hit-ratio", "1%"]);
    assert_contains(&again.ends_with(0).err, &["advice: replaces the result of "]);
    let quiet = advise("web.csv", &["-q"]);
    assert_contains(&quiet.ends_with(0).err, &["report.html (replaced the result of "]);
    let kept = std::fs::read(scene.path("advice/run.json")).unwrap();
    let other = advise("other.csv", &[]);
    other
        .ends_with(2)
        .complains(&["advice: holds the results of `larder advise web.csv", "--overwrite"]);
    assert_eq!(std::fs::read(scene.path("advice/run.json")).unwrap(), kept);
    advise("other.csv", &["-q", "--overwrite"]).ends_with(0);
    // Another trace under the same name is another trace.
    std::fs::write(scene.path("other.csv"), "key,op\na,get\na,get\n").unwrap();
    advise("other.csv", &[]).ends_with(2).complains(&["advise other.csv", "--overwrite"]);
    // A comparison keeps an advice in the same way.
    let compare = ["compare", "moka:", "-k", "30", "-r", "1", "-q", "-o", "advice"];
    scene.larder(&compare).ends_with(2).complains(&["advise other.csv", "--overwrite"]);
    scene.larder(&[&compare[..], &["--overwrite"]].concat()).ends_with(0);
}

fn too_little() {
    let scene = with_trace();
    let arguments = ["advise", "web.csv", "memory:", "-r", "1", "-q", "-o", "advice"];
    let answer = scene.larder(&[&arguments[..], &["--memory", "10k"]].concat());
    let text = &answer.ends_with(1).out;
    assert_contains(text, &["memory: (cannot be so small: ", "; allow more --memory)"]);
    assert!(!text.contains("--capacity") && !text.contains("--keys"), "{text}");
}

fn at_their_floors() {
    // All keys and values are 37 KB. Eight times that is room for all overheads, but some candidates take no such limit.
    const COMMON: u64 = 300 << 10;
    let scene = Scene::new();
    let mut text = String::from("key,op,size\n");
    for at in 0..3000 {
        writeln!(text, "key{},get,1000", at * at % 37).unwrap();
    }
    scene.write("few.csv", text);
    let targets = ["moka:", "quick_cache:", "memory:"];
    let arguments = ["-r", "1", "-q", "-o", "advice", "--format", "json"];
    let answer = scene.larder(&[&["advise", "few.csv"], &targets[..], &arguments].concat());
    let advice = answer.ends_with(0).json();
    for target in targets {
        let own = advice["candidates"].as_array().unwrap().iter();
        let sizes: Vec<u64> = own
            .filter(|candidate| candidate["target"] == target)
            .map(|candidate| candidate["capacity_bytes"].as_u64().unwrap())
            .collect();
        let larger = sizes.iter().filter(|size| **size > COMMON).count();
        assert!(!sizes.is_empty(), "{target}: {advice:#}");
        assert!(larger <= 1 && (larger == 0 || sizes.len() == 1), "{target}: {sizes:?}");
    }
    assert!(advice["choice"]["capacity_bytes"].as_u64().unwrap() < 1 << 20, "{advice:#}");
}
