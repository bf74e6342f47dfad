//! Metrics in the text format of Prometheus, over HTTP.

use std::fmt::{Display, Write as _};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use larder_store::{Counter, Stats, TierStats};

use crate::context::Shared;
use crate::counts::Count;
use crate::latency::Kind;
use crate::rusage::cpu_times;

/// The time without new readers after one could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// The time within which a reader must send its request, and the longest wait until it takes more of the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most readers at once.
const READERS: usize = 4;

/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 8192;

/// The port at which metrics are read.
#[derive(Debug)]
pub(crate) struct Metrics {
    listener: TcpListener,
    n_readers: Arc<AtomicUsize>,
}

impl Metrics {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::at(TcpListener::bind(address)?)
    }

    /// A port at which a socket listens already.
    pub(crate) fn at(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, n_readers: Arc::default() })
    }

    /// The address, with the port that the system chose.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers the readers that wait, each by a thread of its own.
    pub(crate) fn answer(&self, shared: &Arc<Shared>) {
        loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Most likely no descriptors are left.
                Err(_) => return thread::sleep(PAUSE),
            };
            if self.n_readers.load(Ordering::Relaxed) >= READERS {
                continue;
            }
            self.n_readers.fetch_add(1, Ordering::Relaxed);
            let (shared, n_readers) = (Arc::clone(shared), Arc::clone(&self.n_readers));
            let thread = thread::Builder::new().name("metrics".into());
            let counted = Arc::clone(&n_readers);
            let spawned = thread.spawn(move || {
                // A reader that goes away, or says nothing, is its own fault.
                let _ = answer(&socket, &shared);
                n_readers.fetch_sub(1, Ordering::Relaxed);
            });
            if spawned.is_err() {
                counted.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

impl AsFd for Metrics {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

fn answer(mut socket: &TcpStream, shared: &Shared) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let mut bytes = [0; 1024];
        let n = socket.read(&mut bytes)?;
        head.extend_from_slice(&bytes[..n]);
        if n == 0 || left.is_zero() || head.len() > MAX_HEAD {
            return Ok(());
        }
    }
    let (status, text) = match head.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] {
        [b"GET", path, ..] if path.split(|byte| *byte == b'?').next() == Some(b"/metrics") => {
            match shared.store.stats() {
                Ok(stats) => ("200 OK", metrics(shared, &stats)),
                Err(error) => ("503 Service Unavailable", format!("{error}\n")),
            }
        }
        [b"GET", ..] => ("404 Not Found", "metrics are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", "only GET is answered\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    socket.write_all(&[head.as_bytes(), text.as_bytes()].concat())
}

/// All metrics.
fn metrics(shared: &Shared, stats: &Stats) -> String {
    let mut page = Page(String::new());
    let [user, system] = cpu_times();
    page.counter(
        "process_cpu_seconds_total",
        "Processor time",
        &[("mode=\"user\"", user.as_secs_f64()), ("mode=\"system\"", system.as_secs_f64())],
    );
    let uptime = shared.began.elapsed().as_secs_f64();
    page.gauge("larder_uptime_seconds", "Time since the server began", uptime);
    let n_connections = shared.n_connections.load(Ordering::Relaxed);
    page.gauge("larder_connections", "Connections now", n_connections);
    let most = shared.settings.connections;
    page.gauge("larder_connections_limit", "The most connections", most);
    let count = |count| shared.count(count);
    let connections = [
        ("outcome=\"accepted\"", shared.total_connections.load(Ordering::Relaxed)),
        ("outcome=\"rejected\"", shared.rejected_connections.load(Ordering::Relaxed)),
    ];
    page.counter("larder_connections_total", "Connections that came", &connections);
    page.counter(
        "larder_connections_ended_total",
        "Connections that the server ended",
        &[
            ("reason=\"idle\"", count(Count::IdleKicks)),
            ("reason=\"stalled\"", count(Count::StallKicks)),
        ],
    );
    let stalls = [("", count(Count::Stalls))];
    page.counter("larder_stalls_total", "Waits for the store that held up an event loop", &stalls);
    page.gauge("larder_waiting_bytes", "Bytes that wait", shared.waiting_bytes());
    page.counter(
        "larder_network_bytes_total",
        "Bytes over the network",
        &[
            ("direction=\"read\"", count(Count::BytesRead)),
            ("direction=\"written\"", count(Count::BytesWritten)),
        ],
    );
    page.counter(
        "larder_commands_total",
        "Commands by outcome",
        &[
            ("command=\"get\",outcome=\"hit\"", count(Count::GetHits)),
            ("command=\"get\",outcome=\"miss\"", count(Count::GetMisses)),
            ("command=\"set\",outcome=\"\"", count(Count::CmdSet)),
            ("command=\"cas\",outcome=\"hit\"", count(Count::CasHits)),
            ("command=\"cas\",outcome=\"miss\"", count(Count::CasMisses)),
            ("command=\"cas\",outcome=\"other_version\"", count(Count::CasBadval)),
            ("command=\"delete\",outcome=\"hit\"", count(Count::DeleteHits)),
            ("command=\"delete\",outcome=\"miss\"", count(Count::DeleteMisses)),
            ("command=\"incr\",outcome=\"hit\"", count(Count::IncrHits)),
            ("command=\"incr\",outcome=\"miss\"", count(Count::IncrMisses)),
            ("command=\"decr\",outcome=\"hit\"", count(Count::DecrHits)),
            ("command=\"decr\",outcome=\"miss\"", count(Count::DecrMisses)),
            ("command=\"touch\",outcome=\"hit\"", count(Count::TouchHits)),
            ("command=\"touch\",outcome=\"miss\"", count(Count::TouchMisses)),
            ("command=\"flush\",outcome=\"\"", count(Count::CmdFlush)),
        ],
    );
    page.counter(
        "larder_refused_values_total",
        "Values that were refused",
        &[
            ("reason=\"too_large\"", count(Count::StoreTooLarge)),
            ("reason=\"no_memory\"", count(Count::StoreNoMemory)),
        ],
    );
    page.counter("larder_logins_total", "Attempts to log in", &[("", count(Count::AuthCmds))]);
    let failed = [("", count(Count::AuthErrors))];
    page.counter("larder_logins_failed_total", "Attempts to log in that failed", &failed);
    for (name, help, number) in [
        ("larder_items", "Entries in the store", stats.items),
        ("larder_bytes", "Bytes that entries take", stats.bytes),
        ("larder_limit_bytes", "Bytes that entries may take", stats.capacity_bytes),
    ] {
        if let Some(number) = number {
            page.gauge(name, help, number);
        }
    }
    for (name, help, number) in [
        ("larder_evictions_total", "Entries that gave way to others", stats.evictions),
        ("larder_expirations_total", "Entries whose time passed", stats.expirations),
    ] {
        if let Some(number) = number {
            page.counter(name, help, &[("", number)]);
        }
    }
    page.tiers(&shared.store.tiers());
    // A store that does not tell its own counters now tells its others.
    for figure in shared.store.counters().unwrap_or_default() {
        let Counter { name, value } = figure;
        if figure.is_amount() {
            page.gauge(&format!("larder_store_{name}"), "An amount of this kind of store", value);
        } else {
            let help = "A counter of this kind of store";
            page.counter(&format!("larder_store_{name}_total"), help, &[("", value)]);
        }
    }
    page.latencies(shared);
    page.0
}

/// The bounds of the histograms, in microseconds.
const BOUNDS_US: [u64; 16] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The page that is written.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {help}."));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        self.line(format_args!("{name} {value}"));
    }

    fn counter(&mut self, name: &str, help: &str, values: &[(&str, impl Display)]) {
        self.head(name, help, "counter");
        for (labels, value) in values {
            let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            self.line(format_args!("{name}{labels} {value}"));
        }
    }

    /// The reads and the values of each tier of a stack.
    fn tiers(&mut self, tiers: &[TierStats]) {
        if tiers.is_empty() {
            return;
        }
        let labelled = |of: fn(&TierStats) -> Vec<(&'static str, u64)>| -> Vec<(String, u64)> {
            let labels = |tier: &TierStats, outcome| {
                // A name in a URL may have any character.
                let name = tier.name.replace('\\', "\\\\").replace('"', "\\\"");
                format!("tier=\"{name}\",outcome=\"{outcome}\"")
            };
            let lines = |tier| of(tier).into_iter().map(move |(name, n)| (labels(tier, name), n));
            tiers.iter().flat_map(lines).collect()
        };
        let reads = labelled(|tier| {
            vec![
                ("hit", tier.hits),
                ("miss", tier.misses),
                ("error", tier.errors),
                ("not_asked", tier.not_asked),
            ]
        });
        let values = labelled(|tier| {
            vec![("filled", tier.fills), ("stored", tier.puts), ("refused", tier.refused)]
        });
        for (name, help, lines) in [
            ("larder_tier_reads_total", "Reads of a tier by outcome", reads),
            ("larder_tier_values_total", "Values offered to a tier by outcome", values),
        ] {
            let lines: Vec<_> = lines.iter().map(|(labels, n)| (labels.as_str(), *n)).collect();
            self.counter(name, help, &lines);
        }
    }

    fn latencies(&mut self, shared: &Shared) {
        let name = "larder_request_duration_seconds";
        let help = "Time from the look at a request until its answer is made, of the requests that are timed";
        self.head(name, help, "histogram");
        for kind in Kind::ALL {
            let times = shared.times(Some(kind));
            let command = kind.as_str();
            for bound in BOUNDS_US.map(Duration::from_micros) {
                let (seconds, below) = (bound.as_secs_f64(), times.below(bound));
                self.line(format_args!(
                    "{name}_bucket{{command=\"{command}\",le=\"{seconds}\"}} {below}"
                ));
            }
            let (count, sum) = (times.count(), times.sum.as_secs_f64());
            self.line(format_args!("{name}_bucket{{command=\"{command}\",le=\"+Inf\"}} {count}"));
            self.line(format_args!("{name}_sum{{command=\"{command}\"}} {sum}"));
            self.line(format_args!("{name}_count{{command=\"{command}\"}} {count}"));
        }
    }
}
