mod limits;

use larder_report::{
    Cell, Counts, CurvePolicy, CurveRatio, Finding, HitRatioAt, Latency, Operation, PointValue,
    Run, Severity, Target,
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
    let model = Model { sample: Some(0.01), has_untimed_ttls: true, ..Model::default() };
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

/// The cell of a target at a size in mebibytes.
fn cell<'a>(run: &'a mut Run, target: &str, size: u64) -> &'a mut Cell {
    let is_it = |cell: &&mut Cell| {
        cell.target == target && cell.point["capacity"] == PointValue::Number(size * MIB)
    };
    run.cells.iter_mut().find(is_it).unwrap()
}

/// Lets a check say that the figures of a cell are no result.
fn strike(run: &mut Run, target: &str, size: u64) {
    let point = cell(run, target, size).point.clone();
    run.checks.push(Finding {
        id: "NEVER-HITS".into(),
        severity: Severity::Error,
        target: Some(target.into()),
        point: Some(point),
        operation: Some(Operation::GetOrSet),
        stored: false,
        text: "0 hits".into(),
        advice: String::new(),
    });
}

fn has_at(advice: &Advice, target: &str, size: u64) -> bool {
    let is_it = |it: &&super::Candidate| it.target == target && it.capacity_bytes == size * MIB;
    advice.candidates.iter().any(|it| is_it(&it))
}

#[test]
fn a_figure_that_a_check_struck_out_is_recommended_in_no_sentence() {
    let mut struck = run(TARGETS, HITS);
    for (target, sizes) in [("near:", &[2][..]), ("far:", &[1, 2, 4])] {
        for size in sizes {
            strike(&mut struck, target, *size);
        }
    }
    let advice = advise(&struck, Wishes::default(), &Model::default());
    assert_eq!(chosen(&advice), Some(("slow:", 2)));
    assert!(!has_at(&advice, "near:", 2) && has_at(&advice, "near:", 4));
    let all = advice.sentences.join("\n");
    assert!(!all.contains("take far:") && !all.contains("near: with 2.00 MiB:"), "{all}");
    let changes = &advice.sentences[2];
    assert!(
        changes.contains(
            "If several hosts must share the entries, no measured size can be recommended: far: with 1.00 MiB, \
             2.00 MiB and 4.00 MiB (NEVER-HITS)."
        ),
        "{changes}"
    );
    let not_tried = &advice.sentences[4];
    assert!(
        not_tried.starts_with("No result: near: with 2.00 MiB (NEVER-HITS) and far: with "),
        "{not_tried}"
    );
    // Neither does such a figure go on from a first look.
    assert_eq!(left(&struck, &Wishes::default()), (vec!["slow:".to_owned()], vec![2]));
}

#[test]
fn a_candidate_has_the_size_that_it_was_seen_to_hold() {
    let mut larger = run(TARGETS, HITS);
    // Of its entries the one, of memory for them the other.
    cell(&mut larger, "near:", 2).held_bytes_peak = Some(7 * MIB);
    cell(&mut larger, "slow:", 2).allocated_bytes_peak = Some(3 * MIB);
    let wishes = Wishes { memory_bytes: Some(2 * MIB), ..Wishes::default() };
    let advice = advise(&larger, wishes, &Model::default());
    assert_eq!(chosen(&advice), Some(("far:", 2)));
    let wishes = Wishes { memory_bytes: Some(3 * MIB), ..Wishes::default() };
    let advice = advise(&larger, wishes, &Model::default());
    assert_eq!(chosen(&advice), Some(("slow:", 2)));
    assert_eq!(advice.choice.as_ref().unwrap().size_bytes, 3 * MIB);
    let which = &advice.sentences[0];
    assert!(which.starts_with("Take slow: with 2.00 MiB (it took 3.00 MiB): 60.4 % of"), "{which}");
    // A twentieth more is no excess: a cache may evict in batches.
    cell(&mut larger, "near:", 2).held_bytes_peak = Some(2 * MIB + MIB / 20);
    let wishes = Wishes { memory_bytes: Some(2 * MIB), ..Wishes::default() };
    assert_eq!(chosen(&advise(&larger, wishes, &Model::default())), Some(("near:", 2)));
}

