//! `larder record`: a proxy between an application and its cache, which writes a trace.

mod capture;
mod options;
mod reach;
mod summary;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::thread;

use anyhow::Context as _;
use clap::Args;
use larder_host::listen::{Address, Listeners};
use larder_host::tls::Tls;
use larder_record::{
    Files, Keys, Limits, Notify, Proxy, Settings, Severity, Upstream, Writer, Written,
};
use larder_server::{Level, LogFormat};
use larder_store::{ByteSize, Span, StoreUrl};
use larder_workload::trace::About;
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::serve::Log;
use crate::exit::{Exit, Usage};
use options::{Certificates, KeyForm, Share};

/// Records what an application asks its memcached or Redis, and changes nothing of it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The addresses for the application, parted by commas: `127.0.0.1:11311`, a port of 127.0.0.1, or the path of a socket
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    listen: Vec<String>,
    /// The server: `memcached://HOST:PORT`, `redis://HOST`, or `memcached:/path/of.sock`. With TLS: `memcacheds://`,
    /// `rediss://`, with the options `ca` and `insecure` of these engines
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Record a capture of the network in place of a proxy: `pcap:FILE`, as tcpdump or Wireshark write it, or `pcap:-`. The
    /// host of `--upstream` is the server's in the packets, and 0.0.0.0 stands for every host
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["listen", "rotate_every", "threads",
        "grace", "every", "unix_mask", "ssl_chain_cert"])]
    from: Option<capture::Source>,
    /// The file: NAME.journal while it is written, and NAME.parquet once it is whole
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace a recording of this name once the new one is whole
    #[arg(long)]
    overwrite: bool,
    /// The form of keys
    #[arg(long, value_enum, value_name = "FORM", default_value = "hashed")]
    keys: KeyForm,
    /// A file with the salt of the hashes, so that the same key has the same hash in several recordings. It is made
    /// where there is none. Without it, each recording has a salt of its own that nobody knows
    #[arg(long, value_name = "FILE")]
    salt_file: Option<PathBuf>,
    /// Record this share of the keys, each with all of its operations: `1%`
    #[arg(long, value_name = "SHARE", default_value = "100%")]
    sample: Share,
    /// Begin the next file once the journal has this size; each file has its time in its name then
    #[arg(long, value_name = "SIZE")]
    rotate_size: Option<ByteSize>,
    /// Begin the next file after this time
    #[arg(long, value_name = "TIME")]
    rotate_every: Option<Span>,
    /// Keep this many finished files, and remove older ones
    #[arg(long, value_name = "N", value_parser = options::kept)]
    keep: Option<std::num::NonZero<usize>>,
    /// The most bytes of all files: the oldest are removed. Without a size of files, a file is an eighth of it
    #[arg(long, value_name = "SIZE")]
    max_disk: Option<ByteSize>,
    /// Threads that pass the bytes on
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = options::threads)]
    threads: std::num::NonZero<usize>,
    #[command(flatten)]
    certificates: Certificates,
    /// The permissions of a socket, in octal
    #[arg(hide_short_help = true, long, value_name = "MODE", default_value = "0700", value_parser = super::serve::octal)]
    unix_mask: u32,
    /// The time that connections have at the end until what they have asked is answered
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "5s")]
    grace: Span,
    /// The time between two lines with what was seen; 0 for none
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "10s")]
    every: Span,
    /// The form of messages on standard error
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_enum, default_value = "text")]
    log: Log,
}

/// The connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let done = record(arguments);
    larder_server::flush_log();
    done
}

fn record(arguments: &Arguments) -> anyhow::Result<Exit> {
    let log: LogFormat = arguments.log.into();
    let notify = notify_by(log);
    let upstream = upstream(arguments)?;
    if let Some(source) = &arguments.from {
        return capture::run(source, arguments, &upstream, log);
    }
    let addresses = options::addresses(arguments)?;
    reach::refuse_itself(&addresses, &upstream)?;
    let tls = arguments.certificates.settings().map(Tls::of_files);
    let tls = tls.transpose().map_err(anyhow::Error::msg)?;
    let keys = keys(arguments)?;
    let limits = limits(arguments)?;
    // From here on no signal ends the process as it likes.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let listeners = Listeners::bind(&addresses, BACKLOG, Vec::new());
    let listeners = listeners.map_err(|not| {
        anyhow::anyhow!("cannot listen on {}: {}; take another --listen", not.address, not.source)
    })?;
    let about = about(arguments, &upstream);
    let files = Files::begin(&arguments.output, about, limits, Arc::clone(&notify));
    let files = files.map_err(Usage)?;
    let (journal, written) = (files.journal().map(ToOwned::to_owned), files.written());
    say_what_is_recorded(arguments, &upstream, &keys, log);
    say_trouble(&upstream, log);
    let (writer, row_sender) = Writer::start(Box::new(files))?;
    let (threads, grace) = (arguments.threads, arguments.grace.0);
    let settings = Settings { upstream, tls, keys, threads, grace };
    let proxy = Proxy::start(listeners, settings, row_sender.clone(), notify)
        .context("cannot start the proxy")?;
    for address in proxy.addresses() {
        let tls = if matches!(address, Address::Tls(_)) { " with TLS" } else { "" };
        let open = if address.is_local() { "" } else { "; open to other hosts" };
        let journal = journal.as_ref().map_or_else(String::new, |path| path.display().to_string());
        let message = format!("recording to {journal} on {address}{tls}{open}");
        log.say(Level::Info, "recording", &message, &[("address", &address), ("file", &journal)]);
    }
    let remote = proxy.remote();
    thread::spawn(move || obey(signals, &remote));
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    summary::begin(proxy.watch(), row_sender, arguments.every.0, log);
    let totals = proxy.run()?;
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    let dropped = writer.finish();
    let written = written.lock().unwrap_or_else(PoisonError::into_inner).clone();
    super::print(summary::last(&totals, dropped, &written).as_bytes())?;
    Ok(exit(&written))
}

