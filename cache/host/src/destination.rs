//! The address to which a client connects.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The address to which a client connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// The addresses of a host's name, tried in this order.
    Tcp(Vec<SocketAddr>),
    /// A Unix socket of this machine.
    Unix(PathBuf),
}

impl fmt::Display for Destination {
    /// `host:port` for each address, or the path of a socket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addresses) => {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                f.write_str(&addresses.join(","))
            }
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
