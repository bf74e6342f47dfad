//! What `larder trace info` tells of a trace, held against a count and against the models of a comparison.

use std::fmt::Write;
use std::fs;

use larder_report::{CurvePolicy, MeasuredIn, TraceInfo};
use larder_testkit::Random;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_trace_is_told_as_a_table_and_as_files", told),
    (NOTHING, "its_charts_are_left_as_files_and_other_files_stay", drawn),
    (NOTHING, "its_hit_ratios_are_those_of_the_exact_models_of_a_comparison", as_the_models),
    (NOTHING, "a_converted_trace_tells_the_same", converted),
    (NOTHING, "what_cannot_be_told_is_refused_in_one_line", refused),
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

fn refused() {
    let scene = Scene::new();
    scene.write("empty.csv", "key\n");
    scene.write("web.csv", reads(10));
    let refusals: &[(&[&str], i32, &str)] = &[
        (&["nowhere.csv"], 1, "nowhere.csv"),
        (&["empty.csv"], 1, "has no operation"),
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
