//! What an advice says of the most that any cache can hit on the trace.

use larder_report::{Estimate, HitLimit};

use super::*;
use crate::advice::advise_unmeasured;

/// A limit of a trace whose other reads ask for absent keys, or come after a TTL, but for one in a hundred.
fn limit(hit_ratio: f64, absent: f64) -> HitLimit {
    HitLimit {
        hit_ratio: Estimate::exact(hit_ratio),
        first: 0.01,
        absent: Some(absent),
        expired: Some((0.99 - hit_ratio - absent).max(0.0)),
        deleted: None,
        before: None,
    }
}

fn with_limit(limit: HitLimit) -> Model {
    Model { limit: Some(limit), ..Model::default() }
}

#[test]
fn the_limit_is_told_with_its_reasons_and_remedies() {
    let sentences = |least: Option<f64>| {
        let wishes = Wishes { min_hit_ratio: least, ..Wishes::default() };
        advise(&run(TARGETS, HITS), wishes, &with_limit(limit(0.62, 0.3))).sentences
    };
    let why = "1 % are the first of their keys, 30 % ask for keys that hold nothing and 7 % come after the TTL of their \
               entries. More reads hit only if the application caches that a key holds nothing, or entries get longer TTLs.";
    for least in [None, Some(0.61)] {
        let [which, sizes, ..] = &sentences(least)[..] else { panic!() };
        assert!(!which.contains("No cache has"), "{which}");
        let expected = format!(" No cache hits more than 62 % of the reads: {why}");
        assert!(sizes.ends_with(&expected), "{sizes}");
    }
    // The reasons stand once, where a wish is out of reach.
    let [which, sizes, ..] = &sentences(Some(0.7))[..] else { panic!() };
    let expected = format!(" No cache has so many hits. Of the reads, {why}");
    assert!(which.ends_with(&expected), "{which}");
    assert!(sizes.ends_with(" No cache hits more than 62 % of the reads."), "{sizes}");
    // `trace info` tells of all keys where a recording left some out.
    let model = Model { sample: Some(0.1), ..with_limit(limit(0.62, 0.3)) };
    let advice = advise(&run(TARGETS, HITS), Wishes::default(), &model);
    let told = " No cache hits more than 62 % of the recorded reads: 1 % are the first of";
    assert!(advice.sentences[1].contains(told), "{}", advice.sentences[1]);
}

/// The percents in a text.
fn percents(text: &str) -> Vec<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .windows(2)
        .filter(|pair| pair[1].starts_with('%'))
        .filter_map(|pair| pair[0].trim_start_matches('(').parse().ok())
        .collect()
}

#[test]
fn no_found_ratio_shows_as_more_than_the_limit() {
    for hits in 1..1000 {
        let hits = [("near", 1, hits - 1), ("near", 2, hits)];
        let ratio = cell(&mut run(TARGETS, &hits), "near:", 2).hit_ratio().unwrap();
        // Limits of a trace are seldom round.
        for limit in [ratio, ratio + 0.000_003, ratio + 0.000_049] {
            let told = HitLimit { absent: None, expired: None, ..self::limit(limit, 0.0) };
            let advice = advise(&run(TARGETS, &hits), Wishes::default(), &with_limit(told));
            if advice.choice.is_none() {
                continue;
            }
            let sizes = advice.sentences[1].split("No cache hits").nth(1).expect("a limit");
            let most = percents(sizes)[0];
            let found = percents(&advice.answer)[0];
            assert!(found <= most, "{found} % of {most} %: {advice:#?}");
        }
    }
}

#[test]
fn more_room_than_the_limit_needs_cannot_hit_more() {
    let sizes = |hits: [u64; 2], most: f64| {
        let hits = [("near", 1, hits[0]), ("near", 2, hits[1])];
        let advice = advise(
            &run(&TARGETS[..1], &hits),
            Wishes::default(),
            &with_limit(limit(most, 0.99 - most)),
        );
        advice.sentences[1].split(" No cache hits").next().unwrap().to_owned()
    };
    let gained = "Of near: 2.00 MiB has 10.0 points more than 1.00 MiB.";
    assert_eq!(sizes([500, 600], 0.6), format!("{gained} More room cannot hit more."));
    assert_eq!(
        sizes([500, 600], 0.62),
        format!("{gained} More room than that was not measured, and can gain 2.0 points at most.")
    );
    assert_eq!(sizes([600, 600], 0.6), "Of near: more room than 1.00 MiB gains nothing.");
    let one = run(&TARGETS[..1], &[("near", 1, 600)]);
    let advice = advise(&one, Wishes::default(), &with_limit(limit(0.6, 0.39)));
    let beginning = "near: was measured at one size only. More room cannot hit more. No cache";
    assert!(advice.sentences[1].starts_with(beginning), "{}", advice.sentences[1]);
}

#[test]
fn a_trace_of_which_no_read_can_hit_needs_no_measurement() {
    let wishes = Wishes { p99_ns: Some(1000.0), ..Wishes::default() };
    let advice = advise_unmeasured(wishes, &with_limit(limit(0.0, 0.99))).expect("an advice");
    assert_eq!((advice.wishes, &advice.choice), (wishes, &None));
    assert_eq!(advice.answer, "No cache helps: no read of the trace can hit");
    assert_eq!(
        advice.sentences,
        [
            "No cache helps: no read of the trace can hit. Of the reads, 1 % are the first of their keys and 99 % ask for \
             keys that hold nothing. More reads hit only if the application caches that a key holds nothing."
        ]
    );
    // A cache that was filled before may have helped.
    let filled = HitLimit { absent: None, before: Some(0.99), ..limit(0.0, 0.99) };
    let advice = advise_unmeasured(wishes, &with_limit(filled)).expect("an advice");
    assert_eq!(advice.answer, "No cache that begins empty helps: no read of the trace can hit");
    assert_eq!(advise_unmeasured(wishes, &with_limit(limit(1e-6, 0.5))), None);
    assert_eq!(advise_unmeasured(wishes, &Model::default()), None);
}
