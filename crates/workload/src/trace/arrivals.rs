//! The recorded times of a trace's operations.

use std::sync::Arc;

use super::Trace;

const NS_A_MS: u64 = 1_000_000;

impl Trace {
    /// The time of each operation, in nanoseconds from the first, and the total time; `None` where a time is missing,
    /// or all times are equal.
    ///
    /// Traces have whole seconds, each with thousands of operations. The operations of one time are spread evenly until
    /// the next time: that all came at once is an artefact of the recording clock.
    pub fn arrivals(&self) -> Option<(Arc<[u64]>, u64)> {
        let mut times: Vec<u64> = Vec::with_capacity(self.len());
        for at in 0..self.len() {
            let time = u64::from(self.times_ms.get(at)?) * NS_A_MS;
            // After a clock was set back, operations arrive at once.
            times.push(time.max(times.last().copied().unwrap_or(0)));
        }
        let mut begins: Vec<usize> =
            (1..times.len()).filter(|at| times[*at] > times[at - 1]).collect();
        let last = *begins.last()?;
        begins.insert(0, 0);
        // The duration of the last time is unknown: it is taken to be that of the time before.
        let before = begins[begins.len() - 2];
        let end = times[last] + (times[last] - times[before]);
        for (n, first) in begins.iter().enumerate() {
            let next = begins.get(n + 1).copied().unwrap_or(times.len());
            let begin = times[*first];
            let lasts = times.get(next).copied().unwrap_or(end) - begin;
            let count = (next - first) as u64;
            for (i, time) in (0..).zip(&mut times[*first..next]) {
                *time =
                    begin + u64::try_from(u128::from(lasts) * i / u128::from(count)).unwrap_or(0);
            }
        }
        Some((times.into(), end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(trace: &str) -> Option<(Vec<u64>, u64)> {
        let trace = Trace::read("test.csv", trace.as_bytes(), None, None).unwrap();
        let (at, lasts) = trace.arrivals()?;
        Some((at.iter().map(|ns| ns / NS_A_MS).collect(), lasts / NS_A_MS))
    }

    #[test]
    fn operations_of_one_second_are_spread_over_it() {
        let trace = "op_time,key\n100,a\n100,b\n101,c\n103,d\n103,e\n";
        // The last time lasts as long as the time before it, two seconds.
        let expected = (vec![0, 500, 1000, 3000, 4000], 5000);
        assert_eq!(arrivals(trace), Some(expected));
        let repeated = "time,key,op_count\n7.5,a,3\n8,b,1\n";
        assert_eq!(arrivals(repeated), Some((vec![0, 166, 333, 500], 1000)));
    }

    #[test]
    fn a_clock_that_was_set_back_has_operations_come_at_once() {
        let trace = "time,key\n10,a\n12,b\n11,c\n13,d\n";
        assert_eq!(arrivals(trace), Some((vec![0, 2000, 2500, 3000], 4000)));
    }

    #[test]
    fn a_trace_without_times_has_no_arrivals() {
        for trace in ["key\na\nb\n", "time,key\n1,a\n,b\n", "time,key\n5,a\n5,b\n"] {
            assert_eq!(arrivals(trace), None, "{trace}");
        }
    }
}
