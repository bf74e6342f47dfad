//! The conclusions of an article in sentences.

use super::{at_point, place, place_at};
use crate::figures::{count, interval, list, nanoseconds, probability, ratio};
use crate::model::{Article, Claim, ClaimKind, ClaimVerdict, Clock, Evidence, Stored, Verdict};

/// A conclusion with the answer of this run.
#[derive(Debug)]
pub(crate) struct JudgedClaim<'a> {
    pub(crate) claim: &'a Claim,
    /// The verdict as a word.
    pub(crate) verdict: &'static str,
    /// Its label.
    pub(crate) mark: &'static str,
    /// The figures behind the verdict, a sentence each.
    pub(crate) evidence: Vec<String>,
    /// The checks that explain the conclusion and fired here.
    pub(crate) fired: Vec<&'a str>,
    /// The checks that explain it and did not fire.
    pub(crate) silent: Vec<&'a str>,
}

impl JudgedClaim<'_> {
    /// The conclusion, with a remark if it is not the author's.
    pub(crate) fn says(&self) -> String {
        let whose = if self.claim.derived { " (derived, not the author's)" } else { "" };
        format!("{}{whose}", self.claim.says)
    }

    /// The checks in words: a text for those that fired, and a text for the rest.
    pub(crate) fn checks(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if !self.fired.is_empty() {
            texts.push(format!("see {}", list(&self.fired)));
        }
        if !self.silent.is_empty() {
            texts.push(format!("{} did not fire in this run", list(&self.silent)));
        }
        texts
    }
}

/// Every conclusion.
pub(crate) fn judged_claims(article: &Article) -> Vec<JudgedClaim<'_>> {
    article.claims.iter().map(of_claim).collect()
}

fn of_claim(claim: &Claim) -> JudgedClaim<'_> {
    let (mark, verdict) = match claim.verdict {
        ClaimVerdict::Holds => ("✓", "holds"),
        ClaimVerdict::TurnsRound => ("⇄", "turns round"),
        ClaimVerdict::DoesNotHold => ("✗", "does not hold"),
        ClaimVerdict::CannotBeTold => ("?", "cannot be told"),
    };
    let ids = |fired: bool| {
        let mine = claim.checks.iter().filter(move |check| check.fired == fired);
        mine.map(|check| check.id.as_str()).collect()
    };
    JudgedClaim {
        claim,
        verdict,
        mark,
        evidence: evidence(claim),
        fired: ids(true),
        silent: ids(false),
    }
}

fn evidence(claim: &Claim) -> Vec<String> {
    let at = place(claim.part.as_deref(), &claim.operation);
    let reason = claim.reason.iter().map(|reason| format!("{at}: {reason}"));
    if let Some([hits, reads]) = claim.hits {
        let hits = format!("{at}: {hits} of {} of {} hit", count(reads, "read"), claim.a);
        return std::iter::once(hits).chain(reason).collect();
    }
    if claim.kind.is_of_values() {
        let sentence = |stored: &Stored| {
            let at = place_at(claim.part.as_deref(), &claim.operation, &stored.at);
            format!("{at}: {} {}", claim.a, became(stored))
        };
        return claim.stored.iter().map(sentence).chain(reason).collect();
    }
    let names: Vec<&str> = claim.b.iter().map(String::as_str).collect();
    let together = format!("{} together", list(&names));
    let sentence = |(n, evidence): (usize, &Evidence)| {
        // The names of `b` repeat at each point.
        let other = match claim.kind {
            ClaimKind::Sum => together.as_str(),
            _ => n.checked_rem(names.len()).map_or("", |n| names[n]),
        };
        let (part, operation) = (claim.part.as_deref(), claim.operation.as_str());
        let [by, b_by] = ways(claim);
        let (one, other) = (format!("{}{by}", claim.a), format!("{other}{b_by}"));
        if evidence.b_at.is_empty() {
            let at = place_at(part, operation, &evidence.at);
            return format!("{at}: {}", compared(claim, evidence, &one, &other));
        }
        let here = [one, at_point(&evidence.at)].concat();
        let there = [other, at_point(&evidence.b_at)].concat();
        format!("{at}: {}", compared(claim, evidence, &here, &there))
    };
    claim.evidence.iter().enumerate().map(sentence).chain(reason).collect()
}

