//! The recorded times of a trace's operations.

use std::sync::Arc;

use super::Trace;
use super::timeline::{Backward, Timeline};

const NS_A_US: u128 = 1_000;

impl Trace {
    /// Whether every operation has a time.
    pub fn has_times(&self) -> bool {
        !self.times_us.is_empty()
    }

    /// The time of each operation, in nanoseconds from the first, and the total time; `None` where a time is missing,
    /// or all times are equal.
    ///
    /// Many traces have whole seconds, each with thousands of operations. The operations of one time are spread evenly over the
    /// tick of the recording clock: that all came at once is an artefact of it. The last tick counts, too.
    pub fn arrivals(&self) -> Option<(Arc<[u64]>, u64)> {
        let mut times = self.times_us.clone();
        for at in 1..times.len() {
            // After a clock was set back, operations arrive at the latest time so far, without a wait.
            times[at] = times[at].max(times[at - 1]);
        }
        let first = times.first().copied()?;
        for time in &mut times {
            *time -= first;
        }
        // The recording clock has the longest tick of which all gaps are multiples.
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        let tick = gaps.fold(0, greatest_common_divisor);
        let end = times.last()? + tick;
        if tick == 0 {
            return None;
        }
        let mut arrivals = Vec::with_capacity(times.len());
        for same in times.chunk_by(|one, other| one == other) {
            let (begin, count) = (u128::from(same[0]) * NS_A_US, same.len() as u128);
            let lasts = u128::from(tick) * NS_A_US;
            arrivals.extend((0..count).map(|i| saturating_u64(begin + lasts * i / count)));
        }
        Some((arrivals.into(), saturating_u64(u128::from(end) * NS_A_US)))
    }

    /// How its times go back, where it matters, and the number of operations that are far before an earlier one:
    /// [`Trace::arrivals`] gives them the latest time before them.
    pub fn backward(&self) -> Option<(Backward, usize)> {
        let timeline: Timeline = self.times_us.iter().copied().collect();
        let backward = timeline.backward()?;
        let mut greatest = 0;
        let is_late = |time: &&u64| {
            greatest = greatest.max(**time);
            timeline.is_far(greatest - **time)
        };
        Some((backward, self.times_us.iter().filter(is_late).count()))
    }
}

fn saturating_u64(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS_A_MS: u64 = 1_000_000;

    fn arrivals(trace: &str) -> Option<(Vec<u64>, u64)> {
        let trace = Trace::read("test.csv", trace.as_bytes(), None, None).unwrap();
        let (at, lasts) = trace.arrivals()?;
        Some((at.iter().map(|ns| ns / NS_A_MS).collect(), lasts / NS_A_MS))
    }

    #[test]
    fn operations_of_one_second_are_spread_over_it() {
        let trace = "op_time,key\n100,a\n100,b\n101,c\n103,d\n103,e\n";
        let expected = (vec![0, 500, 1000, 3000, 3500], 4000);
        assert_eq!(arrivals(trace), Some(expected));
        let repeated = "time,key,op_count\n7.5,a,3\n8,b,1\n";
        assert_eq!(arrivals(repeated), Some((vec![0, 166, 333, 500], 1000)));
    }

    #[test]
    fn after_a_clock_was_set_back_operations_have_the_latest_time_so_far() {
        let trace = "time,key\n10,a\n12,b\n11,c\n13,d\n";
        assert_eq!(arrivals(trace), Some((vec![0, 2000, 2500, 3000], 4000)));
    }

    #[test]
    fn operations_far_before_an_earlier_one_are_counted() {
        let late = |times: &[u32]| {
            let rows: Vec<_> = times.iter().map(|time| format!("{time},a\n")).collect();
            let csv = format!("time,key\n{}", rows.concat());
            let trace = Trace::read("test.csv", csv.as_bytes(), None, None).unwrap();
            let (backward, late) = trace.backward()?;
            Some((backward.steps, backward.most_us / 1_000_000, late))
        };
        assert_eq!(late(&[10, 11, 11, 13]), None);
        assert_eq!(late(&[13, 12, 11, 10]), Some((3, 3, 3)));
        assert_eq!(late(&[12, 13, 14, 10, 11, 12]), Some((1, 4, 3)));
        // The replay begins with the first operation, wherever its time lies.
        let swapped = arrivals("time,key\n12,a\n13,b\n10,c\n11,d\n");
        assert_eq!(swapped, Some((vec![0, 1000, 1333, 1666], 2000)));
    }

    #[test]
    fn operations_of_a_fine_clock_come_when_they_came() {
        let trace = "time,key\n1.000001,a\n1.000001,b\n1.5,c\n9,d\n";
        assert_eq!(arrivals(trace), Some((vec![0, 0, 499, 7999], 8000)));
    }

    #[test]
    fn a_trace_without_times_has_no_arrivals() {
        for trace in ["key\na\nb\n", "time,key\n1,a\n,b\n", "time,key\n5,a\n5,b\n"] {
            assert_eq!(arrivals(trace), None, "{trace}");
        }
    }
}
