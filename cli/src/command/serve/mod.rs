//! `larder serve`: memcached's protocols over any store.

mod hand_over;
mod options;
mod sources;
mod traces;

use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Args;
use larder_server::{Address, Level, Listeners, LogFormat, Order, Remote, Server, Settings};
use larder_store::{ByteSize, Durability, Reach, Span, StoreUrl};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::catalog::CATALOG;
use crate::exit::{Exit, Usage};
use hand_over::HandedOver;

pub(crate) use options::{Log, octal};
pub(crate) use sources::with_sources;

/// Serves a store to every client of memcached. The short options are memcached's.
#[derive(Debug, Args)]
#[command(args_override_self = true)]
pub(crate) struct Arguments {
    /// The store: any that `larder engines` lists. Without it: memory of the size of -m
    url: Option<String>,
    /// A TOML file with these options by their long names, and `store` for the URL
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// The store, as a file names it
    #[arg(long, value_name = "URL", hide = true, conflicts_with = "memory_limit")]
    store: Option<String>,
    /// The port; 0 lets the system choose one, and is no port beside a socket of -s
    #[arg(short, long, value_name = "N", default_value_t = 11211, allow_negative_numbers = true,
          value_parser = options::port)]
    port: u16,
    /// The addresses, parted by commas, each with its own port or that of -p; `notls:` before one leaves it as it is
    #[arg(short, long, value_name = "ADDR", value_delimiter = ',', default_value = "127.0.0.1")]
    listen: Vec<String>,
    /// A unix socket at this path, in place of an address
    #[arg(short = 's', long = "unix-socket", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The permissions of the socket, in octal
    #[arg(hide_short_help = true, short = 'a', long = "unix-mask", value_name = "MODE", default_value = "0700",
          value_parser = options::octal)]
    mode: u32,
    /// The memory for entries in MiB, where no store is named
    #[arg(short, long, value_name = "MIB", conflicts_with = "url")]
    memory_limit: Option<u64>,
    /// Keep the entries in this file, where they outlive the server, as with `mmap:PATH` as the store
    #[arg(short = 'e', long, value_name = "PATH", conflicts_with_all = ["url", "store"])]
    memory_file: Option<PathBuf>,
    /// Threads that wait for clients. Without it: one for each processor, four at most
    #[arg(short, long, value_name = "N")]
    threads: Option<std::num::NonZero<usize>>,
    /// The most connections at once
    #[arg(short, long = "conn-limit", value_name = "N", default_value = "1024")]
    connections: std::num::NonZero<usize>,
    /// The largest value
    #[arg(short = 'I', long = "max-item-size", value_name = "SIZE", default_value = "1m")]
    item_size: ByteSize,
    /// Requests of one client before another has its turn
    #[arg(hide_short_help = true, short = 'R', long = "max-reqs-per-event", value_name = "N")]
    requests: Option<std::num::NonZero<usize>>,
    /// Connections that may wait to be accepted
    #[arg(
        hide_short_help = true,
        short,
        long = "listen-backlog",
        value_name = "N",
        default_value_t = 1024
    )]
    backlog: i32,
    /// The user who runs the server, where root starts it
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// Let clients end the server by `shutdown`
    #[arg(short = 'A', long)]
    enable_shutdown: bool,
    /// No `flush_all`
    #[arg(short = 'F', long)]
    disable_flush_all: bool,
    /// A file of `user:password` lines; a client is one of these users, or is not served
    #[arg(short = 'Y', long, value_name = "FILE")]
    auth_file: Option<PathBuf>,
    /// Encrypt: the files are `-o ssl_chain_cert=FILE,ssl_key=FILE`
    #[arg(short = 'Z', long)]
    enable_ssl: bool,
    /// Give metrics for Prometheus at this port of 127.0.0.1, or at this address
    #[arg(long, value_name = "PORT", value_parser = options::metrics)]
    metrics: Option<std::net::SocketAddr>,
    /// Log requests that take this long, such as `10ms`
    #[arg(long, value_name = "TIME")]
    slow: Option<Span>,
    #[command(flatten)]
    traces: traces::Options,
    /// The form of messages on standard error
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_enum, default_value = "text")]
    log: options::Log,
    /// A file for the number of the process
    #[arg(short = 'P', long, value_name = "FILE")]
    pidfile: Option<PathBuf>,
    /// The most bytes of requests and answers that all clients together have waiting
    #[arg(hide_short_help = true, long, value_name = "SIZE", default_value = "64m")]
    waiting: ByteSize,
    /// Threads for a store that may wait for a disk or another process
    #[arg(hide_short_help = true, long, value_name = "N")]
    assistants: Option<std::num::NonZero<usize>>,
    /// memcached's further options, parted by commas: `idle_timeout`, `ssl_chain_cert`, `ssl_key`, `ssl_ca_cert`,
    /// `ssl_verify_mode`, `ssl_min_version`; the others are named and ignored
    #[arg(short = 'o', long = "extended", value_name = "OPTIONS", value_delimiter = ',')]
    extended: Vec<String>,
    #[command(flatten)]
    ignored: options::Ignored,
}

