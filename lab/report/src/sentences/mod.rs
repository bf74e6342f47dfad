//! The conclusions from the figures, in generated sentences: every claim has its interval, and targets that cannot be
//! told apart are reported as such.

mod floors;
mod hits;
mod leads;
mod loads;
mod paced;
mod power;
mod short;
mod steady;

use std::fmt;

use crate::figures::{self, agreeing, count, list, probability};
use crate::findings::said_of;
use crate::header::rounds;
use crate::model::{Operation, Point, ReasonKind, Run, Target, Verdict};
use crate::points::short_label;
use crate::ranking::{Group, Pair, Row, Standing, groups, pair};
pub(crate) use floors::languages as floor_languages;
pub use floors::{floor_share, operation_ns};
pub use power::{PAIRED_FROM, rounds_for_verdict, smallest_p};
pub(crate) use power::{no_verdict, rounds_needed};
pub(crate) use short::in_short;

/// The heading above the sentences.
pub(crate) const FIGURES_SAY: &str = "What the figures say";

/// The purpose of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The sentence names the faster target, or says that the run cannot tell.
    Answer,
    /// The sentence adds a fact that a reader must know beside the answers.
    Remark,
}

/// One statement about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// Its purpose.
    pub role: Role,
    /// The operation; `None` where it concerns the run or a target.
    pub operation: Option<Operation>,
    /// The point; `None` where it concerns all points.
    pub point: Option<Point>,
    /// Its subject, in a few words: `get, 4 KiB`.
    pub subject: String,
    /// The statement, without a full stop.
    pub text: String,
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.text)
    }
}

/// All sentences about a run. First come an interruption and whether any verdict is possible, then the faster targets
/// for each operation and point. Then follow the cost of measuring, the targets that did not run or were lost, and the
/// rule for telling targets apart.
///
/// Not every pair has a sentence. At a single point the targets are compared down the ranking, each with the next, and
/// the slowest with the best. At each point of a sweep, only the best is compared with the next and with the slowest.
pub fn sentences(run: &Run) -> Vec<Sentence> {
    let groups = groups(run);
    let swept = run.swept();
    let mut sentences: Vec<Sentence> = interruption(run).into_iter().collect();
    sentences.extend(run.rounds_ended.iter().map(|how| about("rounds", how.clone())));
    let too_few = too_few_rounds(run);
    let decides = too_few.is_none();
    sentences.extend(too_few);
    for of_operation in groups.chunk_by(|a, b| a.operation == b.operation) {
        if decides {
            sentences.extend(leads::over_the_sweep(run, &swept, of_operation));
        }
        for group in of_operation {
            sentences.extend(comparisons(run, &swept, group, decides));
        }
    }
    sentences.extend(groups.iter().filter_map(|group| loads::repeated(&swept, group)));
    sentences.extend(groups.iter().flat_map(|group| paced::kept_up(&swept, group)));
    sentences.extend(hits::beside_lru(run));
    sentences.extend(steady::outliers(run));
    sentences.extend(floors::cost_of_measuring(run, &groups));
    sentences.extend(absent_targets(run));
    sentences.extend(lost_targets(run));
    sentences.extend(rule(run));
    sentences
}

fn interruption(run: &Run) -> Option<Sentence> {
    run.interrupted.then(|| {
        let text = format!(
            "stopped after {}: the report shows the measurements until then, {} for each figure",
            figures::seconds(run.duration_s),
            rounds(run)
        );
        about("interrupted", text)
    })
}

/// Said once; no pair is then called indistinguishable, because no verdict was possible.
fn too_few_rounds(run: &Run) -> Option<Sentence> {
    no_verdict(run).map(|few| about("too few rounds", few.as_text()))
}

fn absent_targets(run: &Run) -> Vec<Sentence> {
    let absent = run.targets.iter().filter_map(|target| Some((target, target.reason.as_ref()?)));
    absent
        .map(|(target, reason)| about("not run", format!("{} did not run: {reason}", target.name)))
        .collect()
}

/// A target that was lost in mid-run has the number of rounds in its cells; the cell with the most rounds stands for
/// all.
fn lost_targets(run: &Run) -> Vec<Sentence> {
    let furthest = |target: &Target| {
        run.cells
            .iter()
            .filter(|cell| cell.target == target.url && cell.reason_kind == Some(ReasonKind::Lost))
            .max_by_key(|cell| cell.samples.iter().filter(|sample| sample.complete).count())
    };
    let lost = run.targets.iter().filter_map(|target| {
        let reason = furthest(target)?.reason.as_deref()?;
        Some(about("lost", said_of(&target.name, &format!("was {reason}"))))
    });
    lost.collect()
}

