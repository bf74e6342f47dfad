//! What `larder trace info` tells of a trace, held against a count and against the models of a comparison.

use std::fmt::Write;
use std::fs;

use larder_report::{CurvePolicy, MeasuredIn, TraceInfo};
use larder_testkit::{Random, is_nightly};

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_trace_is_told_as_a_table_and_as_files", told),
    (NOTHING, "its_charts_are_left_as_files_and_other_files_stay", drawn),
    (NOTHING, "its_hit_ratios_are_those_of_the_exact_models_of_a_comparison", as_the_models),
    (NOTHING, "it_names_absent_keys_hot_keys_and_expired_entries", acted_on),
    (NOTHING, "a_converted_trace_tells_the_same", converted),
    (NOTHING, "times_that_go_back_are_told_and_are_not_replayed_as_they_are", backward),
    (NOTHING, "values_beyond_all_caches_are_told_and_converted_but_not_replayed", large),
    (NOTHING, "few_keys_with_millions_of_operations_are_told_exactly", few_keys),
    (NOTHING, "what_cannot_be_told_is_refused_in_one_line", refused),
    (NOTHING, "no_trace_and_no_file_of_other_origin_is_overwritten", keeps_files),
    (NOTHING, "results_of_another_trace_are_replaced_where_that_is_asked_for", replaces),
];

/// Reads of 300 keys with sizes, of which small numbers are frequent.
fn reads(n_reads: usize) -> String {
    let mut random = Random::new(11);
    let mut text = "op_time,key,key_size,op,size\n".to_owned();
    for at in 0..n_reads {
        let draw = random.next_u64();
        let key = (draw % 300).min(draw >> 32 & 0x1ff);
        writeln!(text, "{},{key:05},5,get,{}", at / 10, 100 + key % 7 * 50).unwrap();
    }
    text
}

fn info(scene: &Scene, arguments: &[&str]) -> TraceInfo {
    let all = [&["trace", "info", "--format", "json"], arguments].concat();
    let answer = scene.larder(&all);
    answer.ends_with(0);
    serde_json::from_str(&answer.out).unwrap()
}

fn told() {
    let scene = Scene::new();
    scene.write("web.csv", reads(4000));
    let answer = scene.larder(&["trace", "info", "web.csv"]);
    answer.ends_with(0);
    let texts = ["4000", "every operation: all figures are exact", "W-TinyLFU", "In short"];
    assert_contains(&answer.out, &texts);
    let unit = "times are seconds, because the first, 0, is too small for a date";
    assert_contains(&answer.out, &["taken", unit]);
    let answer = scene.larder(&["trace", "info", "web.csv", "-o", "told", "--html", "web.html"]);
    answer.ends_with(0);
    assert_eq!(answer.out, "");
    let page = fs::read_to_string(scene.path("told/trace-info.html")).unwrap();
    assert_eq!(page, fs::read_to_string(scene.path("web.html")).unwrap());
    assert_contains(&page, &["What web.csv asks of a cache"]);
    let json = fs::read_to_string(scene.path("told/trace-info.json")).unwrap();
    let info: TraceInfo = serde_json::from_str(&json).unwrap();
    assert_eq!((info.rows, info.reads, info.lasts_s), (4000, 4000, Some(399.0)));
    let markdown = fs::read_to_string(scene.path("told/trace-info.md")).unwrap();
    assert_contains(&markdown, &["| LRU |"]);
    let few = self::info(&scene, &["web.csv", "--requests", "100"]);
    assert_eq!((few.rows, few.trace.is_beginning), (100, true));
}

fn drawn() {
    let scene = Scene::new();
    scene.write("web.csv", reads(1000));
    fs::create_dir(scene.path("svg")).unwrap();
    // A chart of an earlier trace goes, and what is no chart of a trace stays.
    for name in ["ttls.svg", "logo.svg", "rate-get.svg"] {
        scene.write(&format!("svg/{name}"), "");
    }
    let exports = ["--export-svg", "svg", "--export-png", "png"];
    let answer = scene.larder(&[&["trace", "info", "web.csv"], &exports[..]].concat());
    assert_eq!(answer.ends_with(0).out, "");
    let files = |folder: &str| {
        let mut files = scene.files(folder);
        files.sort();
        files
    };
    let (svg, png) = (files("svg"), files("png"));
    let others = ["logo.svg", "rate-get.svg"];
    let drawn: Vec<&str> =
        svg.iter().map(String::as_str).filter(|it| !others.contains(it)).collect();
    assert_eq!(svg.len(), drawn.len() + 2, "{svg:?}");
    assert!(drawn.contains(&"cache_hits-bytes.svg") && !drawn.contains(&"ttls.svg"), "{svg:?}");
    let as_png: Vec<String> = drawn.iter().map(|name| name.replace(".svg", ".png")).collect();
    assert_eq!(png, as_png);
    for name in drawn {
        assert!(fs::read(scene.path("svg").join(name)).unwrap().starts_with(b"<svg"), "{name}");
    }
}

