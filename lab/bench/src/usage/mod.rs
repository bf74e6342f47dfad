//! The use of client, servers, guests and the machine while the rounds go on, a sample a second.
//!
//! The sampling thread shares nothing with the measured loops. It reads `/proc` and `sock_diag`, all processes in one
//! pass. Further files are read only for processes that have run since the sample before.

mod account;
mod ledger;
mod machine;
mod process;
mod reading;
mod resources;
mod servers;
mod sockets;
mod sum_by_target;
mod wire;

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use larder_report::{Usage, UsageOf};

pub(crate) use account::Account;
use ledger::Ledger;
pub(crate) use ledger::resident;
use machine::{Look, Machine};
pub(crate) use process::{Process, Table, kib, shared_bytes_of};
use reading::{Reading, shortened};
use resources::own_rss_bytes;
pub(crate) use resources::{
    Servers, cpu_ns, disk_bytes, major_faults, major_faults_of, own_memory, trim_memory,
};
pub(crate) use servers::complete;
use sockets::Bytes;
pub(crate) use sum_by_target::sum_by_target;
pub(crate) use wire::Snapshot;
use wire::{Connections, clients};

/// The time between two samples, as long as a series has room.
const EVERY: Duration = Duration::from_secs(1);
/// The most samples that a series keeps. In a longer run every other sample is dropped, which loses nothing of totals,
/// and sampling goes on half as often. So samples lie as close at the beginning as at the end.
const AT_MOST: usize = 3600;

/// The sampling thread.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// The thread ends when this sender is dropped.
    goes_on: Sender<()>,
    thread: JoinHandle<Vec<Usage>>,
}

impl Sampler {
    /// Samples these targets, by their places in the run, from now on. `clock` was started with the run. `None` where
    /// the system has no room for another thread.
    pub(crate) fn start(targets: Vec<Option<Arc<Account>>>, clock: Instant) -> Option<Self> {
        let (goes_on, end) = mpsc::channel();
        let look = move || {
            let mut samples = UsageSamples::new(targets, clock);
            let mut next = Instant::now();
            loop {
                samples.take();
                next += samples.every;
                let wait = next.saturating_duration_since(Instant::now());
                if end.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    samples.take();
                    return samples.series();
                }
            }
        };
        let thread = thread::Builder::new().name("sampler".into()).spawn(look).ok()?;
        Some(Self { goes_on, thread })
    }

    /// Takes the last sample.
    pub(crate) fn stop(self) -> Vec<Usage> {
        drop(self.goes_on);
        // A sampler that has failed loses only its own figures.
        self.thread.join().unwrap_or_default()
    }
}

/// The processes that are sampled beside client and machine.
#[derive(Debug)]
struct Watched {
    of: UsageOf,
    account: Arc<Account>,
    /// The ledger of servers; the ledger of a guest is in its account.
    ledger: Ledger,
    readings: Vec<Reading>,
}

/// The samples so far.
#[derive(Debug)]
struct UsageSamples {
    targets: Vec<Option<Arc<Account>>>,
    clock: Instant,
    /// The time from one sample to the next.
    every: Duration,
    at_s: Vec<f64>,
    turn_target: Vec<Option<u32>>,
    client: Vec<Reading>,
    watched: Vec<Watched>,
    machine: Machine,
    looks: Vec<Look>,
}

impl UsageSamples {
    fn new(targets: Vec<Option<Arc<Account>>>, clock: Instant) -> Self {
        let accounts = || targets.iter().flatten();
        let external = accounts().filter(|account| account.is_external);
        let external: Vec<u32> = external.flat_map(|account| account.servers.clone()).collect();
        let of_one = |account: &Arc<Account>| {
            let account = Arc::clone(account);
            let each: Vec<UsageOf> = account.series().collect();
            each.into_iter().map(move |of| Watched {
                of,
                ledger: Ledger::new(account.servers.clone()),
                account: Arc::clone(&account),
                readings: Vec::new(),
            })
        };
        Self {
            watched: accounts().flat_map(of_one).collect(),
            machine: Machine::new(external.into_iter()),
            targets,
            clock,
            every: EVERY,
            at_s: Vec::new(),
            turn_target: Vec::new(),
            client: Vec::new(),
            looks: Vec::new(),
        }
    }