/// The rule for a difference, as [`Verdict`] states it.
fn rule(run: &Run) -> Option<Sentence> {
    let comparisons = run.comparisons.len();
    (comparisons > 0).then(|| {
        let rates = match run.cells.iter().filter(|cell| cell.is_paced()).count() {
            0 => "rates",
            all if all == run.cells.len() => "response p99",
            _ => "rates, with --rate their response p99,",
        };
        let text = format!(
            "two targets are told apart where p < {}, after Holm's correction over {}, and their {rates} differ by \
             more than {} %; an interval belongs to one ratio and is uncorrected{}",
            Verdict::SIGNIFICANCE,
            count(comparisons, "comparison"),
            Verdict::MIN_DIFFERENCE * 100.0,
            if round_by_round(run) { "; with so many rounds, targets are compared round by round" } else { "" }
        );
        about("the rule", text)
    })
}

/// Whether there are enough rounds to compare round by round.
fn round_by_round(run: &Run) -> bool {
    let compared = |target: &str| {
        let of = run.cells.iter().filter(|cell| cell.target == target);
        of.map(|cell| cell.rounds as usize).max().unwrap_or(0) >= PAIRED_FROM
    };
    run.comparisons.iter().any(|of| compared(&of.a) && compared(&of.b))
}

/// A sentence about a target or the whole run.
pub(crate) fn about(subject: &str, text: String) -> Sentence {
    Sentence { role: Role::Remark, operation: None, point: None, subject: subject.to_owned(), text }
}

/// The faster targets within one group; where the run `decides` nothing, only the apparent distance of the ends.
fn comparisons(run: &Run, swept: &[&str], group: &Group<'_>, decides: bool) -> Vec<Sentence> {
    let point = short_label(group.point, swept);
    let subject = match point.as_str() {
        "" => group.operation.to_string(),
        point => format!("{}, {point}", group.operation),
    };
    let ranked: Vec<&Row<'_>> = group.ranked().collect();
    let mut texts = match ranked.as_slice() {
        [] => vec!["no target has a result".to_owned()],
        [only] => vec![alone(only, group)],
        [first, .., last] if !decides => vec![undecided(run, group, first, last)],
        ranked => down_the_ranking(run, group, ranked, !swept.is_empty()),
    };
    texts.extend(hits::less_often(group));
    texts.extend(withheld(group));
    let sentence = |text| Sentence {
        role: Role::Answer,
        operation: Some(group.operation),
        point: Some(group.point.clone()),
        subject: subject.clone(),
        text,
    };
    texts.into_iter().map(sentence).collect()
}

/// The targets whose figures are no result, so that no target disappears without a word.
fn withheld(group: &Group<'_>) -> Option<String> {
    let named = |row: &Row<'_>| match &row.standing {
        Standing::Withheld(why) => Some(format!("{} ({why})", row.name)),
        _ => None,
    };
    let names: Vec<String> = group.rows.iter().filter_map(named).collect();
    let has = agreeing(names.len(), "has", "have");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("{} {has} no result", list(&names)))
}

fn alone(row: &Row<'_>, group: &Group<'_>) -> String {
    let rate = row.rate().unwrap_or_default();
    let rate = match row.rate_ci95() {
        Some(ci95) => figures::rate_interval(rate, ci95),
        None => figures::rate(rate),
    };
    let does = if row.misses { "answers" } else { "does" };
    let unlike = group.rows.iter().filter(|row| row.unlike().is_some()).count();
    match group.rows.len() - 1 {
        0 => format!("{} {does} {rate}; there is nothing to compare it with", row.name),
        _ if unlike > 0 => format!("{} {does} {rate}", row.name),
        others => {
            format!(
                "{} {does} {rate} and is the only one of {} with a result",
                row.name,
                others + 1
            )
        }
    }
}

/// The fastest and the slowest of a group without possible claims.
fn undecided(run: &Run, group: &Group<'_>, first: &Row<'_>, last: &Row<'_>) -> String {
    let (a, b) = (&first.cell.target, &last.cell.target);
    let by = pair(run, group.operation, group.point, a, b)
        .map_or_else(String::new, |pair| format!(", {}", by_how_much(&pair)));
    if group.is_paced() {
        return format!(
            "without a verdict: the p99 goes from {} up to {}{by}",
            first.name, last.name
        );
    }
    format!("without a verdict: the rates go from {} down to {}{by}", first.name, last.name)
}

