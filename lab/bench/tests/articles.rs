//! A run laid beside an article: figures are found, conclusions judged, and missing parts named.
//!
//! The times of operations are made up: a machine that is busy or slow must not change a verdict. The runs are real all the
//! same, so that cells, counts and findings are those of a comparison.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::sync::atomic::AtomicBool;

use ClaimVerdict::{CannotBeTold, DoesNotHold, Holds, TurnsRound};
use larder_bench::{Permissions, Plan, Scenario, Silent, article, compare};
use larder_report::{
    Article, ArticleFigure, ArticleForm, Cell, Claim, ClaimVerdict, Latency, Point, PointValue,
    Run, Sample,
};
use larder_testkit::stores;
use larder_workload::WorkloadSpec;

/// The time of an operation of a target, in microseconds, and the part of it that is CPU time of the client. Two operations
/// that wait at once take half as long together.
const TIMES: &[(&str, f64, f64)] = &[
    ("waits", 1000.0, 10.0),
    ("waits longer", 2000.0, 10.0),
    ("works", 25.0, 25.0),
    ("works too", 25.0, 25.0),
    ("works as well", 30.0, 30.0),
    ("works for two", 55.0, 55.0),
    ("forgets", 2.0, 2.0),
];
/// The largest difference of a round's time from the other rounds', as a share.
const SPREAD: f64 = 0.05;

/// One waits, one works, one forgets.
const HEAD: &str = r#"
    name = "test"
    cut = "half of its work"
    targets = [
        "map:?name=waits", "map:?name=works", "map:?name=waits longer", "faulty:?fault=miss&name=forgets", "map:?name=works as well",
        "map:?name=works too", "map:?name=works for two", "faulty:?fault=fail&every=1&name=cannot run",
    ]
    [workload]
    keys = 5
    requests = 60
    data-size = "100"
    rounds = 9
    [[part]]
    name = "reads"
    workload = { on-miss = "fill", key-pattern = "first" }
    [[part]]
    name = "writes"
    workload = { operations = "set+get" }
    [article]
    id = "A999"
    title = "made up"
    machine = "none"
    differs = "other caches"
    iterations = 50000
"#;

fn run(lines: &str) -> Run {
    run_with(HEAD, lines, &WorkloadSpec::default())
}

/// The same under another head, with the workload that was typed on the command line.
fn laid_beside(head: &str, lines: &str, typed: &WorkloadSpec) -> Article {
    run_with(head, lines, typed).article.unwrap()
}

fn run_with(head: &str, lines: &str, typed: &WorkloadSpec) -> Run {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), format!("{head}{lines}")).unwrap();
    let scenario = Scenario::find(file.path().to_str().unwrap()).unwrap();
    let scenario = scenario.resolve(ArticleForm::Corrected, false).unwrap().with_workload(typed);
    let plan = Plan::new(&scenario, false, &stores::ENGINES).unwrap();
    let stop = AtomicBool::new(false);
    let catalog = &stores::ENGINES;
    let compared = compare(&plan, catalog, Vec::new(), Permissions::default(), &Silent, &stop);
    let mut run = compared.unwrap().run;
    for cell in &mut run.cells {
        make_up(cell);
    }
    run.article = article::judge(&plan, &run);
    run
}

/// Gives the samples of a cell the times of its target.
fn make_up(cell: &mut Cell) {
    let name = cell.target.split("name=").nth(1).unwrap();
    let Some((_, wall_us, cpu_us)) = TIMES.iter().find(|(of, ..)| *of == name) else { return };
    let at_once = match cell.point.get("threads") {
        Some(PointValue::Number(threads)) if name == "waits" => {
            f64::from(u32::try_from(*threads).unwrap())
        }
        _ => 1.0,
    };
    for sample in &mut cell.samples {
        let uneven = 1.0 + SPREAD * unevenness(&cell.target, sample.round);
        let latency_s = wall_us * uneven / 1e6;
        take(sample, latency_s / at_once, latency_s, cpu_us * uneven / 1e6);
    }
    cell.wall_s = cell.wall_s.map(|_| cell.samples.iter().map(|sample| sample.wall_s).sum());
    let rates: f64 = cell.samples.iter().map(|sample| sample.ops_per_s).sum();
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    let mean = rates / cell.samples.len() as f64;
    cell.ops_per_s = cell.ops_per_s.map(|_| mean);
}

