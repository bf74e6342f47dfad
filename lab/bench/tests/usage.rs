//! The use of the machine over a run: by this process, by servers that are started or found by their port, and by
//! guests. The use of another machine is unknown.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use larder_bench::guest;
use larder_engines::ENGINES;
use larder_report::{Operation, Run, Usage, UsageOf};
use larder_store::Catalog;
use larder_testkit::{PATIENCE, has_perl_modules, has_program, trial_where};
use libtest_mimic::Arguments;
use support::cell;

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let trials = vec![
        trial_where(|| Ok(()), "this_process_and_the_machine_are_seen", this_process),
        trial_where(memcached, "a_managed_server_is_seen_behind_a_relay", managed),
        trial_where(memcached, "an_external_server_is_found_by_its_port", by_port),
        trial_where(memcached, "a_proxy_is_not_taken_for_the_server", forwarder),
        trial_where(memcached, "bytes_on_the_wire_are_those_of_the_protocol", wire),
        trial_where(memcached, "a_wire_of_which_not_all_was_seen_is_unknown", closed_connections),
        trial_where(perl, "a_guest_is_seen_while_it_has_its_turn", guest),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Perl with its standard modules, which Debian's perl-base lacks.
fn perl() -> Result<(), String> {
    has_perl_modules(&["JSON::PP"])
}

fn run(targets: &[&str], workload: &str) -> Run {
    let run = support::run(&CATALOG, targets, workload);
    assert!(run.targets.iter().all(|target| target.reason.is_none()), "{:#?}", run.targets);
    run
}

fn of<'a>(run: &'a Run, of: UsageOf, target: Option<&str>) -> &'a Usage {
    let mut found =
        run.usage.iter().filter(|usage| usage.of == of && usage.target.as_deref() == target);
    let usage =
        found.next().unwrap_or_else(|| panic!("nothing of {of:?} {target:?}: {:#?}", run.usage));
    assert!(found.next().is_none(), "two series of {of:?} {target:?}");
    usage
}

/// The final value of a total, which never decreases.
fn end<T: Copy + PartialOrd>(totals: &[Option<T>]) -> T {
    assert!(totals.windows(2).all(|pair| pair[0] <= pair[1]));
    totals.last().copied().flatten().unwrap()
}

fn this_process() {
    let before_s = processors_s();
    let run = run(&["moka:"], "keys = 1000\nrounds = 1\nduration = '1200ms'\noperations = 'get'");
    let around_s = processors_s() - before_s;
    let client = of(&run, UsageOf::Client, None);
    assert!(client.at_s.len() >= 3, "{:?}", client.at_s);
    assert!(client.turn_target[1..].iter().flatten().all(|target| *target == 0));
    assert!(client.turn_target.contains(&Some(0)), "{:?}", client.turn_target);
    // The CPU time of the measured loops is part of that of the process.
    let in_loops: f64 = run.cells.iter().filter_map(|cell| cell.client_cpu_s).sum();
    let all = end(&client.cpu_user_s) + end(&client.cpu_system_s);
    assert!(all > 0.9 * in_loops && in_loops > 0.0, "{all} {in_loops}");
    assert!(end(&client.minor_faults) > 0);
    assert!(client.rss_bytes.iter().all(|bytes| *bytes > Some(1 << 20)));
    let machine = of(&run, UsageOf::Machine, None);
    let whole = machine.machine.as_ref().unwrap();
    assert_eq!(whole.processors, run.environment.cores);
    let told = end(&machine.cpu_user_s) + end(&machine.cpu_system_s) + end(&whole.idle_s);
    let told = told + end(&whole.interrupts_s) + end(&whole.stolen_s);
    // The processors' time is at least the time of the phase, and at most the time around the whole run.
    let phase_s = 1.2 * f64::from(whole.processors);
    assert!((0.8 * phase_s..1.01 * around_s).contains(&told), "{phase_s} < {told} < {around_s}");
    assert_eq!(run.usage.len(), 2);
    let sample = &cell(&run, "moka:", Operation::Get).samples[0];
    assert!(sample.client_wait_s.unwrap() < 2.0 * sample.wall_s, "{sample:?}");
    assert_eq!(sample.wire, None);
}

/// The time of all processors so far, idle or not, in ticks of 10 ms.
fn processors_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks = stat.lines().next().unwrap().split_whitespace().skip(1).take(8);
    ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

