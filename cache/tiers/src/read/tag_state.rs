//! Whether an entry is still valid: the one place that compares its tag versions with the counters of its tags.
//!
//! A counter is read like any entry, so it is mostly a hit of L1. The copy there may be older than an entry that another
//! host has stored below. So an entry of the lowest tier is invalidated only by a number that is later than its tag version, or that
//! the lowest tier itself has reported since: for that the copies above are dropped, and the counters are read once more.

use std::mem::take;

use larder_store::Error;

use super::{Seen, drop_above, look, look_many};
use crate::SCHEME;
use crate::rules::Rules;
use crate::stack::Stack;
use crate::tags::{
    self, Number, TagState, TagVersion, TagVersions, is_counter, is_later, key_of, read_number,
    split, tag_state,
};

/// What the counters say of a stored value.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The length of the value, without its tag versions.
    pub(crate) len: usize,
    pub(crate) state: TagState,
    /// The failure of the lowest tier, where a counter is not known for sure.
    pub(crate) failed: Option<Error>,
}

/// Whether the value under a key is a stored form, in a stack with these rules. A counter is a plain number.
pub(crate) fn is_stored_form(rules: &Rules, key: &[u8]) -> bool {
    rules.tags && !is_counter(key)
}

/// The length of the value that is stored under a key, where it has no tags, so that no counter decides about it.
pub(crate) fn len_without_tags(rules: &Rules, key: &[u8], stored: &[u8]) -> Option<usize> {
    if !is_stored_form(rules, key) {
        return Some(stored.len());
    }
    split(stored).filter(|(_, tag_versions)| tag_versions.n_left() == 0).map(|(len, _)| len)
}

/// The length of the value of any stored form; `None` for an unknown one.
pub(crate) fn len(stored: &[u8]) -> Option<usize> {
    split(stored).map(|(len, _)| len)
}

/// Judges what the lowest tier has under a key.
pub(crate) fn judge_lowest(stack: &mut Stack, key: &[u8], stored: &[u8]) -> Judged {
    if is_stored_form(&stack.rules, key) {
        return judge(stack, stored, true);
    }
    Judged { len: stored.len(), state: TagState::Valid, failed: None }
}

/// Judges a stored value of an upper tier, or of the lowest.
pub(crate) fn judge(stack: &mut Stack, stored: &[u8], is_lowest: bool) -> Judged {
    let Some((len, tag_versions)) = split(stored) else {
        return Judged { len: 0, state: TagState::Invalidated, failed: None };
    };
    let (state, failed) = match tag_versions.n_left() {
        0 => (TagState::Valid, None),
        1 => judge_one(stack, tag_versions, is_lowest),
        _ => {
            let (judged, failed) = judge_many(stack, &[stored], is_lowest);
            (judged[0].1, failed)
        }
    };
    Judged { len, state, failed }
}

/// Judges a value with one tag. It is most of the cost of a hit, so it allocates nothing.
fn judge_one(
    stack: &mut Stack,
    mut tag_versions: TagVersions<'_>,
    is_lowest: bool,
) -> (TagState, Option<Error>) {
    let Some((label, tag_version)) = tag_versions.next() else {
        return (TagState::Invalidated, None);
    };
    let mut key = take(&mut stack.tags.key);
    key.clear();
    key.extend_from_slice(tags::PREFIX);
    key.extend_from_slice(label);
    let (mut number, mut failed) = number_of(stack, &key);
    if is_lowest && is_doubtful(tag_version, number) {
        forget_above(stack, label);
        (number, failed) = number_of(stack, &key);
    }
    stack.tags.key = key;
    (shown(tag_state(tag_version, number), stack), failed)
}

