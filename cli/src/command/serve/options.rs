//! The options of memcached that are understood, and those that have no meaning here.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use larder_host::managed::Account;
use larder_server::{LogFormat, TlsSettings};

use crate::command::atomic_file;
use crate::exit::Usage;

/// Options of memcached that change nothing here. Each is named in one line when it is given, so that unit files and
/// scripts run unchanged.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags, as memcached has them")]
pub(super) struct Ignored {
    #[arg(short = 'U', long = "udp-port", value_name = "N", hide = true)]
    udp: Option<u16>,
    #[arg(short = 'd', long, hide = true)]
    daemon: bool,
    #[arg(short = 'k', long, hide = true)]
    lock_memory: bool,
    #[arg(short = 'L', long, hide = true)]
    enable_largepages: bool,
    #[arg(short = 'M', long, hide = true)]
    disable_evictions: bool,
    #[arg(short = 'C', long, hide = true)]
    disable_cas: bool,
    #[arg(short = 'r', long, hide = true)]
    enable_coredumps: bool,
    #[arg(short = 'f', long, value_name = "FACTOR", hide = true)]
    slab_growth_factor: Option<f64>,
    #[arg(short = 'n', long, value_name = "BYTES", hide = true)]
    slab_min_size: Option<u64>,
    #[arg(short = 'D', value_name = "CHAR", hide = true)]
    delimiter: Option<String>,
    #[arg(short = 'B', long, value_name = "PROTOCOL", hide = true)]
    protocol: Option<String>,
    #[arg(short = 'X', long, hide = true)]
    disable_dumping: bool,
    #[arg(short = 'W', long, hide = true)]
    disable_watch: bool,
    #[arg(short = 'S', long, hide = true)]
    enable_sasl: bool,
    #[arg(short = 'v', long, action = clap::ArgAction::Count, hide = true)]
    verbose: u8,
}

impl Ignored {
    /// A line for each that was given.
    ///
    /// # Errors
    ///
    /// An option whose meaning a user relies on, and which is not there.
    pub(super) fn notices(&self, has_users: bool) -> Result<Vec<String>, Usage> {
        if self.enable_sasl && !has_users {
            let how = "name a file of user:password lines with -Y";
            return Err(Usage(format!("-S: whom shall it let in? {how}")));
        }
        if self.udp.is_some_and(|port| port != 0) {
            return Err(Usage("-U: there is no UDP here; leave it out, or say -U 0".into()));
        }
        let protocol = self.protocol.as_deref();
        if protocol.is_some_and(|name| !matches!(name, "auto" | "ascii" | "binary")) {
            return Err(Usage("-B: a protocol is auto, ascii or binary".into()));
        }
        if self.disable_evictions {
            let how = "take a store that does not evict, such as bdb:, as the URL";
            return Err(Usage(format!("-M: whether a full store evicts is the store's; {how}")));
        }
        let ignored = [
            (self.daemon, "-d: it stays in the foreground; systemd or `&` puts it behind"),
            (self.lock_memory, "-k: the memory is not locked; a system without swap does the same"),
            (self.enable_largepages, "-L: large pages are taken wherever the system gives them"),
            (self.disable_cas, "-C: versions cost nothing here, and stay"),
            (self.enable_coredumps, "-r: the limit of core dumps is the shell's"),
            (self.slab_growth_factor.is_some(), "-f: there are no slabs"),
            (self.slab_min_size.is_some(), "-n: there are no slabs"),
            (self.delimiter.is_some(), "-D: no counters by prefix"),
            (self.enable_sasl, "-S: with -Y, clients of the binary protocol use SASL in any case"),
            (self.disable_dumping, "-X: no keys are dumped here in any case"),
            (self.disable_watch, "-W: nobody can watch requests here in any case"),
            (
                protocol.is_some_and(|name| name != "auto"),
                "-B: all protocols are spoken, as their first byte tells",
            ),
            (self.verbose > 0, "-v: requests are not logged"),
        ];
        let given = ignored.into_iter().filter(|(is_given, _)| *is_given);
        Ok(given.map(|(_, notice)| format!("ignored: {notice}")).collect())
    }
}

/// The options of `-o` that have a meaning here, and a line for each other.
#[derive(Debug, Default)]
pub(super) struct Extended {
    pub(super) idle: Option<Duration>,
    chain: Option<PathBuf>,
    key: Option<PathBuf>,
    authorities: Option<PathBuf>,
    /// As memcached numbers it: 0 asks clients for nothing, 1 for a certificate if they have one, 2 and 3 for one.
    verify_mode: u8,
    is_newest_only: bool,
    pub(super) notices: Vec<String>,
}

