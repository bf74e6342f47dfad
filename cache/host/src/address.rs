//! Addresses as a person writes them.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

use larder_store::{Error, Result, StoreUrl};

/// The host that a URL names, and its port or `default`.
///
/// # Errors
///
/// [`Error::InvalidUrl`] where `host` is not a host; the message shows valid ones.
pub fn host_and_port<'h>(url: &StoreUrl, host: &'h str, default: u16) -> Result<(&'h str, u16)> {
    split_port(host, default).ok_or_else(|| Error::InvalidUrl {
        url: url.to_string(),
        reason: format!("`{host}` is not a host; write h1:{default} or [::1]:{default}"),
    })
}

/// Splits `h1:6379`, `h1`, `[::1]:6379` or `::1` into host and port. `None` for any other text.
pub fn split_port(text: &str, default: u16) -> Option<(&str, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            let port = if port.is_empty() { None } else { Some(port.strip_prefix(':')?) };
            (host, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (text, None),
        },
    };
    let port = port.map_or(Some(default), |port| port.parse().ok())?;
    (!host.is_empty() && port > 0).then_some((host, port))
}

/// Host and port as a person writes them.
pub fn join_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The addresses of a host, in the order in which a client tries them.
pub fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    (host, port).to_socket_addrs().map(Iterator::collect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_port_or_the_default() {
        for (text, split) in [
            ("h1:6380", Some(("h1", 6380))),
            ("h1", Some(("h1", 77))),
            ("[::1]:5", Some(("::1", 5))),
            ("[::1]", Some(("::1", 77))),
            ("::1", Some(("::1", 77))),
            ("h1:", None),
            ("h1:0", None),
            ("h1:70000", None),
            (":6379", None),
            ("[::1", None),
            ("[::1]5", None),
        ] {
            assert_eq!(split_port(text, 77), split, "{text}");
            if let Some((host, port)) = split {
                assert_eq!(split_port(&join_port(host, port), 77), split, "{text}");
            }
        }
    }
}
