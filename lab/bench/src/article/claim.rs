//! Verdicts of a run on the conclusions of an article.
//!
//! Times are compared as rates are everywhere: by ranks over the rounds, corrected for the number of tests in the whole
//! article. A factor is tested by ranks too: the times of one target against the other's times, multiplied by the
//! factor. A verdict on a factor needs a significant test.

use larder_report::figures::count;
use larder_report::{
    Claim, ClaimCheck, ClaimKind, ClaimVerdict, Clock, Evidence, Point, Run, Verdict,
    rounds_for_verdict, smallest_p,
};

use super::stored;
use super::times::{FigurePlace, IterationTimes, find};
use crate::scenario::{ClaimSpec, PointReference};
use larder_analysis::check::STAND_IN;
use larder_analysis::statistics::{Difference, holm, mann_whitney, median};

/// The largest ratio of two times that count as equal, where the scenario gives no factor.
const NEAR: f64 = 1.5;

/// Judges all conclusions, as one family for Holm's correction, unless options changed the workload.
pub(super) fn judge_claims(specs: &[&ClaimSpec], run: &Run, changed: &[String]) -> Vec<Claim> {
    let mut examined: Vec<Examined> = specs.iter().map(|spec| Examined::of(spec, run)).collect();
    let tests = correct(&mut examined);
    let judged = examined.into_iter().zip(specs).map(|(Examined { mut claim, rounds }, spec)| {
        let told = verdict(&claim);
        let waits = spec.waits.as_ref().map(|why| format!("this conclusion waits: {why}"));
        let reason = waits.or_else(|| claim.reason.take()).or_else(|| untold(&claim, changed));
        claim.verdict = if reason.is_some() { ClaimVerdict::CannotBeTold } else { told };
        let few = || too_few(rounds, tests).filter(|_| told == ClaimVerdict::CannotBeTold);
        claim.reason = reason.or_else(few);
        claim
    });
    judged.collect()
}

/// A conclusion with its evidence and no verdict yet.
struct Examined {
    claim: Claim,
    /// The fewest rounds behind any of its figures; `None` where nothing is tested by ranks.
    rounds: Option<usize>,
}

impl Examined {
    fn of(spec: &ClaimSpec, run: &Run) -> Self {
        let mut claim = Claim {
            says: spec.says.clone(),
            line: spec.line,
            derived: spec.derived,
            statement: spec.statement.clone(),
            kind: spec.kind,
            part: spec.part.clone(),
            operation: place(spec, &spec.a, None).operation_in(run),
            b_operation: spec.b_operation.clone(),
            by: spec.by,
            a: spec.a.clone(),
            b: spec.b.clone(),
            factor: factor(spec),
            verdict: ClaimVerdict::CannotBeTold,
            evidence: Vec::new(),
            hits: None,
            misses: None,
            stored: Vec::new(),
            reason: None,
            doubts: Vec::new(),
            checks: checks(spec, run),
        };
        let rounds = examine(&mut claim, spec, run).unwrap_or_else(|reason| {
            claim.reason = Some(reason);
            None
        });
        Self { claim, rounds }
    }
}

fn factor(spec: &ClaimSpec) -> f64 {
    spec.factor.unwrap_or(match spec.kind {
        ClaimKind::Near | ClaimKind::Sum => NEAR,
        _ => 1.0,
    })
}

/// Corrects every p of the article together, and returns their number. Does not test figures that a check disqualifies.
fn correct(examined: &mut [Examined]) -> usize {
    for Examined { claim, .. } in examined.iter_mut().filter(|one| !one.claim.doubts.is_empty()) {
        for evidence in &mut claim.evidence {
            (evidence.p, evidence.p_factor) = (None, Vec::new());
        }
    }
    let all = examined.iter_mut().flat_map(|examined| &mut examined.claim.evidence);
    let mut tests: Vec<&mut f64> =
        all.flat_map(|evidence| evidence.p.iter_mut().chain(&mut evidence.p_factor)).collect();
    let raw: Vec<f64> = tests.iter().map(|p| **p).collect();
    for (p, corrected) in tests.iter_mut().zip(holm(&raw)) {
        **p = corrected;
    }
    raw.len()
}

