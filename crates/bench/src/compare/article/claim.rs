//! What a run says to the conclusions of an article.
//!
//! Times are compared as rates are everywhere: by ranks over the rounds, corrected for the number of comparisons, here
//! those of the article. A factor counts as reached, kept or missed only where the whole interval says so.

use larder_report::{Claim, ClaimCheck, ClaimKind, ClaimVerdict, Clock, Evidence, Run, Verdict};

use super::times::{Place, Times, find};
use crate::scenario::ClaimSpec;
use crate::statistics::{Difference, holm, median};

/// How many times two things that take as much time may differ, where the scenario does not say.
const NEAR: f64 = 1.5;

/// Judges all conclusions: one family for Holm's correction.
pub(super) fn judge_claims(specs: &[ClaimSpec], run: &Run) -> Vec<Claim> {
    let mut claims: Vec<Claim> = specs.iter().map(|spec| examined(spec, run)).collect();
    let all = || claims.iter().flat_map(|claim| &claim.evidence);
    let raw: Vec<f64> = all().filter_map(|evidence| evidence.p).collect();
    let mut corrected = holm(&raw).into_iter();
    for claim in &mut claims {
        for evidence in claim.evidence.iter_mut().filter(|evidence| evidence.p.is_some()) {
            evidence.p = corrected.next();
        }
        claim.verdict = verdict(claim);
    }
    claims
}

/// A conclusion with its evidence and no verdict yet.
fn examined(spec: &ClaimSpec, run: &Run) -> Claim {
    let otherwise = match spec.kind {
        ClaimKind::Near | ClaimKind::Sum => NEAR,
        ClaimKind::Faster | ClaimKind::NeverHits => 1.0,
    };
    let mut claim = Claim {
        says: spec.says.clone(),
        kind: spec.kind,
        part: spec.part.clone(),
        operation: place(spec, &spec.a).operation_in(run),
        by: spec.by,
        a: spec.a.clone(),
        b: spec.b.clone(),
        factor: spec.factor.unwrap_or(otherwise),
        verdict: ClaimVerdict::CannotBeTold,
        evidence: Vec::new(),
        hits: None,
        reason: None,
        checks: checks(spec, run),
    };
    match evidence(spec, run) {
        Ok((evidence, hits)) => (claim.evidence, claim.hits) = (evidence, hits),
        Err(reason) => claim.reason = Some(reason),
    }
    claim
}

fn place<'a>(spec: &'a ClaimSpec, target: &'a str) -> Place<'a> {
    Place { target, part: spec.part.as_deref(), operation: spec.operation.as_deref() }
}

type Found = (Vec<Evidence>, Option<[u64; 2]>);

fn evidence(spec: &ClaimSpec, run: &Run) -> Result<Found, String> {
    let a = find(run, &place(spec, &spec.a))?;
    if spec.kind == ClaimKind::NeverHits {
        let [_, reads] = a.hits;
        return match reads {
            0 => Err(format!("{} is not read here", spec.a)),
            _ => Ok((Vec::new(), Some(a.hits))),
        };
    }
    let others: Vec<Times> =
        spec.b.iter().map(|name| find(run, &place(spec, name))).collect::<Result<_, _>>()?;
    let of = |times: &Times| -> Result<Vec<f64>, String> {
        match spec.by {
            Clock::Wall => Ok(times.wall_s.clone()),
            Clock::Cpu => times.cpu_s().map(<[f64]>::to_vec),
        }
    };
    let a = of(&a)?;
    let mut others: Vec<Vec<f64>> = others.iter().map(of).collect::<Result<_, _>>()?;
    if spec.kind == ClaimKind::Sum {
        others = vec![sum(&others)];
    }
    let each = others.iter().map(|b| compared(spec.kind, &a, b, run.seed));
    let all: Option<Vec<Evidence>> = each.collect();
    Ok((all.ok_or("a round took no time that could be told")?, None))
}

