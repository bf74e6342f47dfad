use larder_report::{
    Cell, Counts, CurvePolicy, CurveRatio, HitRatioAt, Latency, Operation, PointValue, Run, Target,
};

use super::{Advice, Model, Wishes, advise, advise_after_look, contenders};

const MIB: u64 = 1 << 20;
const MILLISECOND: f64 = 1e6;

/// A run of targets `(name, reach, nanoseconds of a request)` with these hits of 1,000 reads by size in mebibytes, in ten thousand
/// reads.
fn run(targets: &[(&str, &str, f64)], hits: &[(&str, u64, u64)]) -> Run {
    let target = |(name, reach, _): &(&str, &str, f64)| Target {
        url: format!("{name}:"),
        name: format!("{name}:"),
        reach: Some((*reach).into()),
        stores: Some(true),
        ..Target::default()
    };
    let cell = |(name, size, hits): &(&str, u64, u64)| {
        let (.., ns) = targets.iter().find(|(target, ..)| target == name).unwrap();
        Cell {
            target: format!("{name}:"),
            point: [("capacity".into(), PointValue::Number(size * MIB))].into(),
            operation: Operation::GetOrSet,
            workers: 1,
            rounds: 6,
            counts: Counts {
                ops: 10_000,
                hits: 10 * hits,
                misses: 10 * (1000 - hits),
                ..Counts::default()
            },
            answered_per_s: Some(1e9 / ns),
            latency_ns: Some(Latency { p99: 50_000, ..Latency::default() }),
            ..Cell::default()
        }
    };
    Run {
        targets: targets.iter().map(target).collect(),
        cells: hits.iter().map(cell).collect(),
        ..Run::default()
    }
}

const TARGETS: &[(&str, &str, f64)] =
    &[("near", "process", 500.0), ("slow", "process", 900.0), ("far", "network", 50_000.0)];
const HITS: &[(&str, u64, u64)] = &[
    ("near", 1, 500),
    ("near", 2, 600),
    ("near", 4, 605),
    ("slow", 1, 560),
    ("slow", 2, 604),
    ("slow", 4, 608),
    ("far", 1, 450),
    ("far", 2, 580),
    ("far", 4, 600),
];

fn chosen(advice: &Advice) -> Option<(&str, u64)> {
    let choice = advice.choice.as_ref()?;
    Some((&choice.target, choice.capacity_bytes / MIB))
}

#[test]
fn without_wishes_the_fastest_of_those_with_most_hits_is_taken_where_room_buys_no_more() {
    let advice = advise(&run(TARGETS, HITS), Wishes::default(), &Model::default());
    assert_eq!(chosen(&advice), Some(("near:", 2)));
    assert_eq!(advice.sentences.len(), 5);
    assert!(advice.sentences[0].starts_with("Take near: with 2.00 MiB: 60 % of the reads hit"));
    let changes = &advice.sentences[2];
    assert!(
        changes.contains("If several hosts must share the entries, take far: with 4.00 MiB"),
        "{changes}"
    );
    assert!(changes.contains("The next is slow: with 2.00 MiB"), "{changes}");
}

#[test]
fn a_hit_ratio_that_is_asked_for_takes_the_least_room_that_has_it() {
    let wishes = Wishes { min_hit_ratio: Some(0.55), ..Wishes::default() };
    assert_eq!(chosen(&advise(&run(TARGETS, HITS), wishes, &Model::default())), Some(("slow:", 1)));
    // Further hits that nobody asked for are no reason to take the slower one.
    let wishes = Wishes { min_hit_ratio: Some(0.5), ..Wishes::default() };
    assert_eq!(chosen(&advise(&run(TARGETS, HITS), wishes, &Model::default())), Some(("near:", 1)));
}

#[test]
fn a_wish_that_nothing_fulfils_is_told_with_the_nearest() {
    let wishes =
        Wishes { min_hit_ratio: Some(0.9), memory_bytes: Some(2 * MIB), ..Wishes::default() };
    let advice = advise(&run(TARGETS, HITS), wishes, &Model::default());
    assert_eq!(chosen(&advice), None);
    let which = &advice.sentences[0];
    assert!(
        which.contains("No measured candidate has at most 2.00 MiB and 90 % of hits"),
        "{which}"
    );
    assert!(which.contains("The nearest is slow: with 2.00 MiB"), "{which}");
}

