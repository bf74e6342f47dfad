//! Sentences about what a team can act on: reads that no cache serves, hot keys, large values.

use std::borrow::Cow;

use super::amounts::bytes_of;
use crate::figures::percent;
use crate::hit_limit::most_hits;
use crate::model::{HotKey, Hottest, TraceInfo};
use crate::text::{ShortNames, clean};

/// The largest entries are told of where they have this many times the bytes of others.
const LARGE: f64 = 2.0;

/// A longer name of a key is cut.
const LONGEST_NAME: usize = 60;

/// The most that any cache can hit, why the other reads miss, and the recorded hit ratio.
pub(super) fn limit(info: &TraceInfo) -> Option<String> {
    let limit = info.limit.as_ref()?;
    let recorded = info.recorded_hit_ratio.map(|ratio| {
        let of =
            if info.recorded_reads() < info.reads { " of the reads with an answer" } else { "" };
        format!(" The recorded cache hit {}{of}.", percent(ratio))
    });
    Some(format!("{}.{}", most_hits(limit, "reads"), recorded.unwrap_or_default()))
}

/// Reads of keys that hold nothing.
pub(super) fn negative(info: &TraceInfo) -> Option<String> {
    let share = info.limit.as_ref()?.absent.filter(|share| *share > 0.0)?;
    Some(format!(
        "{} of the reads missed, and nobody stored a value afterwards: there is none. Cache the absence, or no cache \
         spares these look-ups.",
        percent(share)
    ))
}

/// Reads that miss because an entry expired.
pub(super) fn short_ttls(info: &TraceInfo) -> Option<String> {
    let share = info.limit.as_ref()?.expired.filter(|share| *share > 0.0)?;
    Some(format!(
        "{} of the reads miss in every cache because the TTL of their entry was over: it is shorter than the time to the \
         next read.",
        percent(share)
    ))
}

/// The most read key, and the most read ones together.
pub(super) fn hot(info: &TraceInfo) -> Option<String> {
    let hottest = info.hottest.as_ref()?;
    let first = hottest.keys.first()?;
    let all: f64 = hottest.keys.iter().map(|key| key.reads).sum();
    let name = names(hottest).remove(0);
    if hottest.keys.len() == 1 {
        return Some(format!("the only key that is read is {name}."));
    }
    Some(format!(
        "the most read key, {name}, has {} of the reads, and the {} most read ones have {}.",
        percent(first.reads),
        hottest.keys.len(),
        percent(all)
    ))
}

/// The name of a key without what steers a terminal; an empty one is seen.
fn plain_name(key: &HotKey) -> Cow<'_, str> {
    if key.name().is_empty() { "\"\"".into() } else { clean(key.name()) }
}

/// The names of the most read keys as they are shown: harmless, not too long, and as different as they are.
pub(crate) fn names(hottest: &Hottest) -> Vec<String> {
    let plain: Vec<_> = hottest.keys.iter().map(plain_name).collect();
    // Only the beginning of a long key was kept, and several may have the same.
    let is_alone = |name: &str| plain.iter().filter(|other| *other == name).count() == 1;
    let name = |(name, key): (&Cow<'_, str>, &HotKey)| {
        if is_alone(name) { name.to_string() } else { format!("{name} #{}", key.hash) }
    };
    let names: Vec<String> = plain.iter().zip(&hottest.keys).map(name).collect();
    let short = ShortNames::new(names.iter().map(String::as_str), LONGEST_NAME);
    names.iter().map(|name| short.of(name).to_owned()).collect()
}

/// The room of the largest entries.
pub(super) fn large(info: &TraceInfo) -> Option<String> {
    let largest = info.largest.filter(|largest| largest.bytes >= largest.entries * LARGE)?;
    #[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
    let least = largest.least_bytes as f64;
    Some(format!(
        "the largest {} of the entries, of {} and more, have {} of the bytes of all.",
        percent(largest.entries),
        bytes_of(least),
        percent(largest.bytes)
    ))
}
