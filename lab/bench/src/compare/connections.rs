//! The files and ports that the connections of a plan take: raised where the system allows it, or refused in one line.

use std::fs;
use std::io;

use larder_host::limits;

use super::TargetSlot;
use crate::error::{Result, usage};
use crate::plan::{Plan, PlannedPoint};

/// Open files beside the connections: results, logs, servers' pipes, and the readings of `/proc`.
const OTHER_FILES: u64 = 256;
/// The ports from which connections go out.
const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Lets this process, and the servers that it starts, open as many files as the plan has connections.
///
/// # Errors
///
/// A usage error where the hard limit is too low.
pub(super) fn allow_files(plan: &Plan) -> Result<()> {
    most_connected(plan.points.iter()).map_or(Ok(()), |point| allow(point, 1))
}

/// Checks the open targets: a session has a connection to each address of its target, and from this machine to one
/// address there are only so many ports.
pub(super) fn check(plan: &Plan, slots: &[TargetSlot]) -> Result<()> {
    for target in slots.iter().filter_map(TargetSlot::open) {
        let measured =
            plan.points_of(&target.planned).filter(|point| target.refusal(point).is_none());
        let Some(point) = most_connected(measured) else { continue };
        let addresses = &target.info.addresses;
        allow(point, addresses.len().max(1) as u64)?;
        // A socket in the file system takes no port.
        let is_tcp = addresses.iter().any(|address| !address.starts_with('/'));
        if let Some(ports) = ports().filter(|ports| is_tcp && point.connections() > *ports) {
            return Err(usage(format!(
                "{}: {} has {} connections to one address, and this machine has {ports} ports for them; use fewer, a \
                 server on a Unix socket, or more ports: `sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`",
                asked(point),
                target.planned.name,
                point.connections(),
            )));
        }
    }
    Ok(())
}

/// The point with the most connections; `None` where no point asks for any beside those of its threads.
fn most_connected<'a>(points: impl Iterator<Item = &'a PlannedPoint>) -> Option<&'a PlannedPoint> {
    points.filter(|point| point.loads_connections()).max_by_key(|point| point.connections())
}

/// Raises the limit of open files to what a point needs, with a number of connections a session.
fn allow(point: &PlannedPoint, each: u64) -> Result<()> {
    let needed = u64::from(point.connections()) * each + OTHER_FILES;
    let failed =
        |what: &str, error: io::Error| usage(format!("{}: {what} failed: {error}", asked(point)));
    let (now, most) =
        limits::open_files().map_err(|error| failed("reading the limit of open files", error))?;
    if now >= needed {
        return Ok(());
    }
    if most < needed {
        return Err(usage(format!(
            "{}: such a plan opens {needed} files at once, and the hard limit of open files is {most}; raise it with \
             `ulimit -n {needed}` as root or LimitNOFILE={needed} of a systemd service, or use fewer connections",
            asked(point),
        )));
    }
    // Servers inherit the limit, and a server has as many connections as its client.
    limits::raise_open_files().map_err(|error| failed("raising the limit of open files", error))
}

/// The options that ask for the connections of a point.
fn asked(point: &PlannedPoint) -> String {
    let options = [
        ("connections", point.load.map(|load| load.connections)),
        ("idle-connections", Some(point.idle_connections).filter(|idle| *idle > 0)),
        ("connect-rate", point.connect_rate),
    ];
    let given =
        options.into_iter().filter_map(|(name, number)| Some(format!("--{name} {}", number?)));
    given.collect::<Vec<_>>().join(" with ")
}

/// The number of ports for connections that go out to one address; `None` where the system does not tell.
fn ports() -> Option<u32> {
    let text = fs::read_to_string(PORTS).ok()?;
    let mut ends = text.split_whitespace().map(str::parse::<u32>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last.checked_sub(first)? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_ports_for_connections() {
        assert!(ports().is_some_and(|ports| (1..65_536).contains(&ports)));
    }
}