fn place<'a>(spec: &'a ClaimSpec, target: &'a str, at: Option<&'a Point>) -> FigurePlace<'a> {
    FigurePlace { target, part: spec.part.as_deref(), at, operation: spec.operation.as_deref() }
}

/// The place of a target that `a` is compared with.
fn b_place<'a>(spec: &'a ClaimSpec, target: &'a str, at: &'a Point) -> FigurePlace<'a> {
    let operation = spec.b_operation.as_deref().or(spec.operation.as_deref());
    FigurePlace { operation, ..place(spec, target, Some(at)) }
}

/// The pairs of points that a conclusion compares: a point of `a` and a point of `b`. Without a sweep there is one
/// pair, without coordinates.
fn pairs(spec: &ClaimSpec) -> Vec<(Point, Point)> {
    let points = |at: &[PointReference]| at.iter().map(PointReference::point).collect::<Vec<_>>();
    let (at, b_at) = (points(&spec.at), points(&spec.b_at));
    match (at.is_empty(), b_at.is_empty()) {
        (true, _) => vec![(Point::new(), Point::new())],
        (false, true) => at.into_iter().map(|at| (at.clone(), at)).collect(),
        (false, false) => {
            let beside =
                |at: &Point| b_at.iter().map(|b_at| (at.clone(), b_at.clone())).collect::<Vec<_>>();
            at.iter().flat_map(beside).collect()
        }
    }
}

/// Fills in the evidence, and returns the number of rounds behind it.
fn examine(claim: &mut Claim, spec: &ClaimSpec, run: &Run) -> Result<Option<usize>, String> {
    if spec.kind.is_of_values() {
        let points = pairs(spec).into_iter().map(|(at, _)| at);
        let of = |at: Point| stored::find(run, &place(spec, &spec.a, Some(&at)));
        claim.stored = points.map(of).collect::<Result<_, _>>()?;
        return Ok(None);
    }
    let mut rounds: Option<usize> = None;
    let mut all = Vec::new();
    for (at, b_at) in pairs(spec) {
        let a = find(run, &place(spec, &spec.a, Some(&at)))?;
        let others = spec.b.iter().map(|name| find(run, &b_place(spec, name, &b_at)));
        let others: Vec<IterationTimes> = others.collect::<Result<_, _>>()?;
        for doubt in others.iter().chain([&a]).flat_map(|times| &times.doubts) {
            // The time of a stand-in says nothing of the named server, even where the scenario lists this check.
            let counted_with = spec.checks.contains(doubt) && doubt != STAND_IN;
            if !counted_with && !claim.doubts.contains(doubt) {
                claim.doubts.push(doubt.clone());
            }
        }
        if spec.kind == ClaimKind::NeverHits {
            if a.reads == 0 {
                return Err(format!("{} is not read here", spec.a));
            }
            (claim.hits, claim.misses) = (Some([a.hits, a.reads]), Some(a.missed));
            return Ok(None);
        }
        let (a, others) = times(spec, &a, &others)?;
        for b in &others {
            let evidence = compared(spec, &a, b, run.seed);
            let evidence = evidence.ok_or("a round was too short for the clock")?;
            let b_at = if b_at == at { Point::new() } else { b_at.clone() };
            all.push(Evidence { at: at.clone(), b_at, ..evidence });
        }
        rounds = others.iter().chain([&a]).map(Vec::len).chain(rounds).min();
    }
    claim.evidence = all;
    Ok(rounds)
}

