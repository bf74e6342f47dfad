//! A run that repeats an article: each kind of figure, each kind of conclusion, each verdict.

use larder_report::{
    Article, ArticleChecks, ArticleFigure, ArticleForm, ArticleRate, Claim, ClaimCheck, ClaimKind,
    ClaimVerdict, Clock, Evidence, Measure, Operation, Point, PointValue, Run, Severity, Stored,
};

use super::plan::Plan;
use super::profile::PROFILES;
use super::runs::check;

/// Three targets in two parts, beside figures that the article did not publish.
pub(crate) fn article() -> Run {
    let part = |name: &str| Point::from([("part".into(), PointValue::Text(name.into()))]);
    let plan = Plan::new(&PROFILES[..3], vec![part("read-heavy"), part("write-heavy")]);
    let mut run = Plan { operations: vec![Operation::Set, Operation::Get], ..plan }.run();
    let names: Vec<String> = run.targets.iter().map(|target| target.name.clone()).collect();
    let (first, second, third) = (names[0].as_str(), names[1].as_str(), names[2].as_str());
    run.workload.insert("as".into(), "published".into());
    run.checks = vec![check(
        "NEVER-HITS",
        Severity::Error,
        Some(run.targets[2].url.as_str()),
        "0 hits of 200000 reads: only misses timed",
    )];
    run.article = Some(Article {
        claims_of_other_form: 0,
        id: "A999".into(),
        title: "Three caches that nobody compared, in a language that nobody speaks".into(),
        machine: "one core of a machine that never was, 512 MB".into(),
        form: ArticleForm::Published,
        changed: Vec::new(),
        cut: Some("1,000 iterations a round and not 50,000".into()),
        matrix: true,
        percentiles: true,
        rates: rates([first, second, third]),
        figures: figures([first, second, third]),
        claims: [claims([first, second, third]), untold([first, second])].concat(),
        checks: Some(ArticleChecks {
            fired: vec!["NEVER-HITS".into()],
            silent: vec!["CPU-WALL".into(), "RECONNECT".into()],
            unexpected: Vec::new(),
            incidental: vec!["CLIENT-COST".into()],
        }),
    });
    run
}

fn figures([first, second, third]: [&str; 3]) -> Vec<ArticleFigure> {
    let figure = |target: &str, measure, published, here: Option<f64>| ArticleFigure {
        target: target.into(),
        part: Some("read-heavy".into()),
        at: Point::new(),
        peak: false,
        operation: "get".into(),
        measure,
        iterations: Some(50_000),
        published: Some(published),
        published_to: None,
        here,
        here_ci95: here.map(|here| [here * 0.98, here * 1.03]),
        here_iterations: here.map(|_| 1000),
        ratio: here.map(|here| here / published),
        reason: None,
        doubts: Vec::new(),
    };
    let joined = |of: ArticleFigure| ArticleFigure {
        part: Some("write-heavy".into()),
        operation: "set+get".into(),
        ..of
    };
    vec![
        figure(first, Measure::Wall, 101.018_182, Some(12.43)),
        figure(second, Measure::Wall, 3.473_889, Some(0.2185)),
        ArticleFigure {
            doubts: vec!["NEVER-HITS".into()],
            ..figure(third, Measure::Wall, 5.370_702, Some(9.1))
        },
        ArticleFigure {
            reason: Some("a fourth cache is not among the targets of this run".into()),
            ..figure("a fourth cache", Measure::Wall, 7.1, None)
        },
        figure(first, Measure::OpsPerS, 495.0, Some(4022.5)),
        figure(first, Measure::Misses, 3.0, Some(1.0)),
        joined(figure(first, Measure::UsPerOp, 2593.0, Some(498.1))),
        ArticleFigure { here_ci95: None, ..joined(figure(second, Measure::Cpu, 4.55, Some(0.91))) },
    ]
}

/// Rates at two places; the CPU time of the last target is known at one of them only.
fn rates([first, second, third]: [&str; 3]) -> Vec<ArticleRate> {
    let rate = |target: &str, place: (&str, &str), ops_per_s, cpu_ops_per_s| ArticleRate {
        target: target.into(),
        part: Some(place.0.into()),
        operation: place.1.into(),
        ops_per_s,
        cpu_ops_per_s,
    };
    let (read, write) = (("read-heavy", "get"), ("write-heavy", "set+get"));
    vec![
        rate(first, read, 4022.5, Some(192_300.0)),
        rate(second, read, 228_800.0, Some(32_050.0)),
        rate(third, read, 5494.0, Some(5510.0)),
        rate(first, write, 2007.6, Some(1_040_000.0)),
        rate(second, write, 142_000.0, Some(54_945.0)),
        rate(third, write, 39_300.0, None),
    ]
}