/// Judges many stored values, with one read for all counters. Returns the length and the state of each, and the failure
/// of the lowest tier.
pub(crate) fn judge_many(
    stack: &mut Stack,
    stored: &[&[u8]],
    is_lowest: bool,
) -> (Vec<(usize, TagState)>, Option<Error>) {
    let forms: Vec<_> = stored.iter().map(|stored| split(stored)).collect();
    let tag_versions = || forms.iter().flatten().flat_map(|(_, tag_versions)| tag_versions.clone());
    let mut labels: Vec<&[u8]> = tag_versions().map(|(label, _)| label).collect();
    labels.sort_unstable();
    labels.dedup();
    let (mut numbers, mut failed) = numbers_of(stack, &labels);
    let place = |label: &[u8]| labels.binary_search(&label).unwrap_or_default();
    if is_lowest {
        let doubts =
            |(label, tag_version): &(&[u8], u64)| is_doubtful(*tag_version, numbers[place(label)]);
        let mut doubtful: Vec<&[u8]> =
            tag_versions().filter(doubts).map(|(label, _)| label).collect();
        doubtful.sort_unstable();
        doubtful.dedup();
        if !doubtful.is_empty() {
            for label in &doubtful {
                forget_above(stack, label);
            }
            let (again, failed_again) = numbers_of(stack, &doubtful);
            for (label, number) in doubtful.into_iter().zip(again) {
                numbers[place(label)] = number;
            }
            failed = failed.or(failed_again);
        }
    }
    let judged = forms.iter().map(|form| {
        let Some((len, tag_versions)) = form else { return (0, TagState::Invalidated) };
        let says = tag_versions
            .clone()
            .map(|(label, tag_version)| tag_state(tag_version, numbers[place(label)]));
        (*len, shown(says.max().unwrap_or(TagState::Valid), stack))
    });
    (judged.collect(), failed)
}

/// Whether a number ends an entry, and may be older than the entry.
fn is_doubtful(tag_version: u64, number: Number) -> bool {
    let ends = matches!(tag_state(tag_version, number), TagState::Expired | TagState::Invalidated);
    ends && !is_later(tag_version, number)
}

/// Without a time of grace no expired entry is kept.
fn shown(state: TagState, stack: &Stack) -> TagState {
    let is_invalidated = state == TagState::Expired && stack.rules.grace.is_zero();
    if is_invalidated { TagState::Invalidated } else { state }
}

/// The error of an operation on an entry whose tags cannot be checked.
pub(crate) fn unknown(failed: Option<Error>) -> Error {
    let what = "the counter of a tag; ask again when its server answers".to_owned();
    failed.unwrap_or(Error::Unavailable { engine: SCHEME, what, source: None })
}

/// Drops the copies of a counter, so that the next read of it asks the lowest tier.
fn forget_above(stack: &mut Stack, label: &[u8]) {
    let (_, above, tokens) = stack.split();
    drop_above(above, tokens, &key_of(label));
}

/// The number of one counter, and the failure of the lowest tier.
fn number_of(stack: &mut Stack, key: &[u8]) -> (Number, Option<Error>) {
    let (all, grace) = (stack.tiers.len(), stack.rules.grace);
    // The caller's read may have a fallback.
    let (fallback, mut text) = (take(&mut stack.fallback), take(&mut stack.tags.text));
    let known = |text: &[u8], known: fn(u64) -> Number| read_number(text).map(known);
    let read = match look(stack, all, key, &mut text, grace) {
        Ok(Seen { found: Some(_), .. }) => {
            (known(&text, Number::Is).unwrap_or(Number::Absent), None)
        }
        Ok(Seen { failed: Some(error), fallback, .. }) => {
            let was = fallback.and_then(|_| known(&stack.fallback, Number::Was));
            (was.unwrap_or(Number::Unknown), Some(error))
        }
        Ok(_) => (Number::Absent, None),
        Err(error) => (Number::Unknown, Some(error)),
    };
    (stack.fallback, stack.tags.text) = (fallback, text);
    read
}

/// The numbers of many counters, by one read, and the failure of the lowest tier.
fn numbers_of(stack: &mut Stack, labels: &[&[u8]]) -> (Vec<Number>, Option<Error>) {
    if let [label] = labels {
        let (number, failed) = number_of(stack, &key_of(label));
        return (vec![number], failed);
    }
    let keys: Vec<Vec<u8>> = labels.iter().map(|label| key_of(label)).collect();
    let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut numbers = vec![None; keys.len()];
    let mut batch = take(&mut stack.tags.batch);
    let read = look_many(stack, &mut batch, &asked, stack.rules.grace, &mut |i, text, found, _| {
        let known = if found.meta.stale { Number::Was } else { Number::Is };
        numbers[i] = Some(read_number(text).map_or(Number::Absent, known));
    });
    stack.tags.batch = batch;
    let failed = read.unwrap_or_else(Some);
    let missing = if failed.is_some() { Number::Unknown } else { Number::Absent };
    (numbers.into_iter().map(|number| number.unwrap_or(missing)).collect(), failed)
}

/// Whether the counters of these tag versions still have their numbers.
pub(crate) fn are_current(stack: &mut Stack, tag_versions: &[TagVersion]) -> bool {
    tag_versions.iter().all(|tag_version| {
        let (number, _) = number_of(stack, &tag_version.label.key());
        tag_state(tag_version.number, number) == TagState::Valid
    })
}