/// Makes each operation of a round take this many seconds; the slowest takes five times as long as the mean.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small times in nanoseconds"
)]
fn take(sample: &mut Sample, wall_s: f64, latency_s: f64, cpu_s: f64) {
    let ops = sample.counts.ops as f64;
    sample.wall_s = ops * wall_s;
    sample.ops_per_s = 1.0 / wall_s;
    // The time of each single operation is unknown where operations are joined.
    sample.client_cpu_s = sample.client_cpu_s.map(|_| ops * cpu_s);
    let [mean, ns] = [latency_s * 1e9; 2];
    let slow = (5.0 * ns) as u64;
    let figures =
        Latency { min: 1, mean, p50: ns as u64, p90: slow, p99: slow, p999: slow, max: slow };
    sample.latency_ns = sample.latency_ns.map(|_| figures);
}

/// Another share of the spread for each round of each target, −1 to 1, and the same in every run.
fn unevenness(target: &str, round: u32) -> f64 {
    let seed = target.bytes().fold(round.wrapping_mul(2_654_435_761), |hash, byte| {
        hash.rotate_left(5).wrapping_mul(0x9e37_79b1) ^ u32::from(byte)
    });
    f64::from(seed) / f64::from(u32::MAX) * 2.0 - 1.0
}

fn figures(lines: &str) -> Vec<ArticleFigure> {
    run(lines).article.unwrap().figures
}