/// The times of both sides of a conclusion in each round, by its clock. For a sum, all times of `b` are added up.
fn times(
    spec: &ClaimSpec,
    a: &IterationTimes,
    others: &[IterationTimes],
) -> Result<(Vec<f64>, Vec<Vec<f64>>), String> {
    let of = |times: &IterationTimes| -> Result<Vec<f64>, String> {
        match spec.by {
            Clock::Wall => Ok(times.wall_s.clone()),
            Clock::Cpu => times.cpu_s().map(<[f64]>::to_vec),
            Clock::Latency => times.latency_s().map(<[f64]>::to_vec),
            Clock::P99 => times.p99_s().map(<[f64]>::to_vec),
            Clock::Max => times.max_s().map(<[f64]>::to_vec),
        }
    };
    let others: Vec<Vec<f64>> = others.iter().map(of).collect::<Result<_, _>>()?;
    let others = if spec.kind == ClaimKind::Sum { vec![sum(&others)] } else { others };
    Ok((of(a)?, others))
}

/// The sum of all times, round by round.
fn sum(times: &[Vec<f64>]) -> Vec<f64> {
    let rounds = times.iter().map(Vec::len).min().unwrap_or(0);
    (0..rounds).map(|round| times.iter().map(|times| times[round]).sum()).collect()
}

fn compared(spec: &ClaimSpec, a: &[f64], b: &[f64], seed: u64) -> Option<Evidence> {
    let Difference { ratio, ci95, p } = Difference::between(a, b, seed)?;
    let us = |times: &[f64]| median(times).map(|seconds| seconds * 1e6);
    let at = |times: f64| mann_whitney(a, &b.iter().map(|b| b * times).collect::<Vec<_>>());
    let factor = factor(spec);
    // A test for a difference cannot show that two times are near, so they are tested against both bounds.
    let (p, p_factor) = match spec.kind {
        ClaimKind::Faster if factor > 1.0 => (Some(p), vec![at(factor.recip())]),
        ClaimKind::Faster => (Some(p), Vec::new()),
        _ => (None, vec![at(factor.recip()), at(factor)]),
    };
    let (at, b_at) = (Point::new(), Point::new());
    Some(Evidence { at, b_at, a_us: us(a)?, b_us: us(b)?, ratio, ci95, p, p_factor })
}

/// The checks that explain a conclusion, and whether each fired for its figures.
fn checks(spec: &ClaimSpec, run: &Run) -> Vec<ClaimCheck> {
    let pairs = pairs(spec);
    let places: Vec<FigurePlace<'_>> = pairs
        .iter()
        .flat_map(|(at, b_at)| {
            let others = spec.b.iter().map(move |name| b_place(spec, name, b_at));
            std::iter::once(place(spec, &spec.a, Some(at))).chain(others)
        })
        .collect();
    let fired = |id: &String| {
        let mut mine = run.checks.iter().filter(|check| check.id == *id);
        mine.any(|check| places.iter().any(|place| place.concerns(run, check)))
    };
    spec.checks.iter().map(|id| ClaimCheck { id: id.clone(), fired: fired(id) }).collect()
}

/// The reason not to judge a conclusion, whatever its evidence.
fn untold(claim: &Claim, changed: &[String]) -> Option<String> {
    if !changed.is_empty() {
        return Some(format!("{} changed the workload", changed.join(", ")));
    }
    if claim.doubts.iter().any(|doubt| doubt == STAND_IN) {
        return Some(format!(
            "one of its figures is no result: {STAND_IN}, another server answered in place of the named server"
        ));
    }
    if !claim.doubts.is_empty() {
        let (ids, which) = (claim.doubts.join(", "), "which the conclusion does not expect");
        return Some(format!("one of its figures is no result: {ids}, {which}"));
    }
    let [hits, reads] = claim.hits?;
    let others = reads - hits - claim.misses?;
    (hits == 0 && others > 0)
        .then(|| format!("{} failed or returned wrong values", count(others, "read")))
}

/// The reason for no verdict where even the clearest order of so few rounds cannot be significant.
fn too_few(rounds: Option<usize>, tests: usize) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "a number of tests")]
    let clearest = |rounds| smallest_p(rounds, rounds) * tests as f64;
    let rounds = rounds.filter(|rounds| clearest(*rounds) >= Verdict::SIGNIFICANCE)?;
    let needed = rounds_for_verdict(rounds, tests);
    let (rounds, tests) = (count(rounds, "round"), count(tests, "test"));
    Some(format!("{rounds} cannot decide {tests}: {needed} are needed"))
}

