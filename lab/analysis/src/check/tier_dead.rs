//! TIER-DEAD: a tier that answers next to nothing, so that each read costs as much as all tiers.

use larder_report::figures::{agreeing, count};
use larder_report::{Run, Severity, TierCounts};

use super::{About, Check, Needs, Report, measured, percent};

/// A tier with this many look-ups for each key has had the chance to answer: the first look-up may only fill it.
const LOOKUPS_A_KEY: u64 = 2;
/// A tier that answers less than one of this many possible reads might as well not be there.
const FEWEST_HITS: u64 = 100;
/// A tier that fails, is skipped or refuses values in more than this share of operations, in percent, is worth a
/// warning.
const TOLERABLE: f64 = 1.0;

pub(super) struct TierDead;

impl Check for TierDead {
    fn about(&self) -> &'static About {
        &About {
            id: "TIER-DEAD",
            severities: &[Severity::Error, Severity::Warn],
            sees: "a tier of a stack that hardly ever hits although keys repeat, that fails, or that does not take the values",
            seen_in: "A003: a local cache before a remote one, 113 s ≈ 101 + 3.5 + 7.9: each read asked both and \
                      filled the local cache, whose value was thrown away",
            advice: "give the tier room, a larger item limit or a longer TTL, or leave it out: every miss in it \
                     costs time",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            // A round begins with empty tiers, so a key repeats only within one.
            let first = cell.counts.distinct_keys * u64::from(cell.rounds.max(1));
            for level in 0..cell.tiers.len() {
                // The lowest tier holds all values; NEVER-HITS checks it.
                let [tier, below @ ..] = &cell.tiers[level..] else { continue };
                if below.is_empty() {
                    continue;
                }
                let keys = cell.counts.distinct_keys;
                if let Some(text) = is_dead(tier, below, keys, first) {
                    report.cell(Severity::Error, cell, text);
                } else if let Some(text) = is_ailing(tier) {
                    report.cell(Severity::Warn, cell, text);
                }
            }
        }
    }
}

/// The finding about a tier that answered next to nothing, although it had enough look-ups and lower tiers answered.
/// The `first` look-ups of the keys must be answered by a lower tier.
fn is_dead(tier: &TierCounts, below: &[TierCounts], keys: u64, first: u64) -> Option<String> {
    let answered: u64 = below.iter().map(|tier| tier.hits).sum();
    let TierCounts { name, hits, .. } = tier;
    let reads = tier.lookups();
    let is_of_use = *hits > 0 && hits * FEWEST_HITS >= answered.saturating_sub(first);
    if reads <= LOOKUPS_A_KEY * first || answered == 0 || is_of_use {
        return None;
    }
    let found =
        format!("{name} answered {hits} of {} of {}", count(reads, "read"), count(keys, "key"));
    let found: Vec<String> = std::iter::once(found).chain(ailments(tier, 0.0)).collect();
    let others: Vec<String> =
        below.iter().map(|tier| format!("{} hit {}", tier.name, tier.hits)).collect();
    let each = if *hits == 0 { "each" } else { "almost each" };
    let all = agreeing(below.len(), "both tiers", "all tiers");
    Some(format!("{}; {}: {each} read costs {all}", found.join(", "), others.join(", ")))
}

/// The finding about a tier that does answer.
fn is_ailing(tier: &TierCounts) -> Option<String> {
    let told: Vec<String> = ailments(tier, TOLERABLE).collect();
    (!told.is_empty()).then(|| format!("{} {}", tier.name, told.join(", ")))
}

/// The faults that affected more than this share, in percent, of a tier's operations.
fn ailments(tier: &TierCounts, share: f64) -> impl Iterator<Item = String> {
    let TierCounts { dropped, errors, not_asked, refused, .. } = *tier;
    let (reads, values) = (tier.lookups(), tier.values());
    let were = agreeing(dropped, "was", "were");
    [
        (
            dropped,
            reads,
            format!("returned {}, which {were} thrown away", count(dropped, "more value")),
        ),
        (errors, reads, format!("failed {errors} of {}", count(reads, "read"))),
        (
            not_asked,
            reads,
            format!("could not drop a key, so {} skipped it", count(not_asked, "read")),
        ),
        (refused, values, format!("refused {refused} of {}", count(values, "value"))),
    ]
    .into_iter()
    .filter(move |(count, of, _)| percent(*count, *of) > share)
    .map(|(_, _, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(name: &str, hits: u64, misses: u64) -> TierCounts {
        TierCounts { name: name.into(), hits, misses, ..TierCounts::default() }
    }

    #[test]
    fn a_tier_is_dead_when_it_answers_almost_no_read_that_it_could() {
        // Each of 200 keys was read five times, so L1 could have answered 800 reads.
        let told = |hits: u64| {
            let below = [tier("L2", 1000 - hits, 0)];
            is_dead(&tier("L1", hits, 1000 - hits), &below, 200, 200)
        };
        assert!(told(0).unwrap().ends_with("; L2 hit 1000: each read costs both tiers"));
        let nearly = "L1 answered 7 of 1000 reads of 200 keys; L2 hit 993: almost each read costs both tiers";
        assert_eq!(told(7).unwrap(), nearly);
        for hits in [8, 100, 800, 801, 1000] {
            assert_eq!(told(hits), None, "{hits}");
        }
        let below = [tier("L2", 0, 1000), tier("L3", 1000, 0)];
        let text = is_dead(&tier("L1", 0, 1000), &below, 200, 200).unwrap();
        assert!(text.ends_with("; L2 hit 0, L3 hit 1000: each read costs all tiers"), "{text}");
        assert_eq!(is_dead(&tier("L1", 0, 1000), &[tier("L2", 0, 1000)], 200, 200), None);
        assert_eq!(is_dead(&tier("L1", 0, 400), &[tier("L2", 400, 0)], 200, 200), None);
    }

    #[test]
    fn refused_values_are_a_share_of_all_given_values() {
        let tier = |fills, puts, refused| TierCounts { fills, puts, refused, ..tier("L1", 90, 10) };
        assert_eq!(is_ailing(&tier(0, 10_000, 1)), None);
        assert_eq!(is_ailing(&tier(500, 0, 2)), None);
        assert_eq!(is_ailing(&tier(90, 900, 10)).as_deref(), None);
        assert_eq!(is_ailing(&tier(89, 900, 11)).unwrap(), "L1 refused 11 of 1000 values");
    }

    #[test]
    fn a_tier_that_fails_or_is_not_asked_says_so() {
        let lost = TierCounts { errors: 20, not_asked: 880, ..tier("L1", 90, 10) };
        let text = "failed 20 of 1000 reads, could not drop a key, so 880 reads skipped it";
        assert_eq!(is_ailing(&lost).unwrap(), format!("L1 {text}"));
        let blank = TierCounts { dropped: 1000, ..tier("L1", 0, 1000) };
        let told = is_dead(&blank, &[tier("L2", 1000, 0)], 1, 9).unwrap();
        let text = "L1 answered 0 of 1000 reads of 1 key, returned 1000 more values, which were thrown away; L2 hit \
                    1000: each read costs both tiers";
        assert_eq!(told, text);
        let text = "failed 20 of 1000 reads, could not drop a key, so 880 reads skipped it";
        let dead = TierCounts { hits: 0, misses: 100, ..lost };
        let told = is_dead(&dead, &[tier("L2", 1000, 0)], 100, 100).unwrap();
        assert!(told.contains(&format!("reads of 100 keys, {text}; L2 hit 1000")), "{told}");
    }
}
