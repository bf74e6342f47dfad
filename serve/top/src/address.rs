//! The addresses of servers, as a person types them.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{Error, Result};

/// memcached's port.
const PORT: u16 = 11211;

/// The longest path of a unix socket: the system's field for it has 108 bytes with the zero at its end.
const MAX_PATH_BYTES: usize = 107;

/// The longest name of a host.
const MAX_HOST_BYTES: usize = 253;

/// The place at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A host, by name or number, and a port.
    Tcp(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Reads all addresses; each server may be named only once.
    pub(crate) fn parse_all(texts: &[String]) -> Result<Vec<Self>> {
        let mut addresses: Vec<Self> = Vec::with_capacity(texts.len());
        for text in texts {
            let address = text.parse()?;
            if addresses.contains(&address) {
                return Err(Error::Twice { text: text.clone() });
            }
            addresses.push(address);
        }
        Ok(addresses)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).map_err(|fault| Error::Address { text: text.escape_debug().collect(), fault })
    }
}

/// Reads an address; the error names the limit and the fix.
fn parse(text: &str) -> Result<Address, String> {
    let path = text.strip_prefix("unix:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match path {
        Some(path) => socket(path),
        None if text.starts_with(['/', '.']) => socket(text),
        None if text.contains("://") => Err(format!(
            "only `unix:` is known before an address; write 10.0.0.2:{PORT} or unix:/run/mc.sock"
        )),
        None => host_and_port(text),
    }
}

fn socket(path: &str) -> Result<Address, String> {
    match path.len() {
        0 => Err("the path of its socket is missing; write unix:/run/mc.sock".to_owned()),
        1..=MAX_PATH_BYTES => Ok(Address::Unix(path.into())),
        len => Err(format!(
            "the path of a socket has {MAX_PATH_BYTES} bytes at most, this one has {len}; make a \
             shorter link to it"
        )),
    }
}

fn host_and_port(text: &str) -> Result<Address, String> {
    let is_number = |host: &str| host.parse::<Ipv6Addr>().is_ok();
    // Without brackets all parts of an IPv6 address belong to the host.
    if is_number(text) {
        return Ok(Address::Tcp(text.to_owned(), PORT));
    }
    let (host, given) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) if is_number(host) && rest.is_empty() => (host, None),
        Some((host, rest)) if is_number(host) && rest.starts_with(':') => (host, Some(&rest[1..])),
        Some(_) => return Err(format!("IPv6 in brackets is written [::1]:{PORT}")),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_known = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || host.len() > MAX_HOST_BYTES || !host.chars().all(is_known) {
        return Err(format!(
            "a host is a name or a number of {MAX_HOST_BYTES} bytes at most; write 10.0.0.2:{PORT}"
        ));
    }
    let port = given.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port > 0));
    let port = port.ok_or_else(|| {
        let given = given.unwrap_or_default().escape_debug();
        format!("`{given}` is no port from 1 to 65535; write {host}:{PORT}")
    })?;
    Ok(Address::Tcp(host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Address>().unwrap().to_string()
    }

    #[test]
    fn a_server_without_a_port_has_memcacheds() {
        assert_eq!(shown("10.0.0.2"), "10.0.0.2:11211");
        assert_eq!(shown("cache-1.example.com:11311"), "cache-1.example.com:11311");
        assert_eq!(shown("::1"), "[::1]:11211");
        assert_eq!(shown("[::1]"), "[::1]:11211");
        assert_eq!(shown("[fe80::1]:11311"), "[fe80::1]:11311");
    }

    #[test]
    fn a_path_is_a_socket_with_and_without_its_prefix() {
        for text in ["/run/mc.sock", "unix:/run/mc.sock", "unix:///run/mc.sock"] {
            assert_eq!(text.parse::<Address>().unwrap(), Address::Unix("/run/mc.sock".into()));
        }
        assert_eq!(shown("./mc.sock"), "./mc.sock");
    }

    #[test]
    fn a_fault_names_the_value_the_limit_and_the_fix() {
        let long = format!("/{}", "x".repeat(107));
        for (text, parts) in [
            ("", ["`` is no server", "write 10.0.0.2:11211"]),
            (":11211", ["`:11211`", "write 10.0.0.2:11211"]),
            ("host:0", ["`0` is no port from 1 to 65535", "write host:11211"]),
            ("host:65536", ["`65536` is no port", "write host:11211"]),
            ("host:http", ["`http` is no port", "write host:11211"]),
            ("a:1:2", ["`1:2` is no port", "write a:11211"]),
            ("two words", ["`two words`", "a host is a name"]),
            ("[::1", ["`[::1`", "a host is a name"]),
            ("[::1]x", ["`[::1]x`", "written [::1]:11211"]),
            ("[nine]:1", ["`[nine]:1`", "written [::1]:11211"]),
            ("unix:", ["the path of its socket is missing", "write unix:/run/mc.sock"]),
            ("redis://a", ["only `unix:` is known", "write 10.0.0.2:11211"]),
            ("a\nb", ["`a\\nb`", "a host is a name"]),
            (&long, ["107 bytes at most, this one has 108", "make a shorter link"]),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            let message = error.to_string();
            assert!(error.is_usage() && !message.contains('\n'), "{message}");
            assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
        }
    }

    #[test]
    fn each_server_is_named_once() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(Address::parse_all(&texts(&["a", "b", "a:1"])).unwrap().len(), 3);
        let error = Address::parse_all(&texts(&["a", "b", "a:11211"])).unwrap_err();
        assert!(error.to_string().starts_with("`a:11211` is named twice"), "{error}");
    }
}
