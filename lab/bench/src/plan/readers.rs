//! Threads that each read every key, and not their share of them.

use super::keys_fit;
use super::source::Source;
use crate::error::{Result, usage};
use larder_workload::{Distribution, EachThread, KeyPattern, WorkloadSpec};

/// Threads, or processes of a guest, of which each reads every key of its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Readers {
    each: EachThread,
    applications: u32,
    /// As many as threads and as processes, where both divide it: a guest may have other processes than others have threads.
    multiple: u64,
}

impl Readers {
    /// The readers of a plan; `None` where threads share the keys. Refuses what cannot be read so.
    pub(super) fn of(spec: &WorkloadSpec, source: &Source, threads: u32) -> Result<Option<Self>> {
        let Some(each) = spec.each_thread.filter(|each| *each != EachThread::Share) else {
            return Ok(None);
        };
        if !matches!(source.pattern, KeyPattern::Drawn(Distribution::Sequential)) {
            return Err(usage(format!(
                "--each-thread {each} with --key-pattern {}: a thread reads all keys in order; take --key-pattern seq",
                source.pattern
            )));
        }
        let processes = spec.processes.map_or(threads, |processes| processes.0);
        let of = |(name, number): (&str, u32)| match each.applications(number) {
            Some(applications) => Ok(applications),
            None => Err(usage(format!(
                "--each-thread {each} with --{name} {number}: {number} are not a whole number of applications; give \
                 a multiple"
            ))),
        };
        let (applications, others) = (of(("threads", threads))?, of(("processes", processes))?);
        if applications != others {
            return Err(usage(format!(
                "--each-thread {each} with --processes {processes}: guests would be {others} applications, and \
                 targets with {threads} threads {applications}; give as many processes as threads, or leave \
                 --processes out"
            )));
        }
        let multiple = lcm(threads.into(), processes.into());
        Ok(Some(Self { each, applications, multiple }))
    }

    /// Each of them has keys of its own.
    pub(super) fn applications(self) -> u32 {
        self.applications
    }

    /// The keys of all applications together, each of which has this many. Refuses more than a plan keeps track of.
    pub(super) fn all_keys(self, keys: u32) -> Result<u32> {
        let Self { each, applications, .. } = self;
        let all = keys.checked_mul(applications).ok_or_else(|| {
            let most = u32::MAX / applications;
            usage(format!(
                "--each-thread {each} with --keys {keys}: each of {applications} applications has so many; give at \
                 most {most}"
            ))
        })?;
        keys_fit(all)?;
        Ok(all)
    }

    /// The reads by which each reader has read every key of its application equally often, of this many keys in all.
    pub(super) fn passes(self, keys: u32) -> u64 {
        self.multiple * u64::from(keys / self.applications)
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut gcd, mut rest) = (a, b);
    while rest > 0 {
        (gcd, rest) = (rest, gcd % rest);
    }
    a / gcd * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_processes_read_every_key_equally_often_in_one_number_of_reads() {
        let readers = Readers { each: EachThread::All, applications: 1, multiple: lcm(4, 6) };
        assert_eq!(readers.passes(10), 120);
        let readers = Readers { applications: 2, ..readers };
        assert_eq!(readers.passes(10), 60);
    }
}
