//! The addresses at which a server listens.

use std::fmt;
use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// An address at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port of an interface.
    Tcp(SocketAddr),
    /// A path, and the permissions of the socket there.
    Unix(PathBuf, u32),
}

impl Address {
    /// Whether only processes of this host can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(..) => true,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path, _) => write!(f, "{}", path.display()),
        }
    }
}

/// A listening socket. The path of a unix socket is removed with it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: Socket,
    /// The address, with the port that the system chose where none was given.
    pub(crate) address: Address,
}

impl Listener {
    pub(crate) fn bind(address: &Address, backlog: i32) -> io::Result<Self> {
        let (socket, address) = match address {
            Address::Tcp(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
                // Ports of connections that a server before this one has ended are free.
                socket.set_reuse_address(true)?;
                if address.is_ipv6() {
                    // An IPv4 address of the same port has a listener of its own.
                    socket.set_only_v6(true)?;
                }
                socket.bind(&(*address).into())?;
                let bound = socket.local_addr()?.as_socket().unwrap_or(*address);
                (socket, Address::Tcp(bound))
            }
            Address::Unix(path, mode) => {
                remove_if_dead(path)?;
                let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
                socket.bind(&SockAddr::unix(path)?)?;
                // Nobody can connect before the socket listens.
                std::fs::set_permissions(path, Permissions::from_mode(*mode))?;
                (socket, address.clone())
            }
        };
        socket.listen(backlog)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }

    /// The next connection.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        let (socket, _) = self.socket.accept()?;
        socket.set_nonblocking(true)?;
        if matches!(self.address, Address::Tcp(_)) {
            socket.set_tcp_nodelay(true)?;
            // The connection of a client whose machine is gone ends some day.
            socket.set_keepalive(true)?;
        }
        Ok(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path, _) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes the socket of a server that was killed. A file of another kind stays, and so does a socket at which a server
/// listens, though it may have no time to answer.
fn remove_if_dead(path: &Path) -> io::Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Ok(());
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