#[test]
fn memory_and_p99_are_limits() {
    let wishes = Wishes { memory_bytes: Some(MIB), ..Wishes::default() };
    assert_eq!(chosen(&advise(&run(TARGETS, HITS), wishes, &Model::default())), Some(("slow:", 1)));
    let wishes = Wishes { p99_ns: Some(40_000.0), ..Wishes::default() };
    assert_eq!(chosen(&advise(&run(TARGETS, HITS), wishes, &Model::default())), None);
}

#[test]
fn a_sample_of_the_keys_has_its_share_of_the_memory() {
    let wishes = Wishes { memory_bytes: Some(10 * MIB), ..Wishes::default() };
    let model = Model { sample: Some(0.1), ..Model::default() };
    assert_eq!(chosen(&advise(&run(TARGETS, HITS), wishes, &model)), Some(("slow:", 1)));
}

#[test]
fn a_p99_of_few_hits_decides_nothing() {
    let mut run = run(TARGETS, HITS);
    for cell in &mut run.cells {
        cell.counts.ops = 900;
    }
    let advice = advise(&run, Wishes::default(), &Model::default());
    assert!(!advice.sentences[0].contains("99 %"), "{}", advice.sentences[0]);
    let wishes = Wishes { p99_ns: Some(100_000.0), ..Wishes::default() };
    assert_eq!(chosen(&advise(&run, wishes, &Model::default())), None);
}

#[test]
fn the_cost_of_a_miss_decides_how_much_room_pays() {
    let of = |cost: f64| {
        let wishes = Wishes { cost_of_miss_ns: Some(cost), ..Wishes::default() };
        advise(&run(TARGETS, HITS), wishes, &Model::default())
    };
    // A miss that costs nothing is worth no room, and one that costs much is worth the hits.
    assert_eq!(chosen(&of(1.0)), Some(("near:", 1)));
    let dear = of(8.0 * MILLISECOND);
    assert_eq!(chosen(&dear), Some(("slow:", 2)));
    let changes = &dear.sentences[2];
    assert!(changes.contains("Were a miss to cost less than"), "{changes}");
    // The told cost is the one at which the choice changes.
    let told = changes.split("less than ").nth(1).unwrap().split(',').next().unwrap();
    let (number, unit) = told.split_once(' ').unwrap();
    let scale = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        _ => MILLISECOND,
    };
    let flips = number.parse::<f64>().unwrap() * scale;
    let size = |cost: f64| {
        let slow: Vec<_> = HITS.iter().copied().filter(|(name, ..)| *name == "slow").collect();
        let wishes = Wishes { cost_of_miss_ns: Some(cost), ..Wishes::default() };
        chosen(&advise(&run(&TARGETS[1..2], &slow), wishes, &Model::default())).unwrap().1
    };
    assert_eq!((size(flips * 0.9), size(flips * 1.1)), (1, 2));
}

#[test]
fn the_model_tells_of_sizes_that_were_not_measured() {
    let at = |(size, hit_ratio)| HitRatioAt {
        capacity: size * MIB,
        ratios: [CurveRatio { policy: CurvePolicy::Lru, hit_ratio, half_width: None }].into(),
        keys: 1.0,
        time: 1.0,
    };
    let curve = [(4, 0.60), (8, 0.65), (32, 0.80)].map(at).into();
    let model = Model { curve, ..Model::default() };
    let advice = advise(&run(TARGETS, HITS), Wishes::default(), &model);
    let sizes = &advice.sentences[1];
    assert!(sizes.contains("Of near: 2.00 MiB has 10.0 points more than 1.00 MiB"), "{sizes}");
    assert!(
        sizes.contains(
            "hits 60 % with that room, 65 % with twice the room and 80 % with eight times"
        ),
        "{sizes}"
    );
}

#[test]
fn a_target_without_a_figure_is_named_with_its_reason() {
    let mut run = run(TARGETS, HITS);
    run.targets.push(Target {
        url: "gone:".into(),
        name: "gone:".into(),
        stores: Some(true),
        reason: Some("not installed".into()),
        ..Target::default()
    });
    let advice = advise(&run, Wishes::default(), &Model::default());
    assert!(advice.sentences[4].contains("Without a figure: gone: (not installed)"));
    assert!(!advice.sentences[4].contains("TTLs"));
    assert!(!advice.sentences[4].contains("The report has"));
    let nothing = advise(&Run::default(), Wishes::default(), &Model::default());
    assert_eq!((nothing.choice, nothing.sentences.len()), (None, 1));
}