fn as_the_models() {
    let scene = Scene::new();
    scene.write("web.csv", reads(3000));
    let work = ["--keys-from", "trace:web.csv", "--on-miss", "fill", "-r", "1", "-q"];
    let capacities = ["--capacity", "3k,20k,60k", "-o", "out"];
    // The models are asked for, and no target needs to be able to be so small.
    scene.larder(&[&["compare", "moka:"][..], &work, &capacities].concat());
    let run = scene.run_json();
    let [curve] = &run.hit_curves[..] else { panic!("{:?}", run.hit_curves) };
    let info = info(&scene, &["web.csv", "--capacity", "3k,20k,60k"]);
    let told = info.curve(MeasuredIn::Bytes).unwrap();
    assert_eq!((told.capacities.len(), curve.capacities.len()), (3, 3));
    for (told, model) in told.capacities.iter().zip(&curve.capacities) {
        assert_eq!(told.capacity, model.capacity_bytes);
        let of = |policy| told.of(policy).unwrap();
        assert!((of(CurvePolicy::Lru).hit_ratio - model.lru).abs() < 1e-9, "{told:?} {model:?}");
        assert!(
            (of(CurvePolicy::Optimal).hit_ratio - model.optimal).abs() < 1e-9,
            "{told:?} {model:?}"
        );
        assert_eq!(of(CurvePolicy::Lru).half_width, None);
    }
}

fn acted_on() {
    let scene = Scene::new();
    let mut text = "op_time,key,op,size,ttl,result\n".to_owned();
    // Of four reads, one asks for a key that nobody stores, and one comes after the TTL.
    for at in (0..4000).step_by(10) {
        let front = |at: u32, rest: &str| format!("{at},shop:front,{rest}\n");
        text += &front(at, "get,,,miss");
        text += &front(at, "set,100,5,stored");
        text += &front(at + 1, "get,100,,hit");
        text += &front(at + 2, "get,100,,hit");
        writeln!(text, "{},absent:{},get,,,miss", at + 3, at % 70).unwrap();
    }
    scene.write("shop.csv", text);
    let told = info(&scene, &["shop.csv"]);
    let limit = told.limit.unwrap();
    let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
    assert!(near(limit.hit_ratio.value, 0.5) && near(limit.absent.unwrap(), 0.25), "{limit:?}");
    assert!(near(limit.first, 1.0 / 1600.0), "{limit:?}");
    assert!(near(limit.expired.unwrap(), 399.0 / 1600.0), "{limit:?}");
    assert!(near(told.recorded_hit_ratio.unwrap(), 0.5));
    let [first, ..] = &told.hottest.as_ref().unwrap().keys[..] else { panic!() };
    assert_eq!((first.name(), near(first.reads, 0.75)), ("shop:front", true));
    let answer = scene.larder(&["trace", "info", "shop.csv"]);
    answer.ends_with(0);
    let sentences = [
        "No cache hits more than 50 % of the reads",
        "Cache the absence",
        "24.9 % of the reads miss in every cache because the TTL",
        "The most read key, shop:front, has 75 % of the reads",
    ];
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_contains(&words(&answer.out), &sentences);
}

fn converted() {
    let scene = Scene::new();
    scene.write("web.csv", reads(2000));
    scene.larder(&["trace", "convert", "web.csv", "web.parquet"]).ends_with(0);
    let (csv, parquet) = (info(&scene, &["web.csv"]), info(&scene, &["web.parquet"]));
    assert_eq!(csv.curves, parquet.curves);
    assert_eq!(
        (csv.keys, csv.bytes, csv.popularity),
        (parquet.keys, parquet.bytes, parquet.popularity)
    );
}

