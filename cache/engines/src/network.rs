//! The shared part of engines whose servers are behind a port or a socket.

use std::fmt::{self, Display};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use larder_host::delay_proxy::DelayProxy;
use larder_host::destination::Destination;
use larder_store::{Error, Result, Span, Via};

pub use larder_host::address::{addresses, host_and_port, join_port};

/// The file of the socket of a server that Larder starts, in the server's directory.
pub const SOCKET_FILE: &str = "socket";

/// The longest path that a socket can have: the kernel's `sun_path` without its final NUL.
const SOCKET_PATH_LEN: usize = 107;

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On a port of a host.
    Tcp(String, u16),
    /// On a socket of this machine.
    Unix(PathBuf),
}

impl Place {
    /// The destination of a relay to this place.
    pub fn destination(&self, engine: &'static str) -> Result<Destination> {
        match self {
            Self::Tcp(host, port) => resolved(engine, host, *port).map(Destination::Tcp),
            Self::Unix(path) => Ok(Destination::Unix(path.clone())),
        }
    }

    /// Whether this place is on this machine for certain.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(host, port) => {
                addresses(host, *port).is_ok_and(|addresses| are_local(&addresses))
            }
            Self::Unix(_) => true,
        }
    }

    /// Whether this place is a socket.
    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl Display for Place {
    /// `host:port`, or the path of a socket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => f.pad(&join_port(host, *port)),
            Self::Unix(path) => f.pad(&path.to_string_lossy()),
        }
    }
}

/// A text as one line of at most `longest` characters.
pub fn one_line(longest: usize, text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// As [`addresses`], with the error of an engine.
pub fn resolved(engine: &'static str, host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    addresses(host, port).map_err(|source| Error::Unavailable {
        engine,
        what: format!("{host}: {source}"),
        source: Some(source),
    })
}

/// Whether a host with these addresses is this machine for certain: every address is a loopback address.
fn are_local(addresses: &[SocketAddr]) -> bool {
    !addresses.is_empty()
        && addresses.iter().all(|address| address.ip().to_canonical().is_loopback())
}

/// The path of the socket of a server that Larder starts in `directory`; an error when the kernel takes no such path.
pub fn socket_path(engine: &'static str, directory: &Path) -> Result<PathBuf> {
    let path = directory.join(SOCKET_FILE);
    check_socket_path(engine, &path).map(|()| path)
}

/// Checks that the kernel takes the path of a server's socket.
pub fn check_socket_path(engine: &'static str, path: &Path) -> Result<()> {
    if path.as_os_str().len() > SOCKET_PATH_LEN {
        let reason = format!(
            "option `socket`: {} is longer than the {SOCKET_PATH_LEN} bytes of a socket's path; set TMPDIR to a \
             shorter path",
            path.display()
        );
        return Err(Error::InvalidOptions { engine, reason });
    }
    Ok(())
}

/// Puts a relay before these servers where the option asks for a relay. Its addresses are in the order of the servers.
pub fn delay_proxy(
    engine: &'static str,
    via: Option<Via>,
    timeout: Duration,
    servers: impl FnOnce() -> Result<Vec<Destination>>,
) -> Result<Option<DelayProxy>> {
    // A new connection takes two round trips to its first answer.
    delay_proxy_for(engine, via, timeout, 2, servers)
}

/// As [`delay_proxy`], for servers to which a new connection takes `round_trips` round trips to its first answer.
pub fn delay_proxy_for(
    engine: &'static str,
    via: Option<Via>,
    timeout: Duration,
    round_trips: u32,
    servers: impl FnOnce() -> Result<Vec<Destination>>,
) -> Result<Option<DelayProxy>> {
    let Some(via) = via else { return Ok(None) };
    let needed = via.delay() * round_trips;
    if needed >= timeout {
        let reason = format!(
            "option `via`: a connection's first answer takes {} by {via}, longer than `timeout` of {}; raise `timeout`",
            Span(needed),
            Span(timeout),
        );
        return Err(Error::InvalidOptions { engine, reason });
    }
    DelayProxy::start(engine, via, &servers()?).map(Some)
}

/// The settings of a store that describe the relay before its servers.
pub fn delay_proxy_settings(
    via: Option<Via>,
    delay_proxy: Option<&DelayProxy>,
) -> impl Iterator<Item = (String, String)> {
    let via = via.map(|via| ("via".into(), via.to_string()));
    let added =
        delay_proxy.map(|delay_proxy| ("via_added".into(), delay_proxy.added().to_string()));
    via.into_iter().chain(added)
}