fn managed() {
    let run = run(&["memcached:?via=delay:100us"], "keys = 300\nrounds = 1\nduration = '300ms'");
    let target = &run.targets[0].url;
    let servers = of(&run, UsageOf::Servers, Some(target));
    let cpu = end(&servers.cpu_user_s) + end(&servers.cpu_system_s);
    assert!(cpu > 0.0 && servers.unknown_reason.is_none(), "{servers:?}");
    assert!(servers.rss_bytes.iter().all(|bytes| *bytes > Some(1 << 20)));
    assert!(end(&servers.voluntary_switches) > 100, "{:?}", servers.voluntary_switches);
    let wire = end(&servers.wire_received_bytes);
    assert_eq!(wire, end(&of(&run, UsageOf::Client, None).wire_sent_bytes));
    assert!(wire > 300 * 1000, "{wire}");
}

/// A memcached under another name, so that only its port identifies its process.
struct Somebodys {
    server: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Somebodys {
    /// Another process may take a free port first; then this tries another port.
    fn start(name: &str) -> Self {
        (0..10).find_map(|_| Self::start_at_free_port(name)).expect("one of ten ports stays free")
    }

    fn start_at_free_port(name: &str) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let recipe = &ENGINES.find("memcached").unwrap().recipes[0];
        let memcached = larder_host::managed::find("test", recipe).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(name);
        std::os::unix::fs::symlink(memcached, &name).unwrap();
        let mut command = Command::new(name);
        command.args(["-l", "127.0.0.1", "-u", "nobody", "-p", &port.to_string()]);
        let mut started = Self { server: command.spawn().unwrap(), port, _folder: folder };
        let own = format!("STAT pid {}\r\n", started.server.id());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
            if started.server.try_wait().unwrap().is_some() {
                return None;
            }
            if stats_of(port).is_ok_and(|stats| stats.contains(&own)) {
                return Some(started);
            }
        }
        panic!("memcached does not answer at {port}");
    }
}

impl Drop for Somebodys {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

/// The beginning of memcached's answer to `stats`.
fn stats_of(port: u16) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.write_all(b"stats\r\n")?;
    let mut stats = vec![0; 64];
    let length = connection.read(&mut stats)?;
    Ok(String::from_utf8_lossy(&stats[..length]).into_owned())
}

fn by_port() {
    let server = Somebodys::start("incognito");
    let url = format!("memcached://127.0.0.1:{}", server.port);
    let run = run(&[&url], "keys = 300\nrounds = 1");
    let servers = of(&run, UsageOf::Servers, Some(&url));
    assert!(servers.unknown_reason.is_none() && end(&servers.minor_faults) > 0, "{servers:?}");
    assert!(cell(&run, &url, Operation::Set).server_cpu_s > Some(0.0));
}

fn forwarder() {
    let server = Somebodys::start("haproxy");
    let url = format!("memcached://127.0.0.1:{}", server.port);
    let run = run(&[&url], "keys = 300\nrounds = 1");
    let unknown = of(&run, UsageOf::Servers, Some(&url)).unknown_reason.as_ref().unwrap();
    assert!(unknown.starts_with("haproxy (process "), "{unknown}");
    assert_eq!(cell(&run, &url, Operation::Set).server_cpu_s, None);
}

fn wire() {
    let run = run(&["memcached:"], "keys = 500\nrounds = 2\ndata-size = '1000'");
    for (operation, to_server) in [(Operation::Set, true), (Operation::Get, false)] {
        for sample in &cell(&run, "memcached:", operation).samples {
            let wire = sample.wire.unwrap();
            let (heavy, light) = if to_server {
                (wire.sent_bytes, wire.received_bytes)
            } else {
                (wire.received_bytes, wire.sent_bytes)
            };
            assert!((500 * 1000..500 * 1200).contains(&heavy), "{operation}: {wire:?}");
            assert!((500..500 * 150).contains(&light), "{operation}: {wire:?}");
        }
    }
}

fn closed_connections() {
    let target = "memcached:?connect=operation";
    let run = run(&[target], "keys = 100\nrounds = 1");
    assert_eq!(cell(&run, target, Operation::Get).samples[0].wire, None);
    let servers = of(&run, UsageOf::Servers, Some(target));
    assert_eq!(servers.wire_sent_bytes.last(), Some(&None));
}

fn guest() {
    let target = "perl+null:";
    let run = run(&[target], "keys = 500\nrounds = 2\nduration = '700ms'\noperations = 'get'");
    let guest = of(&run, UsageOf::Guest, Some(target));
    let in_loops: f64 = run.cells.iter().filter_map(|cell| cell.client_cpu_s).sum();
    let all = end(&guest.cpu_user_s) + end(&guest.cpu_system_s);
    assert!(all > 0.9 * in_loops && in_loops > 0.0, "{all} {in_loops}");
    assert!(
        guest.rss_bytes.iter().flatten().any(|bytes| *bytes > 1 << 20),
        "{:?}",
        guest.rss_bytes
    );
    assert!(end(&guest.minor_faults) > 0);
}