#[test]
fn what_never_hits_is_no_recommendation_and_no_nearest() {
    let hits = [("near", 1, 0), ("near", 2, 0), ("slow", 1, 10), ("slow", 2, 40), ("far", 1, 0)];
    let advice = advise(&run(TARGETS, &hits), Wishes::default(), &Model::default());
    assert_eq!(chosen(&advice), Some(("slow:", 2)));
    assert!(!advice.sentences[2].contains("far:"), "{}", advice.sentences[2]);
    assert!(!advice.sentences[2].contains("The next is"), "{}", advice.sentences[2]);
    let wishes = Wishes { memory_bytes: Some(1), ..Wishes::default() };
    let nearest = advise(&run(TARGETS, &hits), wishes, &Model::default());
    assert!(nearest.sentences[0].contains("The nearest is slow: with 2.00 MiB"));
    assert!(has_at(&advice, "near:", 1), "the figures are there all the same");
}

#[test]
fn where_no_read_hits_no_cache_helps() {
    let none = [("near", 1, 0), ("near", 2, 0), ("far", 1, 0)];
    let with_curve = |hit_ratio| {
        let optimal = CurveRatio { policy: CurvePolicy::Optimal, hit_ratio, half_width: None };
        let at = HitRatioAt { capacity: 64 * MIB, ratios: [optimal].into(), keys: 1.0, time: 1.0 };
        Model { curve: [at].into(), ..Model::default() }
    };
    let mut nothing = run(TARGETS, &none);
    strike(&mut nothing, "far:", 1);
    let advice = advise(&nothing, Wishes::default(), &with_curve(0.0));
    assert_eq!(chosen(&advice), None);
    assert_eq!(advice.answer, "No cache helps: no read of the trace can hit");
    let [only] = &advice.sentences[..] else { panic!("{advice:?}") };
    assert!(only.starts_with("No cache helps: no read of the trace can hit. "), "{only}");
    assert!(only.ends_with(" No result: far: with 1.00 MiB (NEVER-HITS)."), "{only}");
    let advice = advise(&nothing, Wishes::default(), &with_curve(0.6));
    assert_eq!(
        advice.answer,
        "far: and near: do not help with at most 2.00 MiB: no read hit there, and up to 60 % could in another cache or with \
         more room"
    );
    let limit = larder_report::HitLimit {
        hit_ratio: larder_report::Estimate::exact(0.4),
        first: 0.6,
        absent: None,
        expired: None,
        deleted: None,
        before: None,
    };
    let model = Model { limit: Some(limit), ..Model::default() };
    let one = run(&TARGETS[..1], &[("near", 1, 0)]);
    assert_eq!(
        advise(&one, Wishes::default(), &model).answer,
        "near: does not help with at most 1.00 MiB: no read hit there, and up to 40 % could in another cache or with more \
         room"
    );
}

#[test]
fn less_room_would_do_only_where_it_is_less_and_a_miss_costs_something() {
    let hits = [("near", 1, 500), ("near", 2, 500), ("near", 4, 500)];
    let mut flat = run(&TARGETS[..1], &hits);
    // Beside other work, the larger size was faster: a miss that costs nothing would make it the choice.
    cell(&mut flat, "near:", 1).answered_per_s = Some(1e9 / 900.0);
    let wishes = Wishes { cost_of_miss_ns: Some(8.0 * MILLISECOND), ..Wishes::default() };
    let advice = advise(&flat, wishes, &Model::default());
    assert_eq!(chosen(&advice), Some(("near:", 1)));
    assert!(!advice.sentences[2].contains("Were a miss"), "{}", advice.sentences[2]);
    // The smaller size would do below 22 ns; and where it is slower, below 2 ns, which no miss costs.
    let hits = [("near", 1, 500), ("near", 2, 999)];
    let wishes = Wishes { cost_of_miss_ns: Some(1000.0), ..Wishes::default() };
    for (ns, told) in
        [(499.0, "Were a miss to cost less than 22.0 ns, 1.00 MiB of near:"), (509.0, "")]
    {
        let mut steep = run(&TARGETS[..1], &hits);
        cell(&mut steep, "near:", 1).answered_per_s = Some(1e9 / ns);
        let advice = advise(&steep, wishes, &Model::default());
        assert_eq!(chosen(&advice), Some(("near:", 2)));
        let changes = &advice.sentences[2];
        assert!(
            changes.contains(told) && changes.contains("Were a miss") != told.is_empty(),
            "{changes}"
        );
    }
}