impl Extended {
    pub(super) fn parse(options: &[String]) -> Result<Self, Usage> {
        let mut extended = Self::default();
        for option in options {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let wrong = |what: &str| Usage(format!("-o {name}={value}: {what}"));
            let file = || {
                if value.is_empty() {
                    Err(wrong("the path of a file"))
                } else {
                    Ok(Some(value.into()))
                }
            };
            match name {
                "idle_timeout" => {
                    let seconds =
                        value.parse().map_err(|_| wrong("a number of seconds; 0 is never"))?;
                    extended.idle =
                        Some(Duration::from_secs(seconds)).filter(|idle| !idle.is_zero());
                }
                "ssl_chain_cert" => extended.chain = file()?,
                "ssl_key" => extended.key = file()?,
                "ssl_ca_cert" => extended.authorities = file()?,
                "ssl_verify_mode" => {
                    let mode = value.parse().ok().filter(|mode| *mode <= 3);
                    extended.verify_mode = mode.ok_or_else(|| wrong("a number from 0 to 3"))?;
                }
                // memcached takes the numbers, and tells the names.
                "ssl_min_version" => match value.to_ascii_lowercase().as_str() {
                    "2" | "tlsv1.2" => extended.is_newest_only = false,
                    "3" | "tlsv1.3" => extended.is_newest_only = true,
                    _ => {
                        let known = "2 for TLS 1.2 or 3 for TLS 1.3; older ones are not spoken";
                        return Err(wrong(known));
                    }
                },
                _ => {
                    let notice = format!("ignored: -o {option}: it has no meaning here");
                    extended.notices.push(notice);
                }
            }
        }
        Ok(extended)
    }

    /// The encryption that `-Z` asks for.
    ///
    /// # Errors
    ///
    /// A file that is not named, or that is named without `-Z`.
    pub(super) fn tls(&self, is_enabled: bool) -> Result<Option<TlsSettings>, Usage> {
        let named = [&self.chain, &self.key, &self.authorities].into_iter().flatten().next();
        if let (Some(path), false) = (named, is_enabled) {
            let shown = path.display();
            return Err(Usage(format!(
                "-o ssl_…={shown}: without -Z nothing is encrypted; add -Z"
            )));
        }
        if !is_enabled {
            return Ok(None);
        }
        let (Some(chain), Some(key)) = (self.chain.clone(), self.key.clone()) else {
            let files = "-o ssl_chain_cert=FILE,ssl_key=FILE";
            return Err(Usage(format!("-Z: a certificate and its key are needed; add {files}")));
        };
        if self.verify_mode > 0 && self.authorities.is_none() {
            let mode = self.verify_mode;
            return Err(Usage(format!(
                "-o ssl_verify_mode={mode}: by which authorities? add -o ssl_ca_cert=FILE"
            )));
        }
        let authorities = self.authorities.clone().filter(|_| self.verify_mode > 0);
        let needs_client = self.verify_mode > 1;
        let is_newest_only = self.is_newest_only;
        Ok(Some(TlsSettings { chain, key, authorities, needs_client, is_newest_only }))
    }
}

/// The form of messages.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Log {
    /// Sentences
    Text,
    /// A JSON object in each line
    Json,
}

impl From<Log> for LogFormat {
    fn from(log: Log) -> Self {
        match log {
            Log::Text => Self::Text,
            Log::Json => Self::Json,
        }
    }
}

/// An address with its own port, or with this one. A name becomes its first address.
pub(super) fn address(text: &str, port: u16) -> Result<SocketAddr, Usage> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok((ip, port).into());
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, own)) if !host.contains(':') => {
            let own = own.parse().map_err(|_| {
                Usage(format!("-l {text}: {own} is no port; one is a number from 0 to 65535"))
            })?;
            (host, own)
        }
        _ => (text, port),
    };
    let found = (host, port).to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| Usage(format!("-l {text}: no such host; an address such as 127.0.0.1")))
}

/// The address of metrics: a port of this host alone, or an address with its port.
pub(super) fn metrics(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| "a port such as 9150, or an address such as 0.0.0.0:9150".into())
}

/// A port. memcached's -1 lets the system choose one, as 0 does.
pub(super) fn port(text: &str) -> Result<u16, String> {
    if text == "-1" { Ok(0) } else { text.parse().map_err(|_| "a number from 0 to 65535".into()) }
}

/// Makes a process that root has started run as another user from now on. As with memcached, the user of another process
/// stays.
pub(super) fn change_user(name: Option<&str>) -> Result<(), Usage> {
    let Some(name) = name.filter(|_| larder_host::managed::is_root()) else { return Ok(()) };
    let told = |why: String| Usage(format!("-u {name}: {why}"));
    let account = Account::named(name).ok_or_else(|| told("there is no such user".into()))?;
    account.become_it().map_err(|error| told(error.to_string()))
}

/// Permissions in octal.
pub(crate) fn octal(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| "permissions in octal, such as 0700".into())
}

/// The file with the number of the process, which vanishes with it.
#[derive(Debug)]
pub(super) struct PidFile(PathBuf);

impl PidFile {
    pub(super) fn write(path: &Path) -> anyhow::Result<Self> {
        atomic_file::write(path, |out| Ok(out.write_all(Self::text().as_bytes())?))?;
        Ok(Self(path.to_owned()))
    }

    fn text() -> String {
        format!("{}\n", std::process::id())
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // A process that has taken this one's place has written its own number.
        if std::fs::read_to_string(&self.0).is_ok_and(|text| text == Self::text()) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_own_port_or_the_common_one() {
        for (text, full) in [
            ("127.0.0.1", "127.0.0.1:11211"),
            ("0.0.0.0:7", "0.0.0.0:7"),
            ("::1", "[::1]:11211"),
            ("[::1]:7", "[::1]:7"),
            ("[::1]", "[::1]:11211"),
        ] {
            assert_eq!(address(text, 11211).unwrap().to_string(), full, "{text}");
        }
        let told = address("127.0.0.1:x", 1).unwrap_err().to_string();
        assert!(told.contains("x is no port"), "{told}");
    }
}