/// The most threads that wait for clients.
const MOST_THREADS: usize = 1024;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let done = serve(arguments);
    larder_server::flush_log();
    done
}

fn serve(arguments: &Arguments) -> anyhow::Result<Exit> {
    let handed_over = HandedOver::take();
    let (mut settings, notices) = settings(arguments)?;
    // From here on no signal ends the process as it likes; each is obeyed once the server runs.
    let signals = Signals::new([SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGUSR2])?;
    let log = settings.log;
    let url = url(arguments);
    for notice in notices {
        log.say(Level::Warning, "notice", &notice, &[]);
    }
    // Where the limit stays, connections wait until a file is free.
    let _ = larder_host::limits::raise_open_files();
    let (listeners, are_systems, handed_over) = listeners(arguments, handed_over)?;
    options::change_user(arguments.user.as_deref())?;
    larder_store::hear_of_troubles(move |line| log.say(Level::Error, "store", line, &[]));
    let collector = arguments.traces.collector(log)?;
    settings.answers_alone = collector.is_some();
    let traces = collector.as_deref().map(|it| arguments.traces.begin(it, log)).transpose()?;
    let parsed = StoreUrl::parse(&url)?;
    let store =
        CATALOG.open(&if traces.is_some() { traces::with_spans(parsed) } else { parsed })?;
    let is_shared = store.capabilities().reach > Reach::Process;
    let durability = store.info().durability;
    let is_guarded = settings.users.is_some();
    let server = Server::start(store, listeners, settings)?;
    let pidfile = arguments.pidfile.as_deref().map(options::PidFile::write).transpose()?;
    let shown = StoreUrl::mask(&url);
    for address in server.addresses() {
        let tls = if matches!(address, Address::Tls(_)) { " with TLS" } else { "" };
        let open = match (address.is_local(), is_guarded) {
            (true, _) => "",
            (false, true) => "; open to every host that has a password",
            (false, false) => "; open to every host, without authentication",
        };
        let message = format!("serving {shown} on {address}{tls}{open}");
        log.say(Level::Info, "serving", &message, &[("store", &shown), ("address", address)]);
    }
    if durability > Durability::Volatile {
        let class = durability.as_str();
        let message = format!("an acknowledged write {} ({class})", durability.meaning());
        log.say(Level::Info, "durability", &message, &[("class", &class)]);
    }
    if let Some(address) = server.metrics() {
        let message = format!("metrics are at http://{address}/metrics");
        log.say(Level::Info, "metrics", &message, &[("address", &address)]);
    }
    let (clients, metrics) = (server.sockets()?, server.metrics_socket()?);
    let sockets = hand_over::Sockets { clients, are_systems, metrics };
    let signalled = Signalled { remote: server.remote(), sockets, is_shared, log };
    thread::spawn(move || signalled.obey(signals));
    handed_over.tell();
    tell_systemd(&[NotifyState::Ready, NotifyState::MainPid(process::id())]);
    let done = server.run();
    if let Some(traces) = traces {
        traces.end();
    }
    done?;
    drop(pidfile);
    Ok(Exit::Done)
}

/// Tells systemd, where it has started this process and wants to know.
fn tell_systemd(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}

/// What signals need.
struct Signalled {
    remote: Remote,
    sockets: hand_over::Sockets,
    /// Another process may have the store at the same time.
    is_shared: bool,
    log: LogFormat,
}

impl Signalled {
    /// Does what signals ask for, until the process ends.
    fn obey(self, mut signals: Signals) {
        let Self { remote, sockets, is_shared, log } = self;
        let (heir, sockets) = (hand_over::Heir::default(), Arc::new(sockets));
        // One process takes the place of this one, and no two.
        let is_handing_over = Arc::new(AtomicBool::new(false));
        for signal in signals.forever() {
            match signal {
                SIGHUP => remote.give(Order::Reload),
                SIGUSR2 if is_handing_over.swap(true, Ordering::Relaxed) => {}
                SIGUSR2 => {
                    let (heir, sockets) = (Arc::clone(&heir), Arc::clone(&sockets));
                    let (remote, is_going_on) = (remote.clone(), Arc::clone(&is_handing_over));
                    // Other signals are obeyed meanwhile.
                    thread::spawn(move || {
                        tell_if_not_shared(is_shared, log);
                        match hand_over::hand_over(&sockets, &heir) {
                            Ok(pid) => leave(pid, &remote, log),
                            Err(error) => {
                                // It may be asked again once it has told of the failure.
                                is_going_on.store(false, Ordering::Relaxed);
                                let message = format!("nothing was handed over: {error:#}");
                                log.say(Level::Error, "not_handed_over", &message, &[]);
                            }
                        }
                    });
                }
                _ => {
                    tell_systemd(&[NotifyState::Stopping]);
                    hand_over::end(&heir);
                    remote.give(Order::End);
                }
            }
        }
    }
}

fn tell_if_not_shared(is_shared: bool, log: LogFormat) {
    if !is_shared {
        let message = "the new process begins with an empty store: this one is not shared";
        log.say(Level::Warning, "not_shared", message, &[]);
    }
}

