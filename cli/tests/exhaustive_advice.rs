//! Whether `larder advise` answers as a run of all candidates at all sizes would, and in which part of its time.
//!
//! The exhaustive run is a comparison at 29 sizes, four for each halving from all keys and values down to a hundredth of
//! them. The rule of the advice then chooses among its figures. An advice is right where its own choice, by the figures of
//! the exhaustive run, is as good as that: alike in time with the cost of misses, or else with as many hits in at most
//! twice the room. The sizes of an advice are a doubling apart, so it promises no more.
//!
//! `LARDER_TRACE=web.parquet` names the trace, and `LARDER_FOLDER` the folder of the results. An exhaustive run that is
//! there already is not made again. `LARDER_WORK='-d 8k --requests 30000'` adds options to both.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "so that the figures can be read")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use larder_analysis::advice::{Advice, Candidate, LIKE_TIMES, Model, Wishes, advise};
use larder_report::{LIKE_HITS, Run};

/// The candidates of both.
const TARGETS: [&str; 5] = ["memory:", "moka:", "quick_cache:", "memcached:", "redis:"];

/// The wishes to judge, as typed.
const WISHES: [&[&str]; 4] =
    [&[], &["--cost-of-miss", "8ms"], &["--cost-of-miss", "100us"], &["--min-hit-ratio", "45%"]];

/// Times that differ by this much are alike to two runs of a machine that others use, too.
const LIKE_TIMES_OF_TWO_RUNS: f64 = 2.0 * LIKE_TIMES;

/// The same for hit ratios: some caches evict at random.
const LIKE_HITS_OF_TWO_RUNS: f64 = 1.5 * LIKE_HITS;

#[test]
#[ignore = "takes a quarter of an hour for each trace: just advice TRACE FOLDER"]
fn an_advice_is_as_good_as_the_choice_among_all_sizes() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let (trace, folder) = (var("LARDER_TRACE"), PathBuf::from(var("LARDER_FOLDER")));
    assert!(!trace.is_empty() && folder.is_absolute(), "LARDER_TRACE and LARDER_FOLDER are needed");
    let work = var("LARDER_WORK");
    let work: Vec<&str> = work.split_whitespace().collect();
    let whole = exhaustive(&trace, &work, &folder.join("exhaustive"));
    println!("exhaustive: {:.0} s", whole.duration_s);
    let wrong: Vec<String> = WISHES
        .iter()
        .filter_map(|typed| judged(&trace, &work, typed, &folder.join("advice"), &whole))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All candidates at all sizes.
fn exhaustive(trace: &str, work: &[&str], folder: &Path) -> Run {
    let path = folder.join("run.json");
    if !path.exists() {
        let share = |step: u32| format!("{:.4}%", 100.0 * (-f64::from(step) / 4.0).exp2());
        let sizes: Vec<String> = (0..=28).map(share).collect();
        let (keys, sizes) = (format!("trace:{trace}"), sizes.join(","));
        let fixed = ["--on-miss", "fill", "-r", "6", "-y", "-q", "--keys-from", &keys];
        let output = ["--capacity", &sizes, "-o", folder.to_str().unwrap()];
        larder(&[&["compare"], &TARGETS[..], &fixed, work, &output].concat());
    }
    Run::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Prints both choices for some wishes; the reason where that of the advice is wrong.
fn judged(
    trace: &str,
    work: &[&str],
    typed: &[&str],
    folder: &Path,
    whole: &Run,
) -> Option<String> {
    let began = Instant::now();
    let output = ["-q", "-o", folder.to_str().unwrap()];
    larder(&[&["advise", trace], &TARGETS[..], work, typed, &output].concat());
    let took = began.elapsed().as_secs_f64();
    let advice = std::fs::read_to_string(folder.join("advice.json")).unwrap();
    let advice: Advice = serde_json::from_str(&advice).unwrap();
    let best = advise(whole, advice.wishes, &Model::default());
    println!(
        "{typed:?}: {took:.0} s, {:.1} % of the exhaustive run, {} candidates of {}",
        100.0 * took / whole.duration_s,
        advice.candidates.len(),
        best.candidates.len()
    );
    let (Some(chosen), Some(best_choice)) = (&advice.choice, &best.choice) else {
        println!("  advice {:?}\n  best {:?}", advice.sentences[0], best.sentences[0]);
        return (advice.choice.is_some() != best.choice.is_some())
            .then(|| format!("{typed:?}: one of both has no choice"));
    };
    let same = nearest(&best.candidates, chosen);
    for (name, candidate) in [("advice", chosen), ("there ", same), ("best  ", best_choice)] {
        println!("  {name} {}", shown(candidate));
    }
    let is_right = is_as_good(same, best_choice, &advice.wishes);
    (!is_right)
        .then(|| format!("{typed:?}: {} is not as good as {}", shown(same), shown(best_choice)))
}

/// The same target in the exhaustive run, at the size that is nearest.
fn nearest<'a>(all: &'a [Candidate], chosen: &'a Candidate) -> &'a Candidate {
    let distance =
        |other: &Candidate| ratio(other.capacity_bytes, chosen.capacity_bytes).ln().abs();
    let own = all.iter().filter(|other| other.target == chosen.target);
    own.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(chosen)
}

/// Whether a candidate is as good as the best one.
fn is_as_good(candidate: &Candidate, best: &Candidate, wishes: &Wishes) -> bool {
    if let (Some(time), Some(least)) = (candidate.with_misses_ns, best.with_misses_ns) {
        return time <= least * (1.0 + LIKE_TIMES_OF_TWO_RUNS);
    }
    let hits = wishes.min_hit_ratio.unwrap_or(best.hit_ratio);
    let room = ratio(candidate.capacity_bytes, best.capacity_bytes);
    candidate.hit_ratio + LIKE_HITS_OF_TWO_RUNS >= hits && room <= 2.05
}

fn shown(candidate: &Candidate) -> String {
    let with_misses = candidate
        .with_misses_ns
        .map_or_else(String::new, |ns| format!(", {:.2} µs with its misses", ns / 1e3));
    format!(
        "{} {:.2} MiB, {:.2} % of hits, {:.2} µs{with_misses}",
        candidate.name,
        ratio(candidate.capacity_bytes, 1 << 20),
        100.0 * candidate.hit_ratio,
        candidate.request_ns / 1e3
    )
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other as f64
}

/// Runs the command; a candidate without a figure changes only its exit code.
fn larder(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    let command = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}: {status}");
}