/// The way in which each side does its work, where the ways differ.
fn ways(claim: &Claim) -> [String; 2] {
    match &claim.b_operation {
        Some(other) => [&claim.operation, other].map(|operation| format!(" by {operation}")),
        None => Default::default(),
    }
}

/// The fate of the values that a target was given.
fn became(stored: &Stored) -> String {
    let Stored { given, refused, read_back, gone, .. } = *stored;
    let why = stored.refusal.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    if given == 0 {
        return format!("was given no value{why}");
    }
    let values = count(usize::try_from(given).unwrap_or(usize::MAX), "value");
    if refused == given {
        return format!("refused all of {values}{why}");
    }
    let acknowledged = if refused == 0 {
        format!("acknowledged all of {values}")
    } else {
        format!("refused {refused} of {values}{why}; it acknowledged the other values")
    };
    match (read_back, gone) {
        (0, _) => acknowledged,
        (_, 0) => {
            format!("{acknowledged}, and each of {} read back was there", count(read_back, "value"))
        }
        _ => {
            let values = count(read_back, "value");
            format!("{acknowledged}, and {gone} of {values} read back were not there")
        }
    }
}

/// Two times and the difference between them.
fn compared(claim: &Claim, evidence: &Evidence, one: &str, other: &str) -> String {
    let time = |us: f64| nanoseconds(us * 1e3);
    let (a, b) = (time(evidence.a_us), time(evidence.b_us));
    let by = match claim.by {
        Clock::Wall => String::new(),
        Clock::Cpu => " of the client's CPU time".to_owned(),
        Clock::Latency => " of mean latency".to_owned(),
        Clock::P99 => " to the 99th percentile of a round".to_owned(),
        Clock::Max => " for the slowest operation of a round".to_owned(),
    };
    let mut parts = vec![format!("{one} {a}, {other} {b}{by}")];
    // Figures that are no results make no target faster.
    if !claim.doubts.is_empty() {
        return parts.remove(0);
    }
    if claim.kind == ClaimKind::Faster {
        parts.push(lead(evidence, one, other));
        if claim.factor > 1.0 {
            parts.push(beside_the_factor(claim.factor, evidence, one));
        }
    } else {
        let share = with_interval(evidence.ratio, evidence.ci95);
        parts.push(format!("the first is {share} the second"));
        let alike = format!("up to {} apart counts as alike", ratio(claim.factor));
        parts.push(format!("{alike}{}", tested(evidence)));
    }
    parts.join("; ")
}

/// Whether the lead is as large as the article says, or whether the run cannot tell.
fn beside_the_factor(factor: f64, evidence: &Evidence, one: &str) -> String {
    let is_sure = evidence.p_factor.iter().all(|p| *p < Verdict::SIGNIFICANCE);
    let verdict = match evidence.ratio.recip() >= factor {
        _ if evidence.p_factor.is_empty() || !is_sure => "cannot be told",
        true => "holds",
        false => "does not hold",
    };
    format!("that {one} is at least {} as fast {verdict}{}", ratio(factor), tested(evidence))
}

/// The certainty that the times lie on one side of the factor. Of two bounds, the less sure one counts.
fn tested(evidence: &Evidence) -> String {
    let least_sure = evidence.p_factor.iter().copied().reduce(f64::max);
    least_sure.map(|p| format!(", {}", probability(p))).unwrap_or_default()
}

/// The faster target, and its lead.
fn lead(evidence: &Evidence, one: &str, other: &str) -> String {
    let turned = evidence.ci95.map(|[low, high]| [high.recip(), low.recip()]);
    let (faster, times) = if evidence.ratio <= 1.0 {
        (one, with_interval(evidence.ratio.recip(), turned))
    } else {
        (other, with_interval(evidence.ratio, evidence.ci95))
    };
    let sure = evidence.p.map(|p| format!(", {}", probability(p))).unwrap_or_default();
    format!("{faster} is {times} as fast{sure}")
}

fn with_interval(value: f64, ci95: Option<[f64; 2]>) -> String {
    match ci95 {
        Some(ci95) => format!("{} {}", ratio(value), interval(value, ci95)),
        None => ratio(value),
    }
}