/// A recording is done once all of its journals are finished.
fn exit(written: &Written) -> Exit {
    let is_done = !written.files.is_empty() && written.unfinished.is_empty();
    if is_done { Exit::Done } else { Exit::Failed }
}

/// What a recording tells of itself.
fn about(arguments: &Arguments, upstream: &Upstream) -> About {
    About {
        sample: Some(arguments.sample.0).filter(|share| *share < 1.0),
        upstream: Some(upstream.kind.as_str().to_owned()),
        ..About::default()
    }
}

/// Tells notices by the log.
fn notify_by(log: LogFormat) -> Notify {
    Arc::new(move |weight, event, message| {
        let level = match weight {
            Severity::Info => Level::Info,
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        };
        log.say(level, event, message, &[]);
    })
}

fn upstream(arguments: &Arguments) -> anyhow::Result<Upstream> {
    let url = arguments.upstream.as_deref().ok_or_else(|| {
        Usage("--upstream: which server? write memcached://HOST:PORT or redis://HOST".into())
    })?;
    Ok(Upstream::of_url(&StoreUrl::parse(url)?)?)
}

fn keys(arguments: &Arguments) -> Result<Keys, Usage> {
    let is_clear = arguments.keys == KeyForm::Clear;
    // A sample is drawn by the salted hash, of keys in clear too.
    if let Some(path) =
        arguments.salt_file.as_ref().filter(|_| is_clear && arguments.sample.0 >= 1.0)
    {
        return Err(Usage(format!(
            "--salt-file {}: keys in clear have no salt; leave it out, or leave out --keys clear",
            path.display()
        )));
    }
    let salt = match &arguments.salt_file {
        Some(path) => larder_record::salt_of_file(path)
            .map_err(|error| Usage(format!("--salt-file {error}")))?,
        None => larder_record::random_salt(),
    };
    Ok(Keys::new(&salt).in_clear(is_clear).sampled(arguments.sample.0))
}

fn limits(arguments: &Arguments) -> Result<Limits, Usage> {
    const LEAST: u64 = 1 << 20;
    for (name, size) in
        [("--rotate-size", arguments.rotate_size), ("--max-disk", arguments.max_disk)]
    {
        if let Some(size) = size.filter(|size| size.0 < LEAST) {
            let least = ByteSize(LEAST);
            return Err(Usage(format!(
                "{name} {size}: the least is {least}; write {name} 1m or more"
            )));
        }
    }
    if let Some(time) = arguments.rotate_every.filter(|time| time.0.as_secs() < 1) {
        return Err(Usage(format!(
            "--rotate-every {time}: the least is 1s; write a longer time, or leave it out for one file"
        )));
    }
    let rotates = arguments.rotate_size.is_some()
        || arguments.rotate_every.is_some()
        || arguments.max_disk.is_some();
    if arguments.keep.is_some() && !rotates {
        return Err(Usage(
            "--keep: there is one file only; add --rotate-size or --rotate-every".into(),
        ));
    }
    if arguments.overwrite && rotates {
        return Err(Usage(
            "--overwrite: files with a time in their names replace no other; leave it out".into(),
        ));
    }
    Ok(Limits {
        rotate_bytes: arguments.rotate_size.map(|size| size.0),
        rotate_every: arguments.rotate_every.map(|time| time.0),
        keep: arguments.keep.map(std::num::NonZero::get),
        most_bytes: arguments.max_disk.map(|size| size.0),
        overwrites: arguments.overwrite,
        drops_empty: false,
    })
}

fn say_what_is_recorded(arguments: &Arguments, upstream: &Upstream, keys: &Keys, log: LogFormat) {
    let kind = upstream.kind.as_str();
    let form = match (arguments.keys, &arguments.salt_file) {
        (KeyForm::Clear, _) => "keys are in clear".to_owned(),
        (KeyForm::Hashed, None) => "keys are hashed, with a salt that nobody knows".to_owned(),
        (KeyForm::Hashed, Some(_)) => {
            format!("keys are hashed, with the salt that is called {:016x}", keys.salt_name())
        }
    };
    let share = &arguments.sample;
    let sampled = if share.0 < 1.0 { format!("; {share} of the keys") } else { String::new() };
    let message = format!("the server is {kind} at {upstream}; {form}{sampled}");
    log.say(Level::Info, "server", &message, &[("kind", &kind), ("server", &upstream)]);
}

/// Says that the server takes no connection at the start. The proxy waits for it.
fn say_trouble(upstream: &Upstream, log: LogFormat) {
    let Some(error) = reach::trouble(&upstream.destination) else { return };
    let message = format!(
        "the server at {upstream} does not answer yet: {error}; connections of the application are closed until it does"
    );
    log.say(Level::Warning, "unreachable", &message, &[("server", &upstream)]);
}

/// Does what signals ask for. A second signal to end cuts the connections; the journal is left then.
fn obey(mut signals: Signals, remote: &larder_record::Remote) {
    let mut is_ending = false;
    for signal in signals.forever() {
        match signal {
            SIGHUP => remote.reload(),
            _ if is_ending => {
                larder_server::flush_log();
                signal_hook::low_level::exit(Exit::Interrupted as i32);
            }
            _ => {
                is_ending = true;
                remote.end();
            }
        }
    }
}