/// Ends this server, because another process serves in its place.
fn leave(pid: u32, remote: &Remote, log: LogFormat) {
    let message = format!("process {pid} serves in place of this one");
    log.say(Level::Info, "handed_over", &message, &[("pid", &pid)]);
    remote.give(Order::Leave);
}

/// The URL of the store.
fn url(arguments: &Arguments) -> String {
    let size = arguments.memory_limit.unwrap_or(64);
    match (&arguments.url, &arguments.store, &arguments.memory_file) {
        (Some(url), ..) | (None, Some(url), _) => url.clone(),
        (None, None, Some(path)) => format!("mmap:{}?size={size}m", path.display()),
        (None, None, None) => format!("memory:?size={size}m"),
    }
}

/// The settings, and a line for each option that has no meaning here.
fn settings(arguments: &Arguments) -> anyhow::Result<(Settings, Vec<String>)> {
    let mut settings = Settings {
        connections: arguments.connections.get(),
        backlog: arguments.backlog,
        item_bytes: bytes("-I", arguments.item_size, larder_server::MAX_ITEM_BYTES)?,
        waiting_bytes: bytes("--waiting", arguments.waiting, usize::MAX / 4)?,
        allows_flush: !arguments.disable_flush_all,
        allows_shutdown: arguments.enable_shutdown,
        users: arguments.auth_file.clone(),
        metrics: arguments.metrics,
        slow: arguments.slow.map(|Span(time)| time),
        log: arguments.log.into(),
        ..Settings::default()
    };
    settings.threads = arguments.threads.unwrap_or(settings.threads);
    settings.storage_threads = arguments.assistants.unwrap_or(settings.storage_threads);
    settings.requests_a_turn = arguments.requests.unwrap_or(settings.requests_a_turn);
    let mut notices = arguments.ignored.notices(arguments.auth_file.is_some())?;
    if arguments.threads.is_some_and(|threads| threads.get() > MOST_THREADS) {
        let usage = format!("-t: {MOST_THREADS} threads at most; one for each processor is best");
        return Err(Usage(usage).into());
    }
    let extended = options::Extended::parse(&arguments.extended)?;
    settings.idle = extended.idle;
    settings.tls = extended.tls(arguments.enable_ssl)?;
    notices.extend(extended.notices);
    let (waiting, asked) = (settings.all_waiting_bytes(), settings.waiting_bytes);
    if waiting > asked {
        let [waiting, asked] = [waiting, asked].map(|bytes| ByteSize(bytes as u64));
        notices.push(format!(
            "--waiting {asked} is {waiting} here: each thread has room for two values of -I"
        ));
    }
    Ok((settings, notices))
}

/// The sockets: those that systemd has opened, or those of the options. The process whose place this one takes may have
/// opened either. Whether they are the system's.
fn listeners(
    arguments: &Arguments,
    mut handed_over: HandedOver,
) -> anyhow::Result<(Listeners, bool, HandedOver)> {
    let opened = sd_notify::listen_fds()?;
    // SAFETY: systemd has opened these for this process, and nobody else here takes them.
    let mut opened: Vec<_> = opened.map(|it| unsafe { OwnedFd::from_raw_fd(it) }).collect();
    opened.append(&mut handed_over.system_sockets);
    let are_systems = !opened.is_empty();
    let listeners = if are_systems {
        Listeners::adopt(opened, arguments.enable_ssl)?
    } else {
        let sockets = std::mem::take(&mut handed_over.sockets);
        Listeners::bind(&addresses(arguments)?, arguments.backlog, sockets)
            .map_err(larder_server::Error::from)?
    };
    Ok((listeners.with_metrics(handed_over.metrics.take()), are_systems, handed_over))
}

/// The addresses at which to listen: those of `-l`, or the socket of `-s`.
fn addresses(arguments: &Arguments) -> anyhow::Result<Vec<Address>> {
    if let Some(path) = &arguments.socket {
        return Ok(vec![Address::Unix(path.clone(), arguments.mode)]);
    }
    let address = |text: &String| {
        if text.starts_with("mtls:") {
            let how = "all encrypted addresses have one rule: -o ssl_verify_mode=2";
            return Err(Usage(format!("-l {text}: {how}")));
        }
        let plain = text.strip_prefix("notls:");
        let address = options::address(plain.unwrap_or(text), arguments.port)?;
        let is_encrypted = arguments.enable_ssl && plain.is_none();
        Ok(if is_encrypted { Address::Tls(address) } else { Address::Tcp(address) })
    };
    arguments.listen.iter().map(address).collect::<Result<_, Usage>>().map_err(Into::into)
}

/// The bytes of an option, from 1 KiB to `most`.
fn bytes(option: &str, size: ByteSize, most: usize) -> Result<usize, Usage> {
    usize::try_from(size.0).ok().filter(|bytes| (1024..=most).contains(bytes)).ok_or_else(|| {
        Usage(format!("{option} {size}: a size from 1 KiB to {}", ByteSize(most as u64)))
    })
}