/// Each with the next, then the slowest with the best; with `ends_only`, only the first and the last of these.
fn down_the_ranking(
    run: &Run,
    group: &Group<'_>,
    ranked: &[&Row<'_>],
    ends_only: bool,
) -> Vec<String> {
    let between = |a: usize, b: usize| {
        let (a, b) = (&ranked[a].cell.target, &ranked[b].cell.target);
        pair(run, group.operation, group.point, a, b)
    };
    let by = if group.is_paced() { "by response p99, " } else { "" };
    let last = ranked.len() - 1;
    let mut texts = Vec::new();
    let mut from = 0;
    // The reach of the first statement: where it reaches the end, the slowest needs no further statement.
    let mut first_reach = 0;
    while from < last {
        let to = tied_until(from, last, &between);
        match between(from, to.max(from + 1)) {
            Some(pair) if to > from => {
                texts.push(by.to_owned() + &tie(&ranked[from..=to], &pair));
            }
            Some(pair) => {
                texts.push(by.to_owned() + &claim(ranked[from].name, ranked[from + 1].name, &pair));
            }
            None => {}
        }
        from = to.max(from + 1);
        if first_reach == 0 {
            first_reach = from;
            if ends_only {
                break;
            }
        }
    }
    if let (true, Some(pair)) = (first_reach < last, between(0, last)) {
        texts.push(by.to_owned() + &claim(ranked[0].name, ranked[last].name, &pair));
    }
    if texts.is_empty() {
        let rounds = ranked.iter().map(|row| row.cell.rounds).max().unwrap_or(0) as usize;
        texts.push(format!(
            "no target can be called faster: {} gave no comparison",
            count(rounds, "round")
        ));
    }
    texts
}

/// The end of the stretch of targets from `from` on in which no two can be told apart.
fn tied_until(from: usize, last: usize, between: &impl Fn(usize, usize) -> Option<Pair>) -> usize {
    let tied = |a: usize, b: usize| {
        between(a, b).is_some_and(|pair| pair.verdict == Verdict::Indistinguishable)
    };
    let mut to = from;
    while to < last && (from..=to).all(|member| tied(member, to + 1)) {
        to += 1;
    }
    to
}

fn tie(rows: &[&Row<'_>], ends: &Pair) -> String {
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let evidence = tie_evidence(ends);
    let evidence =
        if rows.len() > 2 { format!("fastest to slowest: {evidence}") } else { evidence };
    format!("{} cannot be told apart ({evidence})", list(&names))
}

/// The verdict on two targets.
fn claim(a: &str, b: &str, pair: &Pair) -> String {
    match pair.verdict {
        Verdict::Faster => {
            format!("{a} is {} faster than {b} ({})", by_how_much(pair), probability(pair.p))
        }
        Verdict::Slower => claim(b, a, &pair.turned()),
        Verdict::Indistinguishable => {
            format!("{a} and {b} cannot be told apart ({})", tie_evidence(pair))
        }
        Verdict::Undecided => {
            format!(
                "of {a} and {b} no verdict is possible with so few rounds (ratio {})",
                by_how_much(pair)
            )
        }
    }
}

/// A ratio with its interval: `3.10× [3.02–3.18]`; with the ratio of the shown medians where that differs.
fn by_how_much(pair: &Pair) -> String {
    let ratio = figures::ratio(pair.ratio);
    let ratio = match pair.ci95 {
        Some(ci95) => format!("{ratio} {}", figures::interval(pair.ratio, ci95)),
        None => ratio,
    };
    match pair.other_ratio_of_medians() {
        Some(medians) => {
            format!("{ratio} round by round, {} between the medians,", figures::ratio(medians))
        }
        None => ratio,
    }
}

/// The apparent distance between two targets that cannot be told apart. Its p is corrected and its interval is not, so
/// only p shows why an interval on one side of 1 does not suffice.
fn tie_evidence(pair: &Pair) -> String {
    let (ratio, p) = (figures::significant(pair.ratio, 3), probability(pair.p));
    let medians = pair.other_ratio_of_medians().map_or_else(String::new, |medians| {
        format!(" round by round, {} between the medians", figures::significant(medians, 3))
    });
    match pair.ci95 {
        Some(ci95) => {
            format!("ratio {ratio} {}{medians}, {p}", figures::interval(pair.ratio, ci95))
        }
        None => format!("ratio {ratio}{medians}, without an interval, {p}"),
    }
}
