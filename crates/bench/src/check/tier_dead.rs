//! TIER-DEAD: a tier that answers nothing, so that each read costs what all tiers cost.

use larder_report::{Cell, Run, Severity, TierCounts};

use super::{About, Check, Needs, Report, measured, percent};

/// A tier that is asked so often for each key has had the chance to answer: the first time it may have to learn it.
const LOOKUPS_A_KEY: u64 = 2;
/// A tier that does not take more than this share of the values, in percent, deserves a word.
const TOLERABLE: f64 = 1.0;

pub(super) struct TierDead;

impl Check for TierDead {
    fn about(&self) -> &'static About {
        &About {
            id: "TIER-DEAD",
            sees: "a tier of a stack that never hits although keys repeat, or that does not take the values",
            seen_in: "A003: a local cache before a remote one, 113 s ≈ 101 + 3.5 + 8.9: the local one answered nothing",
            advice: "give the tier room, a larger item limit or a longer TTL, or leave it out: every miss of it is paid for",
            needs: Needs::SomeRounds,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            // The lowest tier is the truth, and NEVER-HITS looks after it.
            let above = cell.tiers.len().saturating_sub(1);
            for (level, tier) in cell.tiers[..above].iter().enumerate() {
                if let Some(text) = is_dead(cell, level) {
                    report.cell(Severity::Error, cell, text);
                } else if percent(tier.refused, values(cell, tier)) > TOLERABLE {
                    let TierCounts { name, refused, .. } = tier;
                    let text = format!("{name} refused {refused} of {} values", values(cell, tier));
                    report.cell(Severity::Warn, cell, text);
                }
            }
        }
    }
}

/// What there is to say of a tier that answered nothing, although it was asked often enough and those below answered.
fn is_dead(cell: &Cell, level: usize) -> Option<String> {
    let (tier, below) = (&cell.tiers[level], &cell.tiers[level + 1..]);
    let answered: u64 = below.iter().map(|tier| tier.hits).sum();
    // A round begins with empty tiers, so a key repeats only within one.
    let often = LOOKUPS_A_KEY * cell.counts.distinct_keys * u64::from(cell.rounds.max(1));
    if tier.hits > 0 || tier.lookups() <= often || answered == 0 {
        return None;
    }
    let TierCounts { name, misses, refused, .. } = tier;
    let keys = cell.counts.distinct_keys;
    let why = match refused {
        0 => String::new(),
        refused => format!(", and refused {refused} values"),
    };
    let others: Vec<String> =
        below.iter().map(|tier| format!("{} hit {}", tier.name, tier.hits)).collect();
    Some(format!(
        "{name} answered 0 of {misses} reads of {keys} keys{why}; {}: each read costs both",
        others.join(", ")
    ))
}

/// Values that a tier was to take: in reads, what it missed and a tier below had; in writes, all.
fn values(cell: &Cell, tier: &TierCounts) -> u64 {
    if cell.operation.reads() { tier.fills + tier.refused } else { cell.counts.ops }
}
