//! The capacities for which hit ratios are told.

use larder_report::MeasuredIn;

use crate::curve::{CacheSize, float};

/// A series reaches from a share of all entries to all of them.
const LEAST_SHARE: f64 = 1.0 / 2000.0;

/// A capacity that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacities {
    /// This many bytes of keys and values.
    Bytes(u64),
    /// This many entries.
    Entries(u64),
    /// A share of all entries, and of the bytes of all.
    Share(f64),
}

/// What is asked about keys and their bytes: the given capacities, or a series of round ones.
pub(crate) fn asked(given: &[Capacities], keys: f64, bytes: Option<f64>) -> Vec<CacheSize> {
    let mut asked = Vec::new();
    let of = |measure, capacity: u64| CacheSize { measure, capacity: capacity.max(1) };
    if given.is_empty() {
        asked.extend(entries(keys).map(|capacity| of(MeasuredIn::Entries, capacity)));
        let sizes = bytes.into_iter().flat_map(powers_of_two);
        asked.extend(sizes.map(|capacity| of(MeasuredIn::Bytes, capacity)));
    }
    for capacity in given {
        match *capacity {
            Capacities::Bytes(size) if bytes.is_some() => asked.push(of(MeasuredIn::Bytes, size)),
            Capacities::Bytes(_) => {}
            Capacities::Entries(entries) => asked.push(of(MeasuredIn::Entries, entries)),
            Capacities::Share(share) => {
                asked.push(of(MeasuredIn::Entries, whole(keys * share)));
                asked.extend(bytes.map(|bytes| of(MeasuredIn::Bytes, whole(bytes * share))));
            }
        }
    }
    asked.sort_by_key(|asked| (asked.measure == MeasuredIn::Bytes, asked.capacity));
    asked.dedup();
    asked
}

/// 1, 2, 5, 10 … up to the first that has room for all keys.
fn entries(keys: f64) -> impl Iterator<Item = u64> {
    let series = (0..18).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    within(series, keys)
}

/// Powers of two, up to the first that has room for all bytes.
fn powers_of_two(bytes: f64) -> impl Iterator<Item = u64> {
    within((0..60).map(|power| 1_u64 << power), bytes)
}

/// Those of a rising series between a share of everything and everything.
fn within(series: impl Iterator<Item = u64>, all: f64) -> impl Iterator<Item = u64> {
    let mut has_all = false;
    let until = move |capacity: &u64| {
        let goes_on = !has_all;
        has_all = float(*capacity) >= all;
        goes_on
    };
    series.take_while(until).filter(move |capacity| float(*capacity) >= all * LEAST_SHARE)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a number")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(measure: MeasuredIn, asked: &[CacheSize]) -> Vec<u64> {
        let of_measure = asked.iter().filter(|asked| asked.measure == measure);
        of_measure.map(|asked| asked.capacity).collect()
    }

    #[test]
    fn a_series_goes_from_few_entries_to_the_first_round_number_that_has_all() {
        let asked = asked(&[], 30_000.0, Some(5e6));
        let entries = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000];
        assert_eq!(of(MeasuredIn::Entries, &asked), entries);
        let bytes = of(MeasuredIn::Bytes, &asked);
        assert_eq!((bytes[0], bytes[bytes.len() - 1]), (4096, 8 << 20));
        assert_eq!(of(MeasuredIn::Entries, &super::asked(&[], 1.0, None)), [1]);
    }

    #[test]
    fn what_is_given_is_asked_in_its_unit_and_shares_in_both() {
        let given = [Capacities::Bytes(4096), Capacities::Entries(7), Capacities::Share(0.1)];
        let both = asked(&given, 1000.0, Some(1e6));
        assert_eq!(of(MeasuredIn::Entries, &both), [7, 100]);
        assert_eq!(of(MeasuredIn::Bytes, &both), [4096, 100_000]);
        let without_sizes = asked(&given, 1000.0, None);
        assert_eq!(of(MeasuredIn::Bytes, &without_sizes), [0; 0]);
    }
}