fn backward() {
    let scene = Scene::new();
    let write = |name: &str, times: &mut dyn Iterator<Item = u32>| {
        let row = |at: u32| format!("{}.{:02},k{}\n", at / 100, at % 100, at % 7);
        scene.write(name, format!("time,key\n{}", times.map(row).collect::<Vec<_>>().concat()));
    };
    write("asc.csv", &mut (0..600));
    write("desc.csv", &mut (0..600).rev());
    write("swapped.csv", &mut (300..600).chain(0..300));
    write("step.csv", &mut (0..40).chain([38, 39]).chain(40..50));
    for (name, steps) in [("asc.csv", None), ("desc.csv", Some(599)), ("swapped.csv", Some(1))] {
        let info = info(&scene, &[name]);
        assert_eq!(info.lasts_s, Some(5.99), "{name}");
        let back = info.times_back;
        assert_eq!(back.map(|back| back.steps), steps, "{name}");
        assert_eq!(back.map(|back| back.most_s), steps.map(|_| 5.99), "{name}");
    }
    let told = scene.larder(&["trace", "info", "swapped.csv"]);
    let texts = ["times go back", "once, by 5.99 s at most, to before the first: no course over "];
    assert_contains(&told.ends_with(0).out, &texts);

    let replay = ["compare", "moka:", "-q", "-r", "1", "--replay", "10x", "-o", "out"];
    for (name, why) in [("desc.csv", "go back 599 times, "), ("swapped.csv", "go back once, ")] {
        let from = format!("trace:{name}");
        let answer = scene.larder(&[&replay[..], &["--keys-from", &from]].concat());
        let fix = "put the trace in the order of its times, or take --replay asap";
        answer.ends_with(2).complains(&[why, " of 600 operations would come at once; ", fix]);
    }
    scene.larder(&[&replay[..], &["--keys-from", "trace:step.csv"]].concat()).ends_with(0);
    let note = "the times of the trace go back once, by 10.0 ms at most; what is before an earlier operation comes at once with it: 1 operation";
    assert_contains(&scene.run_json().notes.join("\n"), &[note]);
}

fn large() {
    let scene = Scene::new();
    scene.write("cdn.csv", "key,op,size\na,get,10\nb,get,3000000000\na,get,10\nb,get,3000000000\n");
    let most = |name: &str| {
        let info = info(&scene, &[name]);
        info.bytes.unwrap().value
    };
    let expected = most("cdn.csv");
    assert!(expected > 3e9, "{expected}");
    for to in ["cdn.parquet", "again.csv", "cdn.oracleGeneral"] {
        scene.larder(&["trace", "convert", "cdn.csv", to]).ends_with(0);
        // Keys are numbers without a length where they are hashes.
        assert!((most(to) - expected).abs() <= 2.0, "{to}");
    }
    let replay = ["compare", "moka:", "-q", "-r", "1", "--keys-from", "trace:cdn.csv"];
    let refusal = "trace cdn.csv: a value of 3000000000 B > 1 GiB, the limit of values that are stored; --data-size ";
    scene.larder(&replay).ends_with(2).complains(&[refusal]);
    scene.larder(&[&replay[..], &["-d", "100"]].concat()).ends_with(0);
}

fn few_keys() {
    let scene = Scene::new();
    let times: u32 = if is_nightly() { 16_000_000 } else { 300_000 };
    // Each key is used in one row for this many operations, with times and without.
    for (name, header, time) in [("few.csv", "", ""), ("timed.csv", "time,", "7,")] {
        let row = |key: &str, size: u32| format!("{time}{key},get,{times},{size}\n");
        let rows = [row("a", 10), row("b", 20), row("a", 10), row("c", 30), row("b", 20)].concat();
        scene.write(name, format!("{header}key,op,op_count,size\n{rows}"));
        let told =
            info(&scene, &[name, "--keep", "10k", "--sample", "1%", "--capacity", "64,2-entries"]);
        assert!(told.is_exact(), "{:?}", told.sampling);
        let reads = 5 * u64::from(times);
        assert_eq!((told.rows, told.reads, told.sampling.uses), (reads, reads, reads));
        assert_eq!((told.keys.value, told.bytes.unwrap().value), (3.0, 63.0));
        let missing = |misses: f64| misses / (5.0 * f64::from(times));
        let misses = |told: f64, expected: f64| {
            assert!((1.0 - told - missing(expected)).abs() < 1e-12, "{told}: {expected}");
        };
        misses(told.limit.as_ref().unwrap().hit_ratio.value, 3.0);
        let lru =
            |measure| told.curve(measure).unwrap().capacities[0].of(CurvePolicy::Lru).unwrap();
        misses(lru(MeasuredIn::Bytes).hit_ratio, 3.0);
        // The last use of b comes after those of two others.
        misses(lru(MeasuredIn::Entries).hit_ratio, 4.0);
        let top = told.popularity.unwrap().ranks;
        assert_eq!(top, [(1, 0.4), (2, 0.4)], "{name}");
    }
}