/// All of them one after the other, round by round.
fn sum(times: &[Vec<f64>]) -> Vec<f64> {
    let rounds = times.iter().map(Vec::len).min().unwrap_or(0);
    (0..rounds).map(|round| times.iter().map(|times| times[round]).sum()).collect()
}

fn compared(kind: ClaimKind, a: &[f64], b: &[f64], seed: u64) -> Option<Evidence> {
    let Difference { ratio, ci95, p } = Difference::between(a, b, seed)?;
    let us = |times: &[f64]| median(times).map(|seconds| seconds * 1e6);
    // Whether two things are near, no test for a difference can say.
    let p = (kind == ClaimKind::Faster).then_some(p);
    Some(Evidence { a_us: us(a)?, b_us: us(b)?, ratio, ci95, p })
}

/// The checks that explain a conclusion, and which of them fired for a target that it is about.
fn checks(spec: &ClaimSpec, run: &Run) -> Vec<ClaimCheck> {
    let targets = || std::iter::once(&spec.a).chain(&spec.b);
    let fired = |id: &String| {
        run.checks
            .iter()
            .filter(|check| check.id == *id)
            .any(|check| targets().any(|target| place(spec, target).concerns(run, check)))
    };
    spec.checks.iter().map(|id| ClaimCheck { id: id.clone(), fired: fired(id) }).collect()
}

fn verdict(claim: &Claim) -> ClaimVerdict {
    if let Some([hits, _]) = claim.hits {
        return if hits == 0 { ClaimVerdict::Holds } else { ClaimVerdict::DoesNotHold };
    }
    let verdicts: Vec<ClaimVerdict> = claim
        .evidence
        .iter()
        .map(|evidence| match claim.kind {
            ClaimKind::Faster => faster(evidence, claim.factor),
            _ => near(evidence, claim.factor),
        })
        .collect();
    // One against which it fails is enough; otherwise it must hold against each.
    let worst = [ClaimVerdict::TurnsRound, ClaimVerdict::DoesNotHold, ClaimVerdict::CannotBeTold];
    let found = worst.into_iter().find(|verdict| verdicts.contains(verdict));
    let otherwise =
        if verdicts.is_empty() { ClaimVerdict::CannotBeTold } else { ClaimVerdict::Holds };
    found.unwrap_or(otherwise)
}

/// Whether the first takes less time, by the factor at least.
fn faster(evidence: &Evidence, factor: f64) -> ClaimVerdict {
    let sure = evidence.p.is_some_and(|p| p < Verdict::SIGNIFICANCE);
    let differs = 1.0 + Verdict::MIN_DIFFERENCE;
    if sure && evidence.ratio > differs {
        return ClaimVerdict::TurnsRound;
    }
    let sooner = sure && evidence.ratio.recip() > differs;
    if factor <= 1.0 {
        return if sooner { ClaimVerdict::Holds } else { ClaimVerdict::CannotBeTold };
    }
    // How many times faster: the interval of the ratio, turned over.
    let Some([most, least]) = evidence.ci95.map(|ci95| ci95.map(f64::recip)) else {
        return ClaimVerdict::CannotBeTold;
    };
    if sooner && least >= factor {
        ClaimVerdict::Holds
    } else if most < factor {
        ClaimVerdict::DoesNotHold
    } else {
        ClaimVerdict::CannotBeTold
    }
}

/// Whether both take as much time, within the factor.
fn near(evidence: &Evidence, factor: f64) -> ClaimVerdict {
    let Some([low, high]) = evidence.ci95 else { return ClaimVerdict::CannotBeTold };
    let within = factor.recip()..=factor;
    if within.contains(&low) && within.contains(&high) {
        ClaimVerdict::Holds
    } else if high < *within.start() || low > *within.end() {
        ClaimVerdict::DoesNotHold
    } else {
        ClaimVerdict::CannotBeTold
    }
}
