//! The limit of a trace in words, the same in every command that tells it: how often the best of all caches hits, why it misses
//! the other reads, and what would let more of them hit.
//!
//! `reads` names the reads that are meant: `reads`, or `recorded reads` of a recording that left out some keys.

use crate::figures::{at_most, list, percent};
use crate::model::{HitLimit, LIKE_HITS};

/// The most that any cache can hit, and why the other reads miss, without a full stop: `No cache hits more than 49 % of the reads:
/// 2 % are the first of their keys and 49 % ask for keys that hold nothing`.
pub fn most_hits(limit: &HitLimit, reads: &str) -> String {
    let causes = causes_of_misses(limit);
    let causes = if causes.is_empty() { causes } else { format!(": {causes}") };
    format!("{}{causes}", most_hits_in_short(limit, reads))
}

/// The same without the reasons.
pub fn most_hits_in_short(limit: &HitLimit, reads: &str) -> String {
    let begins_empty = if limit.before.is_some_and(is_some) { " that begins empty" } else { "" };
    format!("No cache{begins_empty} hits more than {} of the {reads}", at_most(limit.at_most()))
}

/// Sentences about the most that any cache can hit, why the other reads miss, and what would let more of them hit.
pub fn most_hits_explained(limit: &HitLimit, reads: &str) -> String {
    with_remedies(&most_hits(limit, reads), limit)
}

/// Sentences about why reads miss in every cache, where some do, and what would let more of them hit.
pub fn misses_explained(limit: &HitLimit, reads: &str) -> String {
    with_remedies(&format!("Of the {reads}, {}", causes_of_misses(limit)), limit)
}

fn with_remedies(sentence: &str, limit: &HitLimit) -> String {
    match remedies(limit) {
        Some(remedies) => format!("{sentence}. More reads hit only if {remedies}."),
        None => format!("{sentence}."),
    }
}

/// Why reads miss in every cache, each reason with its share of the reads; empty where none does.
fn causes_of_misses(limit: &HitLimit) -> String {
    let causes = [
        (Some(limit.first), "are the first of their keys"),
        (limit.absent, "ask for keys that hold nothing"),
        (limit.expired, "come after the TTL of their entries"),
        (limit.deleted, "come after a delete"),
        (limit.before, "hit entries that were stored before the recording"),
    ];
    let causes: Vec<String> = causes
        .into_iter()
        .filter_map(|(share, cause)| Some((share.filter(|share| is_some(*share))?, cause)))
        .map(|(share, cause)| format!("{} {cause}", percent(share)))
        .collect();
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    list(&causes)
}

/// What the application can do so that more reads hit; `None` where it would gain less than a point of hits.
fn remedies(limit: &HitLimit) -> Option<String> {
    let is_worth_it = |share: &f64| *share >= LIKE_HITS;
    let remedies = [
        (limit.absent, "the application caches that a key holds nothing"),
        (limit.expired, "entries get longer TTLs"),
    ];
    let remedies: Vec<&str> = remedies
        .into_iter()
        .filter_map(|(share, remedy)| share.filter(is_worth_it).map(|_| remedy))
        .collect();
    (!remedies.is_empty()).then(|| remedies.join(", or "))
}

fn is_some(share: f64) -> bool {
    share > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Estimate;

    #[test]
    fn a_limit_has_its_reasons_and_the_remedies_that_are_worth_it() {
        let limit = HitLimit {
            hit_ratio: Estimate::exact(0.49),
            first: 0.02,
            absent: Some(0.485),
            expired: Some(0.005),
            deleted: None,
            before: Some(0.0),
        };
        assert_eq!(
            most_hits_explained(&limit, "reads"),
            "No cache hits more than 49 % of the reads: 2 % are the first of their keys, 48.5 % ask for keys that hold nothing \
             and 0.5 % come after the TTL of their entries. More reads hit only if the application caches that a key holds \
             nothing."
        );
        assert_eq!(
            most_hits_in_short(&limit, "recorded reads"),
            "No cache hits more than 49 % of the recorded reads"
        );
        let short_ttls = HitLimit { absent: None, expired: Some(0.485), ..limit.clone() };
        assert_eq!(
            misses_explained(&short_ttls, "reads"),
            "Of the reads, 2 % are the first of their keys and 48.5 % come after the TTL of their entries. More reads hit only \
             if entries get longer TTLs."
        );
        let warm = HitLimit { absent: None, expired: None, before: Some(0.49), ..limit };
        assert_eq!(
            most_hits_explained(&warm, "reads"),
            "No cache that begins empty hits more than 49 % of the reads: 2 % are the first of their keys and 49 % hit entries \
             that were stored before the recording."
        );
    }

    #[test]
    fn a_limit_of_everything_has_no_reasons() {
        let all = HitLimit {
            hit_ratio: Estimate::exact(1.0),
            first: 0.0,
            absent: None,
            expired: None,
            deleted: None,
            before: None,
        };
        assert_eq!(most_hits(&all, "reads"), "No cache hits more than 100 % of the reads");
    }
}
