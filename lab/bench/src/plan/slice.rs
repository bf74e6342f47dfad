//! A part of a plan that is carried out by itself, as on one of several machines.
//!
//! Rounds keep the numbers that they have in the whole plan, and with them their seeds and the orders of their targets.
//! So all slices together make the run that one machine would have made, except for the machine.

use std::fmt::Write;
use std::str::FromStr;

use larder_report::Slice;
use larder_report::figures::count;

use super::Plan;
use crate::error::{Result, usage};
use larder_workload::trace::TraceSource;

/// The number of a slice, and of how many slices: `3/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceSpec {
    /// The number of the slice, from 1.
    pub number: u32,
    /// The number of slices.
    pub of: u32,
}

impl FromStr for SliceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is not a slice of several, such as 3/8");
        let (number, of) = text.split_once('/').ok_or_else(expected)?;
        let read = |part: &str| part.parse::<u32>().ok().filter(|number| *number > 0);
        let (number, of) = read(number).zip(read(of)).ok_or_else(expected)?;
        (number <= of).then_some(Self { number, of }).ok_or_else(expected)
    }
}

impl Plan {
    /// The same plan with only the rounds of one slice: every `of`-th round, from round `number` on.
    ///
    /// # Errors
    ///
    /// A usage error where a slice would have no round, or where the number of rounds is not known beforehand.
    pub fn sliced(mut self, SliceSpec { number, of }: SliceSpec) -> Result<Self> {
        let rounds = self.rounds;
        let open = [("until", self.until.is_some()), ("max-time", self.max_time.is_some())];
        if let Some((option, _)) = open.iter().find(|(_, is_given)| *is_given) {
            return Err(usage(format!(
                "--slice {number}/{of} with --{option}: slices need a known number of rounds; give -r instead"
            )));
        }
        if of > rounds {
            return Err(usage(format!(
                "--slice {number}/{of}: the plan has {}; take at most as many slices, or more rounds with -r",
                count(rounds, "round")
            )));
        }
        self.slice = Some(Slice { number, of, rounds, plan: self.fingerprint() });
        Ok(self)
    }

    /// Whether a round is carried out here. Round 0, the warm-up, always is.
    pub(crate) fn carries_out(&self, round: u32) -> bool {
        round == 0 || self.slice.as_ref().is_none_or(|slice| slice.has(round))
    }

    /// The number of rounds that are carried out here.
    pub fn own_rounds(&self) -> u32 {
        let own = (1..=self.rounds).filter(|round| self.carries_out(*round)).count();
        u32::try_from(own).unwrap_or(u32::MAX)
    }

    /// The fingerprint of this plan: a hash of everything from which a round follows. Values that each run draws for
    /// itself, such as the prefix of keys on an external server, are left out.
    fn fingerprint(&self) -> String {
        let mut text = format!("{} {} {}\n", self.scenario, self.seed, self.rounds);
        let _ = writeln!(text, "{:?} {:?} {:?}", self.warmup, self.memory, self.form);
        for target in &self.targets {
            let _ = writeln!(text, "{} {}", target.url, target.name);
        }
        let _ = writeln!(text, "{:?}", self.workload);
        for content in self.traces.iter().filter_map(TraceSource::content) {
            let _ = writeln!(text, "{content}");
        }
        for point in &self.points {
            let _ = writeln!(
                text,
                "{:?} {:?} {} {:?} {} {} {:?}",
                point.point,
                point.left_out,
                point.threads,
                point.processes,
                point.working_set_bytes,
                point.items,
                point.phases
            );
            if let Some(load) = point.load {
                let _ = writeln!(text, "{load:?}");
            }
            if point.idle_connections > 0 || point.connect_rate.is_some() {
                let _ = writeln!(text, "{} {:?}", point.idle_connections, point.connect_rate);
            }
        }
        format!("{:016x}", rapidhash::v3::rapidhash_v3(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_read() {
        assert_eq!("3/8".parse(), Ok(SliceSpec { number: 3, of: 8 }));
        assert_eq!("1/1".parse(), Ok(SliceSpec { number: 1, of: 1 }));
        for text in ["", "3", "0/8", "9/8", "1/0", "a/b", "-1/8", "1/2/3", "3 / 8"] {
            let error = text.parse::<SliceSpec>().unwrap_err();
            assert!(error.ends_with("is not a slice of several, such as 3/8"), "{error}");
        }
    }
}