fn verdict(claim: &Claim) -> ClaimVerdict {
    if let Some([hits, _]) = claim.hits {
        return if hits == 0 { ClaimVerdict::Holds } else { ClaimVerdict::DoesNotHold };
    }
    let tested = claim.evidence.iter().map(|evidence| match claim.kind {
        ClaimKind::Faster => faster(evidence, claim.factor),
        _ => near(evidence, claim.factor),
    });
    let seen = claim.stored.iter().map(|stored| stored::verdict(claim.kind, stored));
    let verdicts: Vec<ClaimVerdict> = tested.chain(seen).collect();
    let (all, any) = (
        |verdict| verdicts.iter().all(|found| *found == verdict),
        |verdict| verdicts.contains(&verdict),
    );
    // A single failure refutes the conclusion. It holds, or is reversed, only if that is so in every comparison.
    if verdicts.is_empty() {
        ClaimVerdict::CannotBeTold
    } else if all(ClaimVerdict::TurnsRound) {
        ClaimVerdict::TurnsRound
    } else if any(ClaimVerdict::TurnsRound) || any(ClaimVerdict::DoesNotHold) {
        ClaimVerdict::DoesNotHold
    } else if all(ClaimVerdict::Holds) {
        ClaimVerdict::Holds
    } else {
        ClaimVerdict::CannotBeTold
    }
}

fn sure(p: f64) -> bool {
    p < Verdict::SIGNIFICANCE
}

/// Whether `a` takes less time than `b`, at least by the factor.
fn faster(evidence: &Evidence, factor: f64) -> ClaimVerdict {
    let differs = 1.0 + Verdict::MIN_DIFFERENCE;
    let sooner = evidence.ratio.recip();
    let tested = evidence.p.is_some_and(sure);
    let at_factor = evidence.p_factor.first().copied();
    if tested && evidence.ratio > differs {
        ClaimVerdict::TurnsRound
    } else if !at_factor.map_or(tested && sooner > differs, sure) {
        ClaimVerdict::CannotBeTold
    } else if sooner > factor {
        ClaimVerdict::Holds
    } else {
        ClaimVerdict::DoesNotHold
    }
}