fn keeps_files() {
    let scene = Scene::new();
    let content = reads(100);
    for name in ["web-1.csv", "web-2.csv"] {
        scene.write(name, &content);
    }
    fs::hard_link(scene.path("web-1.csv"), scene.path("same")).unwrap();
    std::os::unix::fs::symlink("web-2.csv", scene.path("link")).unwrap();
    scene.write("notes.csv", "mine");
    fs::create_dir(scene.path("site")).unwrap();
    scene.write("site/trace-info.md", "mine");
    let is_trace = "is the trace that is read; name another file";
    let is_other = "exists, and is no page of `larder trace info`; name another file";
    for (place, code, told) in [
        (["--html", "web-1.csv"], 2, is_trace),
        (["--html", "same"], 2, is_trace),
        (["--html", "link"], 2, is_trace),
        (["--html", "-"], 2, "--html -: a page is written to a file; name one, or print"),
        (["--html", "notes.csv"], 2, is_other),
        (["--html", "site"], 2, is_other),
        (["-o", "site"], 2, "`trace-info.md` in it is not a result of larder's"),
        (["-o", "notes.csv"], 1, "notes.csv: it is a file; name a folder"),
        (["--export-svg", "notes.csv"], 1, "notes.csv: it is a file; name a folder"),
    ] {
        let all = [&["trace", "info", "web-*.csv", "--export-png", "charts"], &place[..]].concat();
        scene.larder(&all).ends_with(code).complains(&[told]);
        assert!(!scene.path("charts").exists(), "{place:?}");
    }
    for (to, told) in [("web-1.csv", is_trace), ("same?format=csv", is_trace)] {
        let convert = ["trace", "convert", "web-*.csv", to, "--overwrite"];
        scene.larder(&convert).ends_with(2).complains(&[told]);
    }
    for name in ["web-1.csv", "web-2.csv", "same", "link"] {
        assert_eq!(fs::read_to_string(scene.path(name)).unwrap(), content, "{name}");
    }
    for name in ["notes.csv", "site/trace-info.md"] {
        assert_eq!(fs::read_to_string(scene.path(name)).unwrap(), "mine", "{name}");
    }
    // The existing page is replaced, and an unread trace leaves no folder.
    for _ in 0..2 {
        scene.larder(&["trace", "info", "web-1.csv", "--html", "web.html"]).ends_with(0);
    }
    scene.larder(&["trace", "info", "missing.csv", "-o", "told"]).ends_with(2);
    assert!(!scene.path("told").exists());
}

fn replaces() {
    let scene = Scene::new();
    scene.write("web.csv", reads(100));
    let info =
        |more: &[&str]| scene.larder(&[&["trace", "info", "web.csv", "-o", "told"], more].concat());
    assert!(!info(&[]).ends_with(0).err.contains("replaces"));
    assert_contains(&info(&[]).ends_with(0).err, &["told: replaces the result of "]);
    scene.write("web.csv", reads(200));
    let refusal = ["told: holds what another trace tells, web.csv; add --overwrite"];
    info(&[]).ends_with(2).complains(&refusal);
    info(&["--overwrite"]).ends_with(0);
    let json = fs::read_to_string(scene.path("told/trace-info.json")).unwrap();
    let info: TraceInfo = serde_json::from_str(&json).unwrap();
    assert_eq!(info.rows, 200);
}

fn refused() {
    let scene = Scene::new();
    scene.write("empty.csv", "key\n");
    scene.write("web.csv", reads(10));
    let refusals: &[(&[&str], i32, &str)] = &[
        (&["nowhere.csv"], 2, "nowhere.csv"),
        (&["empty.csv"], 2, "has no operation"),
        (&["web.csv", "--format", "csv"], 2, "table, markdown, html, json"),
        (&["web.csv", "--capacity", "0"], 2, "write 64m, 10% or 20k-entries"),
        (&["web.csv", "--sample", "2"], 2, "write 1%"),
        (&["web.csv", "--keep", "10"], 2, "--keep 10 is not between"),
        (&["web.csv", "--requests", "0"], 2, "from 1 to"),
        (&["web.csv", "--threads", "0"], 2, "1 or more"),
    ];
    for (arguments, exit, text) in refusals {
        let answer = scene.larder(&[&["trace", "info"], *arguments].concat());
        answer.ends_with(*exit).complains(&[text]);
    }
}