#[test]
fn a_sample_of_the_keys_and_what_was_not_replayed_as_recorded_are_told() {
    let run = Run { notes: ["a note".into()].into(), ..run(TARGETS, HITS) };
    let model = Model { sample: Some(0.01), has_ttls: true, ..Model::default() };
    let advice = advise(&run, Wishes::default(), &model);
    let [which, .., not_tried] = &advice.sentences[..] else { panic!("{advice:?}") };
    assert!(
        which.ends_with(
            "The recording has 1 % of the keys, and all of them need 100 times the room."
        ),
        "{which}"
    );
    assert!(
        not_tried.starts_with("Not tried: the TTLs of the trace, other sizes, "),
        "{not_tried}"
    );
    assert!(not_tried.ends_with(" The report has 1 note on the replay."), "{not_tried}");
}

/// The targets and the sizes in mebibytes that a first look leaves.
fn left(look: &Run, wishes: &Wishes) -> (Vec<String>, Vec<u64>) {
    let left = contenders(look, wishes);
    (left.targets, left.capacities_bytes.iter().map(|size| size / MIB).collect())
}

#[test]
fn a_first_look_leaves_the_candidates_that_one_round_cannot_rule_out() {
    let of = |names: &[&str]| -> Vec<String> { names.iter().map(|it| format!("{it}:")).collect() };
    // The one over a network is slow beyond all luck, and the others are alike for one round.
    let look = run(TARGETS, HITS);
    assert_eq!(left(&look, &Wishes::default()), (of(&["near", "slow"]), vec![2]));
    // 56 % may be 56.2 %, and 50 % may not.
    let wishes = Wishes { min_hit_ratio: Some(0.562), ..Wishes::default() };
    assert_eq!(left(&look, &wishes), (of(&["near", "slow"]), vec![1, 2]));
    let wishes = Wishes { min_hit_ratio: Some(0.4), ..Wishes::default() };
    assert_eq!(left(&look, &wishes), (of(&["near", "slow"]), vec![1]));
    // A candidate that is slower by more than two rounds may err is out of the question.
    let targets = [("near", "process", 500.0), ("slow", "process", 1200.0), TARGETS[2]];
    assert_eq!(left(&run(&targets, HITS), &Wishes::default()), (of(&["near"]), vec![2]));
    // Where nothing fulfils a wish, those contend that may be the nearest.
    let wishes = Wishes { memory_bytes: Some(1), ..Wishes::default() };
    assert_eq!(left(&look, &wishes), (of(&["near", "slow"]), vec![2, 4]));
    assert_eq!(left(&Run::default(), &Wishes::default()), (vec![], vec![]));
}

#[test]
fn contenders_have_the_figures_of_their_own_rounds_and_all_others_those_of_the_look() {
    let mut look = run(TARGETS, HITS);
    look.cells.iter_mut().for_each(|cell| cell.rounds = 1);
    // In the look the near one was unlucky.
    let unlucky = [("near", "process", 950.0), TARGETS[1], TARGETS[2]];
    for cell in run(&unlucky, HITS).cells {
        let same =
            look.cells.iter_mut().find(|it| it.target == cell.target && it.point == cell.point);
        same.unwrap().answered_per_s = cell.answered_per_s;
    }
    look.duration_s = 10.0;
    let mut later = run(&TARGETS[..2], &[("near", 2, 601), ("slow", 2, 603)]);
    later.duration_s = 5.0;
    let advice = advise_after_look(&look, &later, Wishes::default(), &Model::default());
    assert_eq!(chosen(&advice), Some(("near:", 2)));
    let choice = advice.choice.as_ref().unwrap();
    assert_eq!((choice.rounds, choice.hit_ratio), (6, 0.601));
    let rounds: Vec<u32> = advice.candidates.iter().map(|candidate| candidate.rounds).collect();
    assert_eq!(rounds, [1, 6, 1, 1, 6, 1, 1, 1, 1]);
    let sure = &advice.sentences[3];
    assert!(sure.contains("requests of the trace at each of 9 sizes of 3 candidates"), "{sure}");
    assert!(sure.contains("from 6 rounds at 2 of them that may have won, in 15"), "{sure}");
    assert!(
        advice.sentences[2]
            .contains("take far: with 4.00 MiB: 60 % of the reads hit (in one round)")
    );
}
