//! Whether an entry still holds: the one place that compares its stamps with the counters of its tags.
//!
//! A counter is read like any entry, so it is mostly a hit of L1. The copy there may be older than an entry that another
//! host has stored below. So an entry of the lowest tier is gone only by a number that is later than its stamp, or that the
//! lowest tier has told since: for that the copies above are dropped, and the counters are read once more.

use std::mem::take;

use larder_store::Error;

use super::Stamp;
use super::form::{self, Stamps};
use super::label::{self, key_of};
use super::number::{self, Number, Standing, is_later, standing};
use crate::batch;
use crate::read::{self, Seen};
use crate::rules::Rules;
use crate::session::Stack;

/// What the counters say of a stored value.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The length of the value, without its stamps.
    pub(crate) len: usize,
    pub(crate) standing: Standing,
    /// The failure of the lowest tier, where a counter is not known for sure.
    pub(crate) failed: Option<Error>,
}

/// Whether the value under a key is a stored form, in a stack with these rules. A counter is a plain number.
pub(crate) fn covers(rules: &Rules, key: &[u8]) -> bool {
    rules.tags && !label::is_counter(key)
}

/// The length of the value that is stored under a key, where it has no tags: nobody has to judge it.
pub(crate) fn len_without_tags(rules: &Rules, key: &[u8], stored: &[u8]) -> Option<usize> {
    if !covers(rules, key) {
        return Some(stored.len());
    }
    form::split(stored).filter(|(_, stamps)| stamps.n_left() == 0).map(|(len, _)| len)
}

/// The length of the value of any stored form; `None` for an unknown one.
pub(crate) fn len(stored: &[u8]) -> Option<usize> {
    form::split(stored).map(|(len, _)| len)
}

/// Judges what the lowest tier has under a key.
pub(crate) fn judge_lowest(stack: &mut Stack, key: &[u8], stored: &[u8]) -> Judged {
    if covers(&stack.rules, key) {
        return judge(stack, stored, true);
    }
    Judged { len: stored.len(), standing: Standing::Holds, failed: None }
}

/// Judges a stored value of an upper tier, or of the lowest.
pub(crate) fn judge(stack: &mut Stack, stored: &[u8], is_lowest: bool) -> Judged {
    let Some((len, stamps)) = form::split(stored) else {
        return Judged { len: 0, standing: Standing::Gone, failed: None };
    };
    let (standing, failed) = match stamps.n_left() {
        0 => (Standing::Holds, None),
        1 => judge_one(stack, stamps, is_lowest),
        _ => {
            let (judged, failed) = judge_many(stack, &[stored], is_lowest);
            (judged[0].1, failed)
        }
    };
    Judged { len, standing, failed }
}

/// Judges a value with one tag. It is most of the cost of a hit, so it allocates nothing.
fn judge_one(
    stack: &mut Stack,
    mut stamps: Stamps<'_>,
    is_lowest: bool,
) -> (Standing, Option<Error>) {
    let Some((label, stamp)) = stamps.next() else { return (Standing::Gone, None) };
    let mut key = take(&mut stack.tags.key);
    key.clear();
    key.extend_from_slice(label::PREFIX);
    key.extend_from_slice(label);
    let (mut number, mut failed) = number_of(stack, &key);
    if is_lowest && is_doubtful(stamp, number) {
        forget_above(stack, label);
        (number, failed) = number_of(stack, &key);
    }
    stack.tags.key = key;
    (shown(standing(stamp, number), stack), failed)
}

/// Judges many stored values, with one read for all counters. Tells the length and the standing of each, and the failure of
/// the lowest tier.
pub(crate) fn judge_many(
    stack: &mut Stack,
    stored: &[&[u8]],
    is_lowest: bool,
) -> (Vec<(usize, Standing)>, Option<Error>) {
    let forms: Vec<_> = stored.iter().map(|stored| form::split(stored)).collect();
    let stamps = || forms.iter().flatten().flat_map(|(_, stamps)| stamps.clone());
    let mut labels: Vec<&[u8]> = stamps().map(|(label, _)| label).collect();
    labels.sort_unstable();
    labels.dedup();
    let (mut numbers, mut failed) = numbers_of(stack, &labels);
    let place = |label: &[u8]| labels.binary_search(&label).unwrap_or_default();
    if is_lowest {
        let doubts = |(label, stamp): &(&[u8], u64)| is_doubtful(*stamp, numbers[place(label)]);
        let mut doubtful: Vec<&[u8]> = stamps().filter(doubts).map(|(label, _)| label).collect();
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
        let Some((len, stamps)) = form else { return (0, Standing::Gone) };
        let says = stamps.clone().map(|(label, stamp)| standing(stamp, numbers[place(label)]));
        (*len, shown(says.max().unwrap_or(Standing::Holds), stack))
    });
    (judged.collect(), failed)
}

/// Whether a number ends an entry, and may be older than the entry.
fn is_doubtful(stamp: u64, number: Number) -> bool {
    let ends = matches!(standing(stamp, number), Standing::Over | Standing::Gone);
    ends && !is_later(stamp, number)
}

/// Without a time of grace nothing is kept that is over.
fn shown(standing: Standing, stack: &Stack) -> Standing {
    let is_gone = standing == Standing::Over && stack.rules.grace.is_zero();
    if is_gone { Standing::Gone } else { standing }
}

/// Drops the copies of a counter, so that the next read of it asks the lowest tier.
fn forget_above(stack: &mut Stack, label: &[u8]) {
    let (_, above, tokens) = crate::write::apart(stack);
    read::drop_over(above, tokens, &key_of(label));
}

/// The number of one counter, and the failure of the lowest tier.
fn number_of(stack: &mut Stack, key: &[u8]) -> (Number, Option<Error>) {
    let (all, grace) = (stack.tiers.len(), stack.rules.grace);
    // The caller's read may have set a value aside.
    let (aside, mut text) = (take(&mut stack.aside), take(&mut stack.tags.text));
    let known = |text: &[u8], known: fn(u64) -> Number| number::read(text).map(known);
    let told = match read::look(stack, all, key, &mut text, grace) {
        Ok(Seen { found: Some(_), .. }) => {
            (known(&text, Number::Is).unwrap_or(Number::Absent), None)
        }
        Ok(Seen { failed: Some(error), aside, .. }) => {
            let was = aside.and_then(|_| known(&stack.aside, Number::Was));
            (was.unwrap_or(Number::Unknown), Some(error))
        }
        Ok(_) => (Number::Absent, None),
        Err(error) => (Number::Unknown, Some(error)),
    };
    (stack.aside, stack.tags.text) = (aside, text);
    told
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
    let read =
        batch::look_many(stack, &mut batch, &asked, stack.rules.grace, &mut |i, text, found, _| {
            let known = if found.meta.stale { Number::Was } else { Number::Is };
            numbers[i] = Some(number::read(text).map_or(Number::Absent, known));
        });
    stack.tags.batch = batch;
    let failed = read.unwrap_or_else(Some);
    let missing = if failed.is_some() { Number::Unknown } else { Number::Absent };
    (numbers.into_iter().map(|number| number.unwrap_or(missing)).collect(), failed)
}

/// Whether the counters of these stamps still have their numbers.
pub(crate) fn are_current(stack: &mut Stack, stamps: &[Stamp]) -> bool {
    stamps.iter().all(|stamp| {
        let (number, _) = number_of(stack, &stamp.label.key());
        standing(stamp.number, number) == Standing::Holds
    })
}
