//! Connections that threads drive by readiness: how many, and what they can be asked to do.

use larder_report::figures::count;

use super::phases::PlannedPhase;
use crate::error::{Result, usage};
use larder_workload::{Count, EachThread, WorkloadSpec};

/// The most connections that a plan takes, idle ones included.
const MAX_CONNECTIONS: u32 = 50_000;
/// The most requests that a connection has outstanding.
const MAX_PIPELINE: u32 = 1024;
/// The most connections that come each second: a client makes no more, and each takes a port for a while.
const MAX_CONNECT_RATE: u32 = 10_000;

/// Connections that threads drive by readiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The connections of all threads together.
    pub connections: u32,
    /// The requests that each of them has outstanding.
    pub pipeline: u32,
}

impl Load {
    /// The load of a point, where connections or a pipeline were asked for. Alone, a pipeline has one connection a
    /// thread. Refuses more than a client can drive, and work that one connection cannot do.
    pub(super) fn of(
        spec: &WorkloadSpec,
        connections: Option<u32>,
        pipeline: Option<u32>,
        threads: u32,
    ) -> Result<Option<Self>> {
        let idle = spec.idle_connections.map_or(0, |idle| idle.0);
        let all = connections.unwrap_or(0).saturating_add(idle);
        if all > MAX_CONNECTIONS {
            let asked = [("connections", connections), ("idle-connections", Some(idle))];
            let asked = asked.into_iter().filter_map(|(name, number)| {
                number.filter(|number| *number > 0).map(|number| format!("--{name} {number}"))
            });
            return Err(usage(format!(
                "{}: at most {MAX_CONNECTIONS} connections together; use fewer, or clients on several machines",
                asked.collect::<Vec<_>>().join(" with ")
            )));
        }
        if let Some(pipeline) = pipeline.filter(|pipeline| *pipeline > MAX_PIPELINE) {
            return Err(usage(format!(
                "--pipeline {pipeline}: at most {MAX_PIPELINE} requests outstanding on each connection; use fewer, or \
                 more --connections"
            )));
        }
        if let Some(Count(rate)) = spec.connect_rate.filter(|rate| rate.0 > MAX_CONNECT_RATE) {
            return Err(usage(format!(
                "--connect-rate {rate}: at most {MAX_CONNECT_RATE} connections a second; use fewer, or clients on \
                 several machines"
            )));
        }
        if connections.or(pipeline).is_none() {
            return Ok(None);
        }
        combines(spec, if connections.is_some() { "connections" } else { "pipeline" })?;
        Ok(Some(Self {
            connections: connections.unwrap_or(threads),
            pipeline: pipeline.unwrap_or(1),
        }))
    }

    /// Refuses fewer operations than are outstanding at once: some connections would send less than the report says.
    pub(super) fn has_work(self, spec: &WorkloadSpec, phases: &[PlannedPhase]) -> Result<()> {
        let Self { connections, pipeline } = self;
        let at_once = connections.saturating_mul(pipeline);
        let measured = phases.iter().filter(|phase| phase.measured);
        let fewest = measured.filter_map(|phase| phase.requests).min().unwrap_or(u64::MAX);
        if fewest >= at_once.into() {
            return Ok(());
        }
        let more = if spec.requests.is_some() { "--requests" } else { "--keys" };
        let requests = count(usize::try_from(fewest).unwrap_or(usize::MAX), "operation");
        Err(usage(format!(
            "--connections {connections} with --pipeline {pipeline} and {requests} a round: some connections would send \
             less than that; use {more} {at_once} or more, or a --duration"
        )))
    }
}

/// Refuses work that belongs to a thread and not to a connection.
fn combines(spec: &WorkloadSpec, load: &str) -> Result<()> {
    let each_thread = spec.each_thread.filter(|each| *each != EachThread::Share);
    let others = [
        (
            spec.load_time.map(|time| format!("--load-time {time}")),
            "a thread that makes a value would keep its other connections waiting; leave out one of them",
        ),
        (
            spec.group.map(|size| format!("--group {size}")),
            "one thread reads a whole group by itself; take --multiget, or leave out one of them",
        ),
        (
            each_thread.map(|each| format!("--each-thread {each}")),
            "connections share the keys, and a thread drives many of them; leave out one of them",
        ),
        (
            spec.processes.map(|processes| format!("--processes {processes}")),
            "a guest sends one request at a time; leave out one of them",
        ),
    ];
    match others.into_iter().find_map(|(option, why)| Some((option?, why))) {
        Some((option, why)) => Err(usage(format!("{option} with --{load}: {why}"))),
        None => Ok(()),
    }
}
