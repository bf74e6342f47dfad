//! `larder serve`: memcached's protocols over any store.

mod options;

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::Args;
use larder_server::{Address, Server, Settings};
use larder_store::{ByteSize, StoreUrl};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level::pipe;

use super::open;
use crate::exit::{Exit, Usage};

/// Serves a store to every client of memcached. The short options are memcached's.
#[derive(Debug, Args)]
#[command(args_override_self = true)]
pub(crate) struct Arguments {
    /// The store: any that `larder engines` lists. Without it: memory of the size of -m
    url: Option<String>,
    /// The port; 0 lets the system choose one, and is no port beside a socket of -s
    #[arg(short, long, value_name = "N", default_value_t = 11211)]
    port: u16,
    /// The addresses, parted by commas, each with its own port or that of -p
    #[arg(short, long, value_name = "ADDR", value_delimiter = ',', default_value = "127.0.0.1")]
    listen: Vec<String>,
    /// A unix socket at this path, in place of an address
    #[arg(short = 's', long = "unix-socket", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The permissions of the socket, in octal
    #[arg(short = 'a', long = "unix-mask", value_name = "MODE", default_value = "0700",
          value_parser = options::octal)]
    mode: u32,
    /// The memory for entries in MiB, where no store is named
    #[arg(short, long, value_name = "MIB", conflicts_with = "url")]
    memory_limit: Option<u64>,
    /// Threads that wait for clients. Without it: one for each processor, four at most
    #[arg(short, long, value_name = "N")]
    threads: Option<std::num::NonZero<usize>>,
    /// The most connections at once
    #[arg(short, long = "conn-limit", value_name = "N", default_value_t = 1024)]
    connections: usize,
    /// The largest value
    #[arg(short = 'I', long = "max-item-size", value_name = "SIZE", default_value = "1m")]
    item_size: ByteSize,
    /// Requests of one client before another has its turn
    #[arg(short = 'R', long = "max-reqs-per-event", value_name = "N")]
    requests: Option<std::num::NonZero<usize>>,
    /// Connections that may wait to be accepted
    #[arg(short, long = "listen-backlog", value_name = "N", default_value_t = 1024)]
    backlog: i32,
    /// No `flush_all`
    #[arg(short = 'F', long)]
    disable_flush_all: bool,
    /// A file for the number of the process
    #[arg(short = 'P', long, value_name = "FILE")]
    pidfile: Option<PathBuf>,
    /// The most bytes of requests and answers that all clients together have waiting
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    waiting: ByteSize,
    /// Threads for a store that may wait for a disk or another process
    #[arg(long, value_name = "N")]
    assistants: Option<std::num::NonZero<usize>>,
    /// memcached's further options, parted by commas: `idle_timeout=SECONDS`; the others are named and ignored
    #[arg(short = 'o', long = "extended", value_name = "OPTIONS", value_delimiter = ',')]
    extended: Vec<String>,
    #[command(flatten)]
    ignored: options::Ignored,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut settings = Settings {
        addresses: addresses(arguments)?,
        connections: arguments.connections,
        backlog: arguments.backlog,
        item_bytes: bytes("-I", arguments.item_size, larder_server::MAX_ITEM_BYTES)?,
        waiting_bytes: bytes("--waiting", arguments.waiting, usize::MAX / 4)?,
        allows_flush: !arguments.disable_flush_all,
        ..Settings::default()
    };
    settings.threads = arguments.threads.unwrap_or(settings.threads);
    settings.assistants = arguments.assistants.unwrap_or(settings.assistants);
    settings.requests_a_turn = arguments.requests.unwrap_or(settings.requests_a_turn);
    let mut notices = arguments.ignored.notices()?;
    notices.extend(options::extended(&arguments.extended, &mut settings)?);
    let url = match (&arguments.url, arguments.memory_limit) {
        (Some(url), _) => url.clone(),
        (None, limit) => format!("memory:?size={}m", limit.unwrap_or(64)),
    };
    for notice in notices {
        anstream::eprintln!("larder: {notice}");
    }
    // Where the limit stays, connections wait until a file is free.
    let _ = larder_host::limits::raise_open_files();
    let server = Server::start(open(&url)?, settings)?;
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGUSR1] {
        pipe::register(signal, UnixStream::from(server.stopper()?))?;
    }
    let pidfile = arguments.pidfile.as_deref().map(options::PidFile::write).transpose()?;
    let shown = StoreUrl::mask(&url);
    for address in server.addresses() {
        let open =
            if address.is_local() { "" } else { "; open to every host, without authentication" };
        anstream::eprintln!("larder: serving {shown} on {address}{open}");
    }
    server.run()?;
    drop(pidfile);
    Ok(Exit::Done)
}

/// The addresses at which to listen: those of `-l`, or the socket of `-s`.
fn addresses(arguments: &Arguments) -> anyhow::Result<Vec<Address>> {
    if let Some(path) = &arguments.socket {
        return Ok(vec![Address::Unix(path.clone(), arguments.mode)]);
    }
    let address = |text: &String| options::address(text, arguments.port).map(Address::Tcp);
    arguments.listen.iter().map(address).collect::<Result<_, Usage>>().map_err(Into::into)
}

/// The bytes of an option, from 1 KiB to `most`.
fn bytes(option: &str, size: ByteSize, most: usize) -> Result<usize, Usage> {
    usize::try_from(size.0).ok().filter(|bytes| (1024..=most).contains(bytes)).ok_or_else(|| {
        Usage(format!("{option} {size}: a size from 1 KiB to {}", ByteSize(most as u64)))
    })
}
