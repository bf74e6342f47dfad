//! Drawn traces with TTLs, absent keys, deletes and values of several sizes: no command tells a hit ratio above the limit that
//! `larder trace info` tells.

use larder_report::{CurvePolicy, Operation, TraceInfo};

use crate::drawn::{ROUNDING, drawn, info, native, seeds};
use crate::scene::Scene;
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] =
    &[(NOTHING, "no_command_tells_more_hits_than_a_drawn_trace_allows", no_more_hits)];

fn limit(info: &TraceInfo) -> f64 {
    info.limit.as_ref().unwrap().at_most()
}

fn no_more_hits() {
    for seed in seeds(6, 200) {
        let scene = Scene::new();
        scene.write("drawn.csv", native(&drawn(seed)));
        let info = info(&scene, "drawn.csv");
        let limit = limit(&info);
        // An LRU with room for everything.
        let everything = info.curves[0].capacities.last().unwrap();
        let everything = everything.of(CurvePolicy::Lru).unwrap().hit_ratio;
        let below = |ratio: f64, what: &str| {
            assert!(ratio <= limit + ROUNDING, "seed {seed}: {what}: {ratio} of {limit}");
        };
        for ratio in info.curves.iter().flat_map(|it| &it.capacities).flat_map(|it| &it.ratios) {
            below(ratio.hit_ratio, &format!("{:?}", ratio.policy));
        }
        let work = ["compare", "moka:", "memory:", "-q", "-r", "1", "-o", "out"];
        let replay = ["--keys-from", "trace:drawn.csv", "--on-miss", "fill"];
        let clock = ["--replay", "4000x"];
        for more in [
            &[][..],
            &["--capacity", "1k,3k,1m"],
            &clock,
            &[&clock[..], &["--capacity", "1m"]].concat(),
        ] {
            scene.larder(&[&work[..], &replay, more].concat());
            let run = scene.run_json();
            let over = run.checks.iter().find(|check| check.id == "OVER-LIMIT");
            assert!(over.is_none(), "seed {seed}: {over:?}");
            for cell in run.cells.iter().filter(|it| it.operation == Operation::GetOrSet) {
                let Some(ratio) = cell.hit_ratio().filter(|_| cell.reason.is_none()) else {
                    continue;
                };
                if more.first() == clock.first() {
                    // Targets count in their own steps, and the test may be slow.
                    assert_eq!(cell.hit_limit, None);
                    continue;
                }
                assert!((cell.hit_limit.unwrap() - limit).abs() < ROUNDING, "seed {seed}");
                below(ratio, &cell.target);
                let is_alike = (ratio - everything).abs() < ROUNDING;
                assert!(!more.is_empty() || is_alike, "seed {seed}: {ratio} of {everything}");
            }
            for models in run.hit_curves.iter().flat_map(|curve| &curve.capacities) {
                below(models.lru, "the LRU beside a replay");
                below(models.optimal, "the optimal choice beside a replay");
                let is_alike = (models.lru - everything).abs() < ROUNDING;
                assert!(models.capacity_bytes < 1 << 20 || is_alike, "seed {seed}: {models:?}");
            }
        }
        let advise = ["advise", "drawn.csv", "moka:", "memory:", "-q", "-r", "1", "-o", "advice"];
        let advice = scene.larder(&[&advise[..], &["--format", "json"]].concat()).json();
        for candidate in advice["candidates"].as_array().unwrap() {
            below(candidate["hit_ratio"].as_f64().unwrap(), "a candidate of the advice");
        }
        let told = scene.larder(&["trace", "info", "drawn.csv"]).out.clone();
        let (told, advised) = (limit_and_reasons(&told), advice["sentences"][1].as_str().unwrap());
        assert_eq!(limit_and_reasons(advised), told, "seed {seed}");
    }
}

/// The sentence about the limit, with the reasons of misses, in one line.
fn limit_and_reasons(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = text.split(" hits more than ").nth(1).unwrap().split(". ").next().unwrap();
    assert!(sentence.contains("are the first of their keys"), "{text}");
    sentence.trim_end_matches('.').to_owned()
}