fn claim(says: &str, kind: ClaimKind, a: &str, b: &[&str], verdict: ClaimVerdict) -> Claim {
    Claim {
        line: None,
        derived: false,
        statement: None,
        says: says.into(),
        kind,
        part: Some("read-heavy".into()),
        operation: "get".into(),
        b_operation: None,
        by: Clock::Wall,
        a: a.into(),
        b: b.iter().map(|name| (*name).to_owned()).collect(),
        factor: if kind == ClaimKind::Faster { 1.0 } else { 1.5 },
        verdict,
        evidence: Vec::new(),
        hits: None,
        misses: None,
        stored: Vec::new(),
        reason: None,
        doubts: Vec::new(),
        checks: Vec::new(),
    }
}

/// A ratio of two times, with an interval.
fn times(a_us: f64, b_us: f64, p: Option<f64>) -> Evidence {
    Evidence {
        at: Point::new(),
        b_at: Point::new(),
        a_us,
        b_us,
        ratio: a_us / b_us,
        ci95: Some([a_us / b_us * 0.96, a_us / b_us * 1.05]),
        p,
        p_factor: Vec::new(),
    }
}

fn claims([first, second, third]: [&str; 3]) -> Vec<Claim> {
    let fired = |id: &str, fired| ClaimCheck { id: id.into(), fired };
    vec![
        Claim {
            evidence: vec![times(4.37, 248.6, Some(0.0004)), times(4.37, 182.0, Some(0.0004))],
            checks: vec![fired("ONE-KEY", false), fired("NEVER-HITS", true)],
            ..claim(
                "The second is the fastest of the three.",
                ClaimKind::Faster,
                second,
                &[first, third],
                ClaimVerdict::Holds,
            )
        },
        Claim {
            by: Clock::Cpu,
            factor: 10.0,
            evidence: vec![Evidence { p_factor: vec![0.0004], ..times(31.2, 5.2, Some(0.0004)) }],
            checks: vec![fired("CPU-WALL", false)],
            ..claim(
                "The first is more than ten times faster than the second.",
                ClaimKind::Faster,
                first,
                &[second],
                ClaimVerdict::TurnsRound,
            )
        },
        Claim {
            evidence: vec![Evidence {
                p_factor: vec![0.0004, 0.0087],
                ..times(182.0, 248.6, None)
            }],
            ..claim(
                "The third is near the first.",
                ClaimKind::Near,
                third,
                &[first],
                ClaimVerdict::Holds,
            )
        },
        Claim {
            evidence: vec![Evidence {
                p_factor: vec![0.0004, 0.0004],
                ..times(248.6, 186.4, None)
            }],
            factor: 1.2,
            part: Some("write-heavy".into()),
            operation: "set+get".into(),
            ..claim(
                "The first costs as much as both others together.",
                ClaimKind::Sum,
                first,
                &[second, third],
                ClaimVerdict::DoesNotHold,
            )
        },
        Claim {
            hits: Some([0, 200_000]),
            misses: Some(200_000),
            checks: vec![fired("NEVER-HITS", true)],
            ..claim(
                "No read of the third hits.",
                ClaimKind::NeverHits,
                third,
                &[],
                ClaimVerdict::Holds,
            )
        },
        Claim {
            stored: vec![Stored {
                given: 5000,
                refused: 170,
                refusal: Some("full: no space left on device".into()),
                read_back: 4830,
                ..Stored::default()
            }],
            operation: "set".into(),
            ..claim(
                "The second stores whatever it is given.",
                ClaimKind::StoresAll,
                second,
                &[],
                ClaimVerdict::DoesNotHold,
            )
        },
    ]
}

/// Conclusions on which the run cannot decide, each for another reason.
fn untold([first, second]: [&str; 2]) -> Vec<Claim> {
    vec![
        Claim {
            evidence: vec![Evidence { ci95: None, ..times(1.01, 1.0, Some(0.4)) }],
            reason: Some("5 rounds cannot tell in 9 tests: 7 are needed".into()),
            ..claim(
                "The first beats the second.",
                ClaimKind::Faster,
                first,
                &[second],
                ClaimVerdict::CannotBeTold,
            )
        },
        Claim {
            hits: Some([0, 200_000]),
            misses: Some(150_000),
            reason: Some("50000 reads failed, or returned something that was not stored".into()),
            doubts: vec!["ERR-AS-OP".into()],
            ..claim(
                "No read of the second hits.",
                ClaimKind::NeverHits,
                second,
                &[],
                ClaimVerdict::CannotBeTold,
            )
        },
        Claim {
            reason: Some("a fourth cache is not among the targets of this run".into()),
            ..claim(
                "A fourth cache is as fast as the first.",
                ClaimKind::Near,
                "a fourth cache",
                &[first],
                ClaimVerdict::CannotBeTold,
            )
        },
    ]
}