/// Whether both take about the same time, within the factor.
fn near(evidence: &Evidence, factor: f64) -> ClaimVerdict {
    let [low, high] = evidence.p_factor[..] else { return ClaimVerdict::CannotBeTold };
    let (above, below) = (evidence.ratio > factor.recip(), evidence.ratio < factor);
    if (sure(low) && !above) || (sure(high) && !below) {
        ClaimVerdict::DoesNotHold
    } else if sure(low) && sure(high) {
        ClaimVerdict::Holds
    } else {
        ClaimVerdict::CannotBeTold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: ClaimKind, a: &str) -> ClaimSpec {
        ClaimSpec {
            line: None,
            derived: false,
            statement: None,
            form: None,
            waits: None,
            says: "so it is".into(),
            kind,
            a: a.into(),
            b: Vec::new(),
            factor: None,
            by: Clock::Wall,
            part: None,
            at: Vec::new(),
            b_at: Vec::new(),
            operation: Some("get".into()),
            b_operation: None,
            checks: Vec::new(),
        }
    }

    fn fixture() -> Run {
        Run::from_json(include_str!("../../../report/tests/fixture/run.json")).unwrap()
    }

    #[test]
    fn a_failed_read_is_not_a_miss() {
        let (spec, run) = (spec(ClaimKind::NeverHits, "it"), fixture());
        let of = |hits: u64, misses: u64| {
            let claim = Examined::of(&spec, &run).claim;
            untold(&Claim { hits: Some([hits, 100]), misses: Some(misses), ..claim }, &[])
        };
        let failed = "90 reads failed or returned wrong values";
        assert_eq!(of(0, 10).as_deref(), Some(failed));
        assert_eq!((of(0, 100), of(7, 10)), (None, None));
    }

    /// Sets the rounds of a target to these times, with a spread of a few percent.
    fn sampled(run: &mut Run, target: &str, [wall_us, cpu_us]: [f64; 2]) {
        let named = |known: &&larder_report::Target| known.name == target;
        let url = run.targets.iter().find(named).unwrap().url.clone();
        let mine = |cell: &&mut larder_report::Cell| {
            cell.target == url && cell.operation.as_str() == "get" && cell.wall_s.is_some()
        };
        let cell = run.cells.iter_mut().find(mine).unwrap();
        let (ops, model) = (1000, cell.samples[0].clone());
        let round = |number: u32| {
            let mut sample = model.clone();
            (sample.round, sample.complete, sample.counts.ops) = (number, true, ops);
            let seconds = |us: f64| us * 1e-6 * 1000.0 * (1.0 + 0.005 * f64::from(number));
            (sample.wall_s, sample.client_cpu_s) = (seconds(wall_us), Some(seconds(cpu_us)));
            sample
        };
        cell.samples = (1..=9).map(round).collect();
    }

    #[test]
    fn cpu_time_ranks_a_waiting_client_first_and_wall_time_last() {
        // The times are made up: on some machines a real wake-up costs more CPU time than the work beside it.
        let mut run = fixture();
        sampled(&mut run, "memcached:", [110.0, 4.0]);
        sampled(&mut run, "file", [25.0, 24.0]);
        let judge = |by: Clock| {
            let at = PointReference {
                data_size: Some("4k".parse().unwrap()),
                ..PointReference::default()
            };
            let spec = spec(ClaimKind::Faster, "memcached:");
            let spec = ClaimSpec { by, at: vec![at], b: vec!["file".to_owned()], ..spec };
            judge_claims(&[&spec], &run, &[]).remove(0)
        };
        let [wall, cpu] = [Clock::Wall, Clock::Cpu].map(judge);
        assert_eq!(wall.verdict, ClaimVerdict::TurnsRound, "{wall:#?}");
        assert_eq!(cpu.verdict, ClaimVerdict::Holds, "{cpu:#?}");
        assert!((cpu.evidence[0].ratio - 1.0 / 6.0).abs() < 0.01, "{cpu:#?}");
    }

    #[test]
    fn the_speed_of_a_stand_in_decides_no_claim() {
        let mut run = fixture();
        let at =
            PointReference { data_size: Some("4k".parse().unwrap()), ..PointReference::default() };
        let (b, checks) = (vec!["memcached:".to_owned()], vec![STAND_IN.to_owned()]);
        let operation = Some("set".to_owned());
        let spec = spec(ClaimKind::Faster, "file");
        let spec = ClaimSpec { at: vec![at], b, checks, operation, ..spec };
        let judge = |run: &Run| judge_claims(&[&spec], run, &[]).remove(0);
        let claim = judge(&run);
        assert_ne!(claim.verdict, ClaimVerdict::CannotBeTold, "{claim:#?}");
        let memcached = run.targets.iter_mut().find(|target| target.name == "memcached:").unwrap();
        memcached.settings.insert("stand_in".into(), "says nothing of its speed".into());
        let found = larder_analysis::check::run_all(&run);
        run.checks.extend(found);
        let claim = judge(&run);
        assert_eq!(claim.verdict, ClaimVerdict::CannotBeTold);
        assert_eq!(claim.doubts, [STAND_IN]);
        assert!(claim.reason.is_some_and(|reason| reason.contains("in place of")));
        // The measured value is shown, but not tested.
        let [evidence] = &claim.evidence[..] else { panic!("{:#?}", claim.evidence) };
        assert!(evidence.b_us > 0.0 && evidence.p.is_none() && evidence.p_factor.is_empty());
    }
}