#[test]
fn sizes_that_gain_nothing_are_told_in_one_step() {
    let of = |hits: [u64; 4]| {
        let hits: Vec<_> = [1, 2, 4, 8].into_iter().zip(hits).collect();
        let hits: Vec<_> = hits.into_iter().map(|(size, hits)| ("near", size, hits)).collect();
        let run = run(&TARGETS[..1], &hits);
        advise(&run, Wishes::default(), &Model::default()).sentences[1].clone()
    };
    assert_eq!(of([968, 968, 968, 968]), "Of near: more room than 1.00 MiB gains nothing.");
    assert_eq!(
        of([500, 500, 600, 600]),
        "Of near: 2.00 MiB has no more than 1.00 MiB, 4.00 MiB has 10.0 points more than 2.00 MiB and more room than \
         4.00 MiB gains nothing."
    );
}

#[test]
fn a_size_that_hits_no_more_is_taken_for_a_reason_that_is_told() {
    let mut flat = run(&TARGETS[..1], &[("near", 1, 500), ("near", 2, 500), ("near", 4, 500)]);
    for (size, ns, p99) in [(1, 1000.0, 50_000), (2, 900.0, 50_000), (4, 500.0, 20_000)] {
        let cell = cell(&mut flat, "near:", size);
        cell.answered_per_s = Some(1e9 / ns);
        cell.latency_ns = Some(Latency { p99, ..Latency::default() });
    }
    // It is not taken for its time, which differs by chance.
    for cost_of_miss_ns in [None, Some(1.0)] {
        let wishes = Wishes { cost_of_miss_ns, ..Wishes::default() };
        let advice = advise(&flat, wishes, &Model::default());
        assert_eq!(chosen(&advice), Some(("near:", 1)));
        assert_eq!(advice.sentences[1], "Of near: more room than 1.00 MiB gains nothing.");
    }
    let wishes = Wishes { p99_ns: Some(30_000.0), ..Wishes::default() };
    let advice = advise(&flat, wishes, &Model::default());
    assert_eq!(chosen(&advice), Some(("near:", 4)));
    assert_eq!(
        advice.sentences[1],
        "Of near: more room than 1.00 MiB gains no hits, but only 4.00 MiB has what was wished."
    );
}

#[test]
fn the_next_best_is_told_with_what_differs() {
    let mut two = run(&TARGETS[..2], &[("near", 1, 500), ("near", 2, 600), ("slow", 2, 560)]);
    for target in ["near:", "slow:"] {
        cell(&mut two, target, 2).answered_per_s = Some(1e9 / 500.0);
    }
    let changes = |run: &Run| {
        let wishes = Wishes { min_hit_ratio: Some(0.55), ..Wishes::default() };
        advise(run, wishes, &Model::default()).sentences[2].clone()
    };
    assert_eq!(
        changes(&two),
        "The next is slow: with 2.00 MiB: its hit ratio is 4.0 points lower."
    );
    cell(&mut two, "slow:", 2).answered_per_s = Some(1e9 / 1000.0);
    assert!(changes(&two).ends_with("4.0 points lower, and a request takes 2.00 times as long."));
}

#[test]
fn the_answer_is_one_line() {
    let advice = advise(&run(TARGETS, HITS), Wishes::default(), &Model::default());
    assert_eq!(advice.answer, "Take near: 2.00 MiB: 60 % hits, p99 50.0 µs");
    let wishes = Wishes { cost_of_miss_ns: Some(8.0 * MILLISECOND), ..Wishes::default() };
    let mut named = run(TARGETS, HITS);
    named.targets[1].name = "prod".into();
    let model = Model { sample: Some(0.1), ..Model::default() };
    assert_eq!(
        advise(&named, wishes, &model).answer,
        "Take prod with 2.00 MiB for 10 % of the keys: 60.4 % hits, p99 50.0 µs, 3.17 ms a request with its misses"
    );
    let wishes = Wishes { min_hit_ratio: Some(0.9), ..Wishes::default() };
    let none = advise(&run(TARGETS, HITS), wishes, &Model::default());
    assert_eq!(
        none.answer,
        "Nothing fits; the nearest is slow: 4.00 MiB: 60.8 % hits, p99 50.0 µs"
    );
}