/// Whether a server is on this machine for certain.
pub fn is_local(server: &Destination) -> bool {
    match server {
        Destination::Tcp(addresses) => are_local(addresses),
        Destination::Unix(_) => true,
    }
}

/// Whether a process of this machine runs one of these programs. A server behind a port may be in another container,
/// whose process ids mean other processes here.
pub fn runs_one_of(pid: u32, programs: &[&str]) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|name| programs.contains(&name.trim()))
}

/// The values of one setting on several nodes: the first value, and each different value with its node, as in `7.0.15;
/// h2:6379 has 7.2.4`. `None` where no node reports a value.
pub fn agreed<N: Display, T: Display + PartialEq>(
    values: impl IntoIterator<Item = (N, Option<T>)>,
) -> Option<String> {
    let mut values = values.into_iter().filter_map(|(node, value)| Some((node, value?)));
    let (_, first) = values.next()?;
    let others = values.filter(|(_, value)| *value != first);
    let others = others.map(|(node, value)| format!("; {node} has {value}"));
    Some(std::iter::once(first.to_string()).chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_line_that_is_cut_between_characters() {
        assert_eq!(one_line(9, " a\n  b\tc "), "a b c");
        assert_eq!(one_line(3, "äöüß"), "äöü…");
        assert_eq!(one_line(4, "äöüß"), "äöüß");
    }

    #[test]
    fn only_hosts_reached_by_loopback_are_local() {
        for (hosts, is_local) in [
            (&["127.0.0.1"][..], true),
            (&["localhost"], true),
            (&["127.8.9.1", "::1", "::ffff:127.0.0.1"], true),
            (&["192.0.2.1"], false),
            (&["127.0.0.1", "192.0.2.1"], false),
            (&[], false),
        ] {
            let resolved = hosts.iter().flat_map(|host| addresses(host, 5).unwrap());
            assert_eq!(are_local(&resolved.collect::<Vec<_>>()), is_local, "{hosts:?}");
        }
    }

    #[test]
    fn a_path_is_as_long_as_the_kernel_takes_it() {
        let directory = |len: usize| format!("/{}", "d".repeat(len - 1));
        let longest = SOCKET_PATH_LEN - "/socket".len();
        assert!(socket_path("test", Path::new(&directory(longest))).is_ok());
        let error = socket_path("test", Path::new(&directory(longest + 1))).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("longer than the 107 bytes of a socket's path"), "{message}");
    }

    #[test]
    fn the_kernel_takes_the_longest_path_and_no_longer() {
        let bind = |len: usize| {
            use std::os::unix::net::SocketAddr;
            SocketAddr::from_pathname(format!("/{}", "s".repeat(len - 1)))
        };
        assert!(bind(SOCKET_PATH_LEN).is_ok() && bind(SOCKET_PATH_LEN + 1).is_err());
    }

    #[test]
    fn a_relay_that_cannot_be_is_refused_before_a_server_is_looked_for() {
        let refused = |via: Option<&str>, timeout| {
            let via = via.map(|text| text.parse().unwrap());
            let nobody = || panic!("nobody is to be asked");
            delay_proxy("test", via, Duration::from_secs(timeout), nobody).map(drop)
        };
        assert!(refused(None, 5).is_ok());
        assert_eq!(
            refused(Some("delay:3s"), 5).unwrap_err().to_string(),
            "test: option `via`: a connection's first answer takes 6s by delay:3s, longer than `timeout` of 5s; \
             raise `timeout`"
        );
    }

    #[test]
    fn a_program_that_cannot_be_a_relay_says_so() {
        // The program of these tests never calls `delay_proxy::serve_if_asked`.
        let via = Some("delay:2ms".parse().unwrap());
        let refused =
            delay_proxy("test", via, Duration::from_secs(5), || Ok(Vec::new())).unwrap_err();
        let message = refused.to_string();
        assert!(
            message.contains("it does not call delay_proxy::serve_if_asked in its main"),
            "{message}"
        );
    }

    #[test]
    fn a_host_that_disagrees_is_named() {
        let agreed_of =
            |values: &[Option<&str>]| agreed(["h1", "h2", "h3"].iter().zip(values.to_vec()));
        assert_eq!(agreed_of(&[Some("7.0"), Some("7.0"), None]).as_deref(), Some("7.0"));
        assert_eq!(
            agreed_of(&[None, Some("7.0"), Some("7.2")]).as_deref(),
            Some("7.0; h3 has 7.2")
        );
        assert_eq!(agreed_of(&[None, None]), None);
    }
}
