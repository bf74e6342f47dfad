//! Reuse distances of the whole traffic, from those of a sample.

use larder_report::Reuse;

use crate::curve::float;
use crate::distance::{Distance, distances};
use crate::sequence::{Sequence, times};
use crate::step::Step;

/// The quantiles that are told.
const QUANTILES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// The distances of a sequence that has the share `keys` of all keys of a traffic with this many reads; `None` where no key is
/// read again.
///
/// A distance among a share of the keys is that share of the real one. A sample that has too few reads lacks those of the
/// most used keys, so the missing ones are taken to be of no distance (SHARDS-adj, FAST 2015), and surplus ones are left
/// out there.
pub(crate) fn reuse(sequence: &Sequence, keys: f64, reads: u64) -> Option<Reuse> {
    let distances = distances(&sequence.steps, sequence.n_keys());
    let read = sequence.steps.iter().filter(|step| step.usage.reads());
    let all = times(&sequence.steps, |step| step.usage.reads());
    let expected = float(reads) * keys;
    let surplus = float(all) - expected;
    let with_times = distances.into_iter().zip(read.map(Step::times));
    let mut again: Vec<(Distance, u64)> =
        with_times.filter_map(|(distance, times)| Some((distance?, times))).collect();
    again.sort_unstable();
    let n_again = float(again.iter().map(|(_, times)| times).sum()) - surplus;
    if again.is_empty() || n_again < 1.0 {
        return None;
    }
    let by_keys = quantiles(&again, |distance| distance.keys, surplus, keys);
    again.sort_unstable_by_key(|(distance, _)| distance.bytes);
    let by_bytes = if sequence.has_sizes {
        quantiles(&again, |distance| distance.bytes, surplus, keys)
    } else {
        Vec::new()
    };
    Some(Reuse {
        again: (n_again / expected).min(1.0),
        keys: by_keys,
        bytes: by_bytes,
        finest_keys: 1.0 / keys,
    })
}

/// Quantiles of rising figures, each with the number of its reads. This many reads at the beginning are too many.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
fn quantiles(
    rising: &[(Distance, u64)],
    figure: fn(&Distance) -> u64,
    surplus: f64,
    keys: f64,
) -> Vec<(f64, f64)> {
    let n = float(rising.iter().map(|(_, times)| times).sum()) - surplus;
    // What is missing lies before the first.
    let place = |quantile: &f64| (quantile * n + surplus).max(0.0) as u64;
    let (mut number, mut behind) = (0, rising.first().map_or(0, |(_, times)| *times));
    let at = |quantile: &f64| {
        while number + 1 < rising.len() && behind <= place(quantile) {
            number += 1;
            behind += rising[number].1;
        }
        (*quantile, float(rising.get(number).map_or(0, |(distance, _)| figure(distance))) / keys)
    };
    QUANTILES.iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(keys: &[u32]) -> Sequence {
        let step = |key: &u32| Step { key: *key, size: 100, ..Step::default() };
        let n_keys = keys.iter().map(|key| *key as usize + 1).max().unwrap_or(0);
        Sequence {
            steps: keys.iter().map(step).collect(),
            hashes: vec![0; n_keys],
            has_sizes: true,
            ..Sequence::default()
        }
    }

    #[test]
    fn a_loop_over_ten_keys_has_distances_of_ten() {
        let keys: Vec<u32> = (0..1000).map(|at| at % 10).collect();
        let told = reuse(&sequence(&keys), 1.0, 1000).unwrap();
        assert!((told.again - 0.99).abs() < 1e-9);
        assert!(told.keys.iter().all(|(_, distance)| (*distance - 10.0).abs() < 1e-9));
        assert!(told.bytes.iter().all(|(_, distance)| (*distance - 1000.0).abs() < 1e-9));
    }

    #[test]
    fn missing_reads_are_of_no_distance_and_surplus_reads_are_left_out_there() {
        let keys: Vec<u32> = (0..1000).map(|at| at % 10).collect();
        // The sample should have 1500 reads: a third of the reads is that of the most used keys.
        let few = reuse(&sequence(&keys), 0.1, 15_000).unwrap();
        assert_eq!((few.keys[3].1, few.keys[4].1), (100.0, 100.0));
        assert!((few.again - (1490.0 / 1500.0)).abs() < 1e-9);
        let two: Vec<u32> = (0..1000).map(|at| if at < 500 { 20 } else { at % 10 }).collect();
        // Of these 1000 reads 600 are expected, so most of the 499 without distance are too many.
        let many = reuse(&sequence(&two), 0.1, 6000).unwrap();
        assert!((many.keys[3].1 - 100.0).abs() < 1e-9, "{many:?}");
    }

    #[test]
    fn without_a_second_read_there_is_no_distance() {
        assert_eq!(reuse(&sequence(&[0, 1, 2]), 1.0, 3), None);
        assert_eq!(reuse(&sequence(&[]), 1.0, 0), None);
    }
}
