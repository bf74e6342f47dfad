//! The leaders along a sweep, and the places where the order changes.

use super::{Role, Sentence, by_how_much};
use crate::figures::list;
use crate::model::{PointValue, Run, Verdict};
use crate::points::coordinate;
use crate::ranking::{Group, Pair, Row, pair};

/// The target that stands first at a point, with its lead over the others.
struct Lead<'a> {
    /// The fastest and those that cannot be told apart from it, sorted by name, so that equal sets compare equal.
    names: Vec<&'a str>,
    kind: LeadKind<'a>,
    /// The least lead of a leader over one of the others; `None` where a leader does not lead one of them.
    margin: Option<Pair>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadKind<'a> {
    /// A target told apart from all others, or several told apart from all but each other.
    Leads,
    /// The fastest, named. Others cannot be told apart from it, but some of them from each other.
    Fastest(&'a str),
    /// All targets are tied.
    AllTied,
    /// There is no other target to compare with.
    Alone,
    /// No target has a result.
    Nobody,
}

/// One sentence about the lead along one swept number. `None` where several coordinates were swept, where the
/// coordinate is no number, or where the run does not compare the best with the others.
pub(crate) fn over_the_sweep(run: &Run, swept: &[&str], groups: &[Group<'_>]) -> Option<Sentence> {
    let [axis] = swept else { return None };
    let numbers =
        groups.iter().all(|group| matches!(group.point.get(*axis), Some(PointValue::Number(_))));
    let leads: Option<Vec<Lead<'_>>> = groups.iter().map(|group| lead(run, group)).collect();
    let leads = leads.filter(|leads| numbers && leads.len() > 1)?;

    let at = |index: usize| coordinate(axis, &groups[index].point[*axis]);
    let last = leads.len() - 1;
    let mut parts = Vec::new();
    let mut start = 0;
    for stretch in leads.chunk_by(|a, b| a.kind == b.kind && a.names == b.names) {
        let end = start + stretch.len() - 1;
        let place = match (start, end) {
            (0, 1) if last == 1 => "at both points".to_owned(),
            (0, end) if end == last => format!("at all {} points", leads.len()),
            (start, end) if start == end => format!("at {}", at(start)),
            (0, end) => format!("up to {}", at(end)),
            (start, end) if end == last => format!("from {} on", at(start)),
            (start, end) => format!("from {} to {}", at(start), at(end)),
        };
        parts.push(part(stretch, &place));
        start = end + 1;
    }
    let operation = groups.first()?.operation;
    Some(Sentence {
        role: Role::Answer,
        operation: Some(operation),
        point: None,
        subject: operation.to_string(),
        text: format!("over {axis}, {}", parts.join("; ")),
    })
}

/// The leader at one point; `None` where the run does not tell.
fn lead<'a>(run: &Run, group: &Group<'a>) -> Option<Lead<'a>> {
    let between = |a: &Row<'_>, b: &Row<'_>| {
        pair(run, group.operation, group.point, &a.cell.target, &b.cell.target)
    };
    let ranked: Vec<&Row<'a>> = group.ranked().collect();
    // A target that stands alone because the others hit less often does not lead them.
    if ranked.len() == 1 && group.rows.iter().any(|row| row.unlike().is_some()) {
        return None;
    }
    let Some((best, others)) = ranked.split_first() else {
        return Some(Lead { names: Vec::new(), kind: LeadKind::Nobody, margin: None });
    };
    let (mut leaders, mut behind) = (vec![*best], Vec::new());
    for other in others {
        match between(best, other)?.verdict {
            Verdict::Faster => behind.push(*other),
            Verdict::Indistinguishable => leaders.push(*other),
            // The medians and the test contradict each other: no claim. Without a possible verdict there is no lead
            // either.
            Verdict::Slower | Verdict::Undecided => return None,
        }
    }
    let decided = |a: &Row<'_>, b: &Row<'_>| {
        between(a, b).is_none_or(|pair| pair.verdict != Verdict::Indistinguishable)
    };
    // Ties are not transitive: two targets that are each tied with the best may differ.
    let split = leaders.iter().enumerate().any(|(i, a)| leaders[..i].iter().any(|b| decided(a, b)));
    let kind = match (others.len(), behind.len()) {
        (0, _) => LeadKind::Alone,
        _ if split => LeadKind::Fastest(best.name),
        (_, 0) => LeadKind::AllTied,
        _ => LeadKind::Leads,
    };
    let gaps: Option<Vec<Pair>> = leaders
        .iter()
        .flat_map(|leader| behind.iter().map(|other| between(leader, other)))
        .map(|pair| pair.filter(|pair| pair.verdict == Verdict::Faster))
        .collect();
    let mut names: Vec<&str> = leaders.iter().map(|row| row.name).collect();
    names.sort_unstable();
    Some(Lead { names, kind, margin: smallest(gaps.into_iter().flatten()) })
}

fn part(stretch: &[Lead<'_>], place: &str) -> String {
    let first = &stretch[0];
    let names = list(&first.names);
    match first.kind {
        LeadKind::Leads if first.names.len() == 1 => {
            format!("{names} leads {place}{}", margin(stretch))
        }
        LeadKind::Leads => format!("{names} share the lead {place}{}", margin(stretch)),
        LeadKind::Fastest(best) => {
            let tied: Vec<&str> =
                first.names.iter().copied().filter(|name| *name != best).collect();
            format!("{best} is fastest {place}, but {} cannot be told apart from it", list(&tied))
        }
        LeadKind::AllTied => format!("{names} cannot be told apart {place}"),
        LeadKind::Alone => format!("only {names} has a result {place}"),
        LeadKind::Nobody => format!("no target has a result {place}"),
    }
}

/// The smallest lead of a stretch, in parentheses; empty where a point of it has no lead.
fn margin(stretch: &[Lead<'_>]) -> String {
    let margins: Option<Vec<Pair>> = stretch.iter().map(|lead| lead.margin).collect();
    let Some(least) = smallest(margins.into_iter().flatten()) else { return String::new() };
    let more = if stretch.len() > 1 { " or more" } else { "" };
    format!(" (by {}{more})", by_how_much(&least))
}

fn smallest(pairs: impl Iterator<Item = Pair>) -> Option<Pair> {
    pairs.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
}