    fn take(&mut self) {
        if self.at_s.len() >= AT_MOST {
            self.thin();
        }
        let at_work = |target: &Option<Arc<Account>>| {
            target.as_ref().is_some_and(|account| account.is_at_work())
        };
        let turn = self.targets.iter().position(at_work);
        self.turn_target.push(turn.and_then(|place| u32::try_from(place).ok()));
        self.at_s.push(shortened(self.clock.elapsed().as_secs_f64()));
        let table = Table::read();
        self.look_at_wires(&table);
        self.client.push(self.reading_of_client());
        for Watched { of, account, ledger, readings } in &mut self.watched {
            let wire = account.wire();
            readings.push(match (of, account.guest()) {
                (UsageOf::Guest, Some(mut ledger)) => {
                    ledger.look(&table);
                    ledger.reading().with_wire(wire)
                }
                _ if account.unknown.is_some() => Reading::default(),
                _ => {
                    ledger.look(&table);
                    // The servers receive the bytes that a client sends.
                    let wire = wire
                        .map(|Bytes { sent, received }| Bytes { sent: received, received: sent });
                    ledger.reading().with_wire(wire)
                }
            });
        }
        self.looks.push(self.machine.look(&table));
    }

    /// Records the traffic between the clients and the servers of each target.
    fn look_at_wires(&self, table: &Table) {
        let accounts = || self.targets.iter().flatten().filter(|account| account.has_wire());
        if accounts().next().is_none() {
            return;
        }
        let own = clients(&[std::process::id()]);
        let Some((own, connections)) = own.zip(Connections::read()) else { return };
        for account in accounts() {
            if account.is_guest() {
                let pids = table.tree(&account.program()).into_iter().map(|process| process.pid);
                if let Some(theirs) = clients(&pids.collect::<Vec<_>>()) {
                    account.look_along(&connections, &theirs);
                }
            } else {
                account.look_along(&connections, &own);
            }
        }
    }

    fn reading_of_client(&self) -> Reading {
        let accounts = self.targets.iter().flatten();
        let own = accounts.filter(|account| account.has_wire() && !account.is_guest());
        let wire = own.map(|account| account.wire()).try_fold(Bytes::default(), |sum, one| {
            let one = one?;
            Some(Bytes { sent: sum.sent + one.sent, received: sum.received + one.received })
        });
        Reading::of_this_process().with_wire(wire)
    }

    /// Drops every other sample, and doubles the time between the samples to come.
    fn thin(&mut self) {
        fn half<T>(samples: &mut Vec<T>) {
            let mut place = 0;
            samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
        half(&mut self.at_s);
        half(&mut self.turn_target);
        half(&mut self.client);
        half(&mut self.looks);
        self.watched.iter_mut().for_each(|watched| half(&mut watched.readings));
        self.every *= 2;
    }

    fn series(self) -> Vec<Usage> {
        let length_s =
            self.at_s.last().zip(self.at_s.first()).map_or(0.0, |(last, first)| last - first);
        let usage = |of, target: Option<&str>| Usage {
            of,
            target: target.map(str::to_owned),
            at_s: self.at_s.clone(),
            ..Usage::default()
        };
        let filled = |mut usage: Usage, readings: &mut dyn Iterator<Item = &Reading>| {
            let mut first = None;
            for reading in readings {
                reading.add_to(&mut usage, first.get_or_insert(reading));
            }
            usage
        };
        let client =
            Usage { turn_target: self.turn_target.clone(), ..usage(UsageOf::Client, None) };
        let mut all = vec![filled(client, &mut self.client.iter())];
        for Watched { of, account, readings, .. } in &self.watched {
            let url = Some(account.url.as_str());
            all.push(match account.unknown.clone().filter(|_| *of == UsageOf::Servers) {
                Some(unknown) => Usage {
                    of: *of,
                    target: url.map(str::to_owned),
                    unknown_reason: Some(unknown),
                    ..Usage::default()
                },
                None => filled(usage(*of, url), &mut readings.iter()),
            });
        }
        let machine = usage(UsageOf::Machine, None);
        let mut machine = filled(machine, &mut self.looks.iter().map(|look| &look.reading));
        machine.machine = Some(self.machine.series(&self.looks, length_s));
        all.push(machine);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_as_close_at_its_beginning_as_at_its_end() {
        let mut samples = UsageSamples::new(Vec::new(), Instant::now());
        let mut second = 0.0;
        for _ in 0..AT_MOST * 2 {
            if samples.at_s.len() >= AT_MOST {
                samples.thin();
            }
            samples.at_s.push(second);
            second += samples.every.as_secs_f64();
        }
        assert!((AT_MOST / 2..=AT_MOST).contains(&samples.at_s.len()), "{}", samples.at_s.len());
        let gaps: Vec<f64> = samples.at_s.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(gaps[0] > EVERY.as_secs_f64(), "{:?}", gaps[0]);
        assert!(gaps.iter().all(|gap| (gap - gaps[0]).abs() < 1e-9), "{gaps:?}");
    }
}
