//! The tiers of a stack that answered: a line for each cell with tiers.

use crate::figures;
use crate::figures::{agreeing, count};
use crate::model::{Cell, Run, TierCounts};
use crate::points::label;

/// The heading of the lines.
pub(crate) const TIERS: &str = "Which tier answered";

/// The counters of one cell's tiers, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TierLine {
    /// The cell: its target, operation and place in the sweep.
    pub(crate) subject: String,
    /// Its tiers, the nearest first: `L1 moka: 99.0 %, L2 memcached: 1.0 % of reads`.
    pub(crate) text: String,
}

/// A line for each cell with counters of tiers, in the order of the cells.
pub(crate) fn tier_lines(run: &Run) -> Vec<TierLine> {
    let swept = run.swept();
    let line = |cell: &Cell| {
        let text = as_clause(cell)?;
        let name = run.target(&cell.target).map_or(cell.target.as_str(), |target| &target.name);
        let place = label(&cell.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        Some(TierLine { subject: format!("{name}, {}{place}", cell.operation), text })
    };
    run.cells.iter().filter_map(line).collect()
}

fn as_clause(cell: &Cell) -> Option<String> {
    // All reads begin at the nearest tier.
    let reads = cell.tiers.first().map_or(0, TierCounts::lookups);
    let mut parts = Vec::new();
    if reads > 0 {
        let answered = |tier: &TierCounts| format!("{} {}", tier.name, share(tier.hits, reads));
        let each: Vec<String> = cell.tiers.iter().map(answered).collect();
        parts.push(format!("{} of reads", each.join(", ")));
        let hits: u64 = cell.tiers.iter().map(|tier| tier.hits).sum();
        if hits < reads {
            parts.push(format!("no tier {}", share(reads - hits, reads)));
        }
    }
    for tier in &cell.tiers {
        let name = &tier.name;
        let were = agreeing(tier.dropped, "was", "were");
        for (count, text) in [
            (
                tier.dropped,
                format!(
                    "{name} returned {}, which {were} thrown away",
                    count(tier.dropped, "more value")
                ),
            ),
            (tier.errors, format!("{name} failed {}", count(tier.errors, "read"))),
            (
                tier.not_asked,
                format!(
                    "{name} could not drop a key, so {} skipped it",
                    count(tier.not_asked, "read")
                ),
            ),
            (tier.refused, format!("{name} refused {}", count(tier.refused, "value"))),
        ] {
            if count > 0 {
                parts.push(text);
            }
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, whole: u64) -> String {
    figures::percent(part as f64 / whole as f64)
}
