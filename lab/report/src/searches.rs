//! The results of `--search` as text: for each operation and point the highest rate of each target, best first.

use crate::figures::{self, list, nanoseconds};
use crate::findings::said_of;
use crate::model::{Operation, Run, Search};
use crate::points::label;
use crate::ranking::name;

/// The heading of the lines.
pub(crate) const SEARCHES: &str = "The highest rate within a bound";

/// The result for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchLine {
    /// Operations and place in the sweep: `get, p99 ≤ 1 ms`.
    pub(crate) subject: String,
    /// `memcached: 41.0 k/s [38.2–44.1] in 10 rounds`.
    pub(crate) text: String,
}

/// A line for each target and point, the highest rate first, targets without a rate last.
pub(crate) fn search_lines(run: &Run) -> Vec<SearchLine> {
    let swept = run.swept();
    let subject = |search: &Search| {
        let operations: Vec<&str> =
            search.operations.iter().copied().map(Operation::as_str).collect();
        let place = label(&search.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        format!("{}{place}, {}", list(&operations), bound(search))
    };
    let mut found: Vec<(String, &Search)> =
        run.searches.iter().map(|search| (subject(search), search)).collect();
    // Points stay as the run lists them.
    let order: Vec<String> = found.iter().map(|(subject, _)| subject.clone()).collect();
    let place = |subject: &String| order.iter().position(|known| known == subject);
    found.sort_by(|(a, one), (b, other)| {
        place(a).cmp(&place(b)).then(rate(other).total_cmp(&rate(one)))
    });
    let line = |(subject, search): (String, &Search)| SearchLine {
        subject,
        text: said_of(name(run, &search.target), &said(search)),
    };
    found.into_iter().map(line).collect()
}

fn rate(search: &Search) -> f64 {
    search.rate.unwrap_or(0.0)
}

/// `p99 ≤ 1.00 ms`.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn bound(search: &Search) -> String {
    let quantile = if search.quantile < 1.0 {
        format!("p{}", (search.quantile * 1e6).round() / 1e4)
    } else {
        "max".to_owned()
    };
    format!("{quantile} ≤ {}", nanoseconds(search.bound_ns as f64))
}

fn said(search: &Search) -> String {
    match (search.rate, search.rate_ci95, &search.reason) {
        (Some(rate), Some(ci95), _) => figures::rate_interval(rate, ci95),
        (Some(rate), None, _) => {
            let rounds = figures::count(search.rates.len(), "round");
            format!("{} in {rounds}, without an interval", figures::rate(rate))
        }
        (None, _, Some(reason)) => format!("none: {reason}"),
        (None, _, None) => "none".to_owned(),
    }
}