fn claims(lines: &str) -> Vec<Claim> {
    let Article { claims, form, id, .. } = run(lines).article.unwrap();
    assert_eq!((form, id.as_str()), (ArticleForm::Corrected, "A999"));
    claims
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn figures_are_those_of_the_matching_cells_each_in_its_measure() {
    let figure = |target: &str, part: &str, measure: &str| {
        format!(
            "[[article.figure]]\ntarget = '{target}'\npart = '{part}'\nmeasure = '{measure}'\npublished = 2.0\n"
        )
    };
    let lines = [
        figure("works", "reads", "us_per_op"),
        figure("works", "reads", "wall"),
        figure("works", "reads", "ops_per_s"),
        figure("works", "reads", "cpu"),
        figure("works", "writes", "us_per_op"),
        figure("works", "reads", "misses"),
        figure("works", "writes", "cpu"),
        figure("cannot run", "reads", "wall"),
        figure("forgets", "writes", "us_per_op"),
    ];
    let found = figures(&lines.concat());
    let here: Vec<Option<f64>> = found.iter().map(|figure| figure.here).collect();
    let us = here[0].unwrap();
    assert!((us - 25.0).abs() < 25.0 * SPREAD, "{us}");
    assert!(close(here[1].unwrap(), us * 50_000.0 / 1e6) && close(here[2].unwrap(), 1e6 / us));
    assert!(close(found[0].ratio.unwrap(), us / 2.0));
    let [low, high] = found[0].here_ci95.unwrap();
    assert!(low <= us && us <= high);
    assert!(close(here[3].unwrap(), us * 50_000.0 / 1e6), "it works all the time: {:?}", found[3]);
    // A set and a get are one iteration.
    assert_eq!(found[4].operation, "set+get");
    assert!((here[4].unwrap() - 50.0).abs() < 50.0 * SPREAD, "{:?}", here[4]);
    assert_eq!((here[5], found[5].here_iterations), (Some(1.0), Some(60)), "misses of a round");
    let reason = |at: usize| found[at].reason.clone().unwrap();
    assert!(reason(6).contains("CPU time of an iteration is not known"), "{}", reason(6));
    assert!(reason(7).starts_with("cannot run did not run: "), "{}", reason(7));
    assert_eq!((here[6], here[7]), (None, None));
    let doubts = ["SILENT-DROP", "NEVER-HITS"].map(str::to_owned);
    // A target that a check keeps out of the ranking has its figure here, and its doubt.
    assert_eq!((here[8].is_some(), &found[8].doubts[..]), (true, &doubts[..]));
}

#[test]
fn conclusions_hold_turn_round_or_cannot_be_told() {
    let claim = |says: &str, lines: &str| {
        format!("[[article.claim]]\nsays = '{says}'\npart = 'writes'\n{lines}\n")
    };
    let lines = [
        claim("holds", "kind = 'faster'\na = 'works'\nb = ['waits']"),
        claim("turns", "kind = 'faster'\na = 'waits'\nb = ['works', 'works as well']"),
        claim("by far", "kind = 'faster'\nfactor = 50\na = 'works'\nb = ['waits']"),
        claim("as good as", "kind = 'faster'\na = 'works'\nb = ['works too']"),
        claim("near", "kind = 'near'\na = 'works'\nb = ['works too']"),
        claim("far", "kind = 'near'\na = 'works'\nb = ['waits longer']"),
        claim("absent", "kind = 'near'\na = 'works'\nb = ['cannot run']"),
        claim(
            "forgets",
            "kind = 'never_hits'\na = 'forgets'\nchecks = ['NEVER-HITS', 'RECONNECT', 'SILENT-DROP']",
        ),
        claim("keeps", "kind = 'never_hits'\na = 'works'\nchecks = ['NEVER-HITS']"),
        claim(
            "parts",
            "kind = 'sum'\na = 'works for two'\nb = ['works', 'works as well']\nfactor = 1.3",
        ),
        claim(
            "one of them",
            "kind = 'near'\na = 'works for two'\nb = ['works as well']\nfactor = 1.3",
        ),
        claim("against one", "kind = 'faster'\na = 'waits'\nb = ['works', 'waits longer']"),
        claim("cpu", "kind = 'faster'\nby = 'cpu'\na = 'waits'\nb = ['works']"),
    ];
    let expected = [
        ("holds", Holds),
        ("turns", TurnsRound),
        ("by far", DoesNotHold),
        ("as good as", CannotBeTold),
        ("near", Holds),
        ("far", DoesNotHold),
        ("absent", CannotBeTold),
        ("forgets", Holds),
        ("keeps", DoesNotHold),
        ("parts", Holds),
        ("one of them", DoesNotHold),
        ("against one", DoesNotHold),
        ("cpu", CannotBeTold),
    ];
    let judged = claims(&lines.concat());
    for (claim, (says, verdict)) in judged.iter().zip(expected) {
        assert_eq!((claim.says.as_str(), claim.verdict), (says, verdict), "{claim:#?}");
    }
    assert_eq!(judged.len(), expected.len());
    assert_eq!(judged[1].evidence.len(), 2, "one for each");
    assert!(judged[0].evidence[0].p.is_some_and(|p| p < 0.01) && judged[4].evidence[0].p.is_none());
    // Whether a factor is kept is a test like any other, and corrected with them.
    let factors = |at: usize| judged[at].evidence[0].p_factor.len();
    assert_eq!((factors(0), factors(2), factors(4)), (0, 1, 2));
    assert!(judged[2].evidence[0].p_factor[0] > 10.0 * larder_report::smallest_p(9, 9));
    assert_eq!(judged[9].evidence.len(), 1, "together");
    let absent = judged[6].reason.as_deref().unwrap();
    assert!(absent.starts_with("cannot run did not run: "), "{absent}");
    assert!(judged[12].reason.as_ref().is_some_and(|reason| reason.contains("not known")));
    let fired = |at: usize| judged[at].checks.iter().map(|check| check.fired).collect::<Vec<_>>();
    assert_eq!((fired(7), fired(8)), (vec![true, false, true], vec![false]));
    assert_eq!((judged[7].hits, judged[7].misses), (Some([0, 270]), Some(270)));
}

#[test]
fn what_is_concluded_from_figures_that_are_no_result_cannot_be_told_unless_it_names_the_checks() {
    let claim = |checks: &str| {
        format!(
            "[[article.claim]]\nsays = 'x'\nkind = 'faster'\npart = 'writes'\na = 'forgets'\nb = ['waits']\n\
             checks = [{checks}]\n"
        )
    };
    let lines = [claim("'ONE-KEY'"), claim("'NEVER-HITS'"), claim("'NEVER-HITS', 'SILENT-DROP'")];
    let judged = claims(&lines.concat());
    let told: Vec<_> = judged.iter().map(|claim| (claim.verdict, claim.doubts.join(" "))).collect();
    assert_eq!(
        told,
        [
            (CannotBeTold, "SILENT-DROP NEVER-HITS".into()),
            (CannotBeTold, "SILENT-DROP".into()),
            (Holds, String::new()),
        ]
    );
    let reason = judged[1].reason.as_deref().unwrap();
    assert_eq!(
        reason,
        "one of its figures is no result: SILENT-DROP, which the conclusion does not expect"
    );
    assert_eq!(judged[1].evidence.len(), 1, "what was measured stands beside it");
}

/// The first target keeps every value. The second drops each fourth set, now and then also of a key that is set again.
/// The third refuses sets after the 70th. The fourth fails each ninth operation, and the fifth fails every operation.
const VALUES: &str = r#"
    name = "values"
    targets = [
        "map:?name=keeps", "faulty:?fault=drop&every=4&name=forgets", "faulty:?fault=full&after=70&name=fills",
        "faulty:?fault=fail&every=9&name=fails", "faulty:?fault=fail&every=1&name=cannot run",
    ]
    [workload]
    keys = [20, 50]
    operations = "set,get"
    data-size = "100"
    rounds = 1
    [article]
    id = "A997"
    title = "made up"
    machine = "none"
"#;

#[test]
fn values_are_all_stored_or_refused_or_dropped() {
    let claim = |kind: &str, target: &str, keys: u32| {
        format!(
            "[[article.claim]]\nsays = '{kind} {target} {keys}'\nkind = '{kind}'\na = '{target}'\n\
             operation = 'set'\nat = [{{ keys = {keys} }}]\n"
        )
    };
    let told = |target: &str, keys: u32| {
        let lines = ["stores_all", "refuses", "drops"].map(|kind| claim(kind, target, keys));
        let judged = laid_beside(VALUES, &lines.concat(), &WorkloadSpec::default()).claims;
        let verdicts = [0, 1, 2].map(|at: usize| judged[at].verdict);
        (verdicts, judged[0].stored.first().cloned(), judged[0].reason.clone())
    };
    let (keeps, stored, _) = told("keeps", 50);
    let stored = stored.unwrap();
    assert_eq!(keeps, [Holds, TurnsRound, TurnsRound]);
    assert_eq!((stored.given, stored.refused, stored.read_back, stored.gone), (50, 0, 50, 0));
    assert_eq!(stored.at["keys"], PointValue::Number(50));
    let (forgets, stored, _) = told("forgets", 20);
    assert_eq!((forgets, stored.unwrap().gone), ([DoesNotHold, DoesNotHold, Holds], 10));
    let (fails, stored, _) = told("fails", 20);
    assert_eq!(fails, [DoesNotHold, Holds, DoesNotHold]);
    let stored = stored.unwrap();
    assert!(stored.refused > 0 && stored.refusal.is_some_and(|why| why.contains("each 9th")));
    let (fills, _, _) = told("fills", 50);
    assert_eq!(fills, [DoesNotHold, Holds, DoesNotHold]);
    let (absent, stored, reason) = told("cannot run", 20);
    assert_eq!((absent, stored), ([CannotBeTold; 3], None));
    assert!(reason.is_some_and(|reason| reason.starts_with("cannot run did not run: ")));
}

#[test]
fn values_that_are_set_after_a_miss_are_refused_by_their_own_errors() {
    let head =
        VALUES.replace("operations = \"set,get\"", "on-miss = \"fill\"\n    key-pattern = \"seq\"");
    let told = |target: &str| {
        let claim = ["stores_all", "refuses", "drops"].map(|kind| {
            format!(
                "[[article.claim]]\nsays = '{kind}'\nkind = '{kind}'\na = '{target}'\n\
                 operation = 'get_or_set'\nat = [{{ keys = 50 }}]\n"
            )
        });
        let judged = laid_beside(&head, &claim.concat(), &WorkloadSpec::default()).claims;
        let stored = judged[0].stored.first().cloned();
        ([0, 1, 2].map(|at: usize| judged[at].verdict), stored.unwrap(), judged)
    };
    let (keeps, stored, judged) = told("keeps");
    assert_eq!(keeps, [Holds, TurnsRound, TurnsRound], "{judged:#?}");
    assert_eq!((stored.given, stored.refused, stored.refusal), (50, 0, None));
    let (fills, stored, judged) = told("fills");
    assert_eq!(fills, [DoesNotHold, Holds, DoesNotHold], "{judged:#?}");
    assert_eq!((stored.given, stored.refused), (50, 50 - stored.read_back), "{stored:?}");
    assert!(stored.read_back > 0 && stored.refusal.is_some(), "{stored:?}");
    // The fate of a value is not the answer to a read.
    let (_, stored, _) = told("fails");
    assert!(stored.given < 50 && stored.refused < stored.given, "{stored:?}");
    assert_eq!(stored.refusal, None, "{stored:?}");
}

#[test]
fn what_was_announced_and_never_published_is_shown_all_the_same() {
    let figure = |measure: &str| {
        format!("[[article.figure]]\ntarget = 'works'\npart = 'reads'\nmeasure = '{measure}'\n")
    };
    let found = figures(&["client_cpu_us", "server_cpu_us", "rss_bytes"].map(figure).concat());
    assert!(found.iter().all(|figure| figure.published.is_none() && figure.ratio.is_none()));
    assert!(found[0].here.is_some_and(|us| (us - 25.0).abs() < 25.0 * SPREAD), "{:?}", found[0]);
    let reason = found[1].reason.as_deref().unwrap();
    assert_eq!(reason, "no server's CPU time is known here");
    assert!(found[2].here.is_some() || found[2].reason.is_some());
}

#[test]
fn two_operations_are_compared_where_a_conclusion_names_both() {
    let claim = |b: &str| {
        format!(
            "[[article.claim]]\nsays = 'so'\nkind = 'faster'\na = 'works'\nb = ['{b}']\npart = 'both'\n\
             operation = 'get'\nb_operation = 'set'\n"
        )
    };
    let head = HEAD.replace(
        "name = \"writes\"\n    workload = { operations = \"set+get\" }",
        "name = \"both\"\n    workload = { operations = \"set,get\" }",
    );
    let lines = ["waits", "works"].map(claim).concat();
    let [waits, itself] = &laid_beside(&head, &lines, &WorkloadSpec::default()).claims[..] else {
        panic!("two conclusions")
    };
    assert_eq!((waits.verdict, waits.b_operation.as_deref()), (Holds, Some("set")));
    // Made-up times are the times of the target, however it behaves: neither operation is faster.
    assert!(![Holds, TurnsRound].contains(&itself.verdict), "{itself:#?}");
    assert_eq!(itself.evidence.len(), 1, "{itself:#?}");
}

#[test]
fn few_rounds_say_how_many_would_tell() {
    let claim = "[[article.claim]]\nsays = 'x'\nkind = 'faster'\npart = 'writes'\na = 'works'\nb = ['waits']\n";
    let judged =
        laid_beside(&HEAD.replace("rounds = 9", "rounds = 4"), claim, &WorkloadSpec::default());
    assert_eq!(judged.claims[0].verdict, CannotBeTold);
    let reason = judged.claims[0].reason.as_deref().unwrap();
    assert_eq!(reason, "4 rounds cannot decide 1 test: 5 are needed");
}

#[test]
fn another_workload_than_the_scenarios_is_set_against_nothing() {
    let lines = "[[article.figure]]\ntarget = 'works'\npart = 'writes'\nmeasure = 'us_per_op'\npublished = 2.0\n\
                 [[article.claim]]\nsays = 'x'\nkind = 'faster'\npart = 'writes'\na = 'works'\nb = ['waits']\n";
    let of = |typed: WorkloadSpec| laid_beside(HEAD, lines, &typed);
    let whole = of(WorkloadSpec::default());
    assert_eq!(whole.cut.as_deref(), Some("half of its work; other caches"));
    let requests = Some("30".parse().unwrap());
    let typed = WorkloadSpec {
        requests,
        seed: Some(7),
        keys: Some("5".parse().unwrap()),
        threads: Some("1".parse().unwrap()),
        ..WorkloadSpec::default()
    };
    let same = of(typed);
    assert!(same.changed.is_empty(), "{:?}", same.changed);
    assert_eq!(same.cut.as_deref(), Some("other caches"), "the work is that of other requests");
    assert!(same.figures[0].ratio.is_some());
    assert_eq!(same.claims[0].verdict, Holds);
    let other = of(WorkloadSpec {
        requests,
        keys: Some("6".parse().unwrap()),
        data_size: Some("1k".parse().unwrap()),
        ..WorkloadSpec::default()
    });
    assert_eq!(other.changed, ["--keys", "--data-size"]);
    assert!(other.figures[0].here.is_some() && other.figures[0].ratio.is_none());
    assert_eq!(other.claims[0].verdict, CannotBeTold);
    let reason = other.claims[0].reason.as_deref().unwrap();
    assert_eq!(reason, "--keys, --data-size changed the workload");
    let less = WorkloadSpec { memory: Some("2g".parse().unwrap()), ..WorkloadSpec::default() };
    assert!(less.changes(&WorkloadSpec::default()).is_empty(), "a smaller machine");
}

/// One waits, and so do two at once in half the time; one works.
const SWEEP: &str = r#"
    name = "sweep"
    targets = ["map:?name=waits", "map:?name=works"]
    [workload]
    keys = 5
    requests = 200
    data-size = "100"
    rounds = 12
    operations = "get"
    threads = [1, 2]
    [full]
    workload = { threads = [1, 2, 3] }
    [article]
    id = "A998"
    title = "made up"
    machine = "none"
"#;

#[test]
fn conclusions_from_a_sweep_compare_its_points() {
    let claim = |says: &str, lines: &str| {
        format!("[[article.claim]]\nsays = '{says}'\n{lines}\na = 'waits'\nb = ['waits']\n")
    };
    let (one, two) = ("[{ threads = 1 }]", "[{ threads = 2 }]");
    let lines = [
        claim("more with two", &format!("kind = 'faster'\nat = {two}\nb_at = {one}")),
        claim("less with two", &format!("kind = 'faster'\nat = {one}\nb_at = {two}")),
        claim("as much with two", &format!("kind = 'near'\nat = {one}\nb_at = {two}")),
        claim("as long", &format!("kind = 'near'\nby = 'latency'\nat = {one}\nb_at = {two}")),
        claim("with three", &format!("kind = 'near'\nat = {one}\nb_at = [{{ threads = 3 }}]")),
        "[[article.claim]]\nsays = 'always'\nkind = 'faster'\na = 'works'\nb = ['waits']\n\
         at = [{ threads = 1 }, { threads = 2 }]\n"
            .to_owned(),
        claim(
            "slowest",
            &format!(
                "operation = 'get'\nkind = 'near'\nby = 'max'\nfactor = 1000\nat = {two}\nb_at = {one}"
            ),
        ),
        claim(
            "p99",
            &format!("operation = 'get'\nkind = 'near'\nby = 'p99'\nat = {two}\nb_at = {one}"),
        ),
    ];
    let judged = laid_beside(SWEEP, &lines.concat(), &WorkloadSpec::default()).claims;
    let verdicts: Vec<_> = judged.iter().map(|claim| claim.verdict).collect();
    let expected =
        [Holds, TurnsRound, DoesNotHold, Holds, CannotBeTold, Holds, Holds, CannotBeTold];
    assert_eq!(verdicts, expected, "{judged:#?}");
    let threads = |n| Point::from([("threads".into(), PointValue::Number(n))]);
    let places = |at: usize| -> Vec<_> {
        judged[at].evidence.iter().map(|found| (found.at.clone(), found.b_at.clone())).collect()
    };
    assert_eq!(places(0), [(threads(2), threads(1))]);
    assert_eq!(places(5), [(threads(1), Point::new()), (threads(2), Point::new())]);
    let reason = |at: usize| judged[at].reason.as_deref().unwrap();
    assert_eq!(reason(4), "this run does not measure get at threads 3");
    let slowest = &judged[6].evidence[0];
    assert!(slowest.a_us > judged[3].evidence[0].a_us, "{slowest:?}");
    assert!(reason(7).starts_with("a 99th percentile needs rounds of one"), "{}", reason(7));
}

#[test]
fn a_figure_is_found_at_its_point_or_where_the_sweep_is_best() {
    let figure = |lines: &str| {
        format!("[[article.figure]]\ntarget = 'waits'\nmeasure = 'ops_per_s'\n{lines}\n")
    };
    let lines = [
        figure("published = 100\npeak = true"),
        figure("published = 100\nat = { threads = 1 }"),
        figure("published = 1\npublished_to = 1000000\nat = { threads = 1 }"),
        figure("published = 0.1\npublished_to = 0.2\nat = { threads = 1 }"),
        figure("published = 1\nat = { threads = 3 }"),
    ];
    let found = laid_beside(SWEEP, &lines.concat(), &WorkloadSpec::default()).figures;
    let threads = |n| Point::from([("threads".into(), PointValue::Number(n))]);
    assert_eq!((&found[0].at, &found[1].at), (&threads(2), &threads(1)));
    let here = |at: usize| found[at].here.unwrap();
    assert!(close(here(0), 2.0 * here(1)), "{} beside {}", here(0), here(1));
    let ratio = |at: usize| found[at].ratio.unwrap();
    assert!(close(ratio(1), here(1) / 100.0));
    // Within a span it is the published value, and beyond it this many times the nearer end.
    assert!(close(ratio(2), 1.0) && close(ratio(3), here(3) / 0.2));
    assert_eq!(found[4].reason.as_deref(), Some("this run does not measure get at threads 3"));
}
