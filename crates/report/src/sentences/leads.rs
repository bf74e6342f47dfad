//! Who leads where along a sweep, and where the order turns over.

use super::{Role, Sentence, by_how_much};
use crate::figures::list;
use crate::model::{PointValue, Run, Verdict};
use crate::points::coordinate;
use crate::ranking::{Group, Pair, Row, pair};

/// Who stands first at a point, and by how much before the next.
struct Lead<'a> {
    names: Vec<&'a str>,
    kind: Kind,
    /// Over the nearest of those that are told apart from the best.
    margin: Option<Pair>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Told apart from all others, or several that are told apart from all but each other.
    Leads,
    /// No two that can be told apart from the best.
    AllTied,
    /// Nobody to compare it with.
    Alone,
    /// No result at all.
    Nobody,
}

/// One sentence about the lead along one swept number; `None` where several coordinates were swept, where the
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

/// Who leads at one point; `None` where the run does not say.
fn lead<'a>(run: &Run, group: &Group<'a>) -> Option<Lead<'a>> {
    let ranked: Vec<&Row<'a>> = group.ranked().collect();
    let Some((best, others)) = ranked.split_first() else {
        return Some(Lead { names: Vec::new(), kind: Kind::Nobody, margin: None });
    };
    let mut names = vec![best.name];
    let mut margin = None;
    for other in others {
        let pair = pair(run, group.operation, group.point, &best.cell.target, &other.cell.target)?;
        match pair.verdict {
            Verdict::Faster => margin = margin.or(Some(pair)),
            Verdict::Indistinguishable => names.push(other.name),
            // The medians and the test contradict each other: no claim.
            Verdict::Slower => return None,
        }
    }
    let kind = match (others.len(), names.len()) {
        (0, _) => Kind::Alone,
        (others, tied) if tied == others + 1 => Kind::AllTied,
        _ => Kind::Leads,
    };
    // The same company in another order is the same company.
    names.sort_unstable();
    Some(Lead { names, kind, margin })
}

fn part(stretch: &[Lead<'_>], place: &str) -> String {
    let names = list(&stretch[0].names);
    match (stretch[0].kind, stretch[0].names.len()) {
        (Kind::Leads, 1) => format!("{names} leads {place} ({})", margin(stretch)),
        (Kind::Leads, _) => format!("{names} share the lead {place} ({})", margin(stretch)),
        (Kind::AllTied, _) => format!("{names} cannot be told apart {place}"),
        (Kind::Alone, _) => format!("only {names} has a result {place}"),
        (Kind::Nobody, _) => format!("no target has a result {place}"),
    }
}

/// The smallest lead of a stretch.
fn margin(stretch: &[Lead<'_>]) -> String {
    let least =
        stretch.iter().filter_map(|lead| lead.margin).min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let least = least.as_ref().map(by_how_much).unwrap_or_default();
    if stretch.len() > 1 { format!("by {least} or more") } else { format!("by {least}") }
}
