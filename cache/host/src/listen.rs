//! The addresses at which a server listens.

use std::fmt;
use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// An address at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port of an interface.
    Tcp(SocketAddr),
    /// A port of an interface whose connections are encrypted.
    Tls(SocketAddr),
    /// A path, and the permissions of the socket there.
    Unix(PathBuf, u32),
}

impl Address {
    /// Whether only processes of this host can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::Tls(address) => address.ip().is_loopback(),
            Self::Unix(..) => true,
        }
    }

    /// The port and the interface, where it has them.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) | Self::Tls(address) => Some(*address),
            Self::Unix(..) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) | Self::Tls(address) => write!(f, "{address}"),
            Self::Unix(path, _) => write!(f, "{}", path.display()),
        }
    }
}

/// An address at which nothing listens, and the reason.
#[derive(Debug)]
pub struct NotListening {
    /// The address.
    pub address: Address,
    /// The cause.
    pub source: io::Error,
}

impl fmt::Display for NotListening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address, self.source)
    }
}

impl std::error::Error for NotListening {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Sockets that listen. Clients may connect from now on; they are served once a server has the sockets.
#[derive(Debug)]
pub struct Listeners {
    /// The sockets, in the order of their addresses.
    pub sockets: Vec<Listener>,
    /// A socket at which metrics are read, from another process.
    pub metrics: Option<OwnedFd>,
}

impl Listeners {
    /// Listens at addresses. A socket of another process that listens at one of them is taken in place of a new one.
    ///
    /// # Errors
    ///
    /// An address that cannot be had.
    pub fn bind(
        addresses: &[Address],
        backlog: i32,
        handed_over: Vec<OwnedFd>,
    ) -> Result<Self, NotListening> {
        let mut handed_over: Vec<Socket> = handed_over.into_iter().map(Socket::from).collect();
        let listeners = addresses.iter().map(|address| {
            let same = handed_over.iter().position(|socket| is_at(socket, address));
            let listener = match same {
                // Its path stays the other process's until this one serves.
                Some(place) => Listener::of(handed_over.swap_remove(place), address),
                None => Listener::bind(address, backlog),
            };
            listener.map_err(|source| NotListening { address: address.clone(), source })
        });
        Ok(Self { sockets: listeners.collect::<Result<_, _>>()?, metrics: None })
    }

    /// Takes sockets that the system has opened for this process, or for the one that it replaces, whatever their addresses
    /// are.
    ///
    /// # Errors
    ///
    /// A descriptor that is no such socket.
    pub fn adopt(sockets: Vec<OwnedFd>, is_encrypted: bool) -> io::Result<Self> {
        let listeners = sockets.into_iter().map(|socket| {
            let socket = Socket::from(socket);
            let local = socket.local_addr()?;
            let address = match (local.as_socket(), local.as_pathname()) {
                (Some(address), _) if is_encrypted => Address::Tls(address),
                (Some(address), _) => Address::Tcp(address),
                (None, Some(path)) => Address::Unix(path.to_owned(), 0o700),
                (None, None) => return Err(io::Error::other("neither a port nor a path")),
            };
            let mut listener = Listener::of(socket, &address)?;
            listener.is_adopted = true;
            Ok(listener)
        });
        Ok(Self { sockets: listeners.collect::<io::Result<_>>()?, metrics: None })
    }

    /// Also takes a socket at which metrics are read, from the process whose place this one takes.
    #[must_use]
    pub fn with_metrics(self, metrics: Option<OwnedFd>) -> Self {
        Self { metrics, ..self }
    }

    /// The addresses, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<Address> {
        self.sockets.iter().map(|listener| listener.address.clone()).collect()
    }
}

fn is_at(socket: &Socket, address: &Address) -> bool {
    let Ok(local) = socket.local_addr() else { return false };
    match address {
        Address::Tcp(address) | Address::Tls(address) => local.as_socket().is_some_and(|local| {
            // Port 0 is the one that the system chose for the other process.
            local.ip() == address.ip() && (address.port() == 0 || local.port() == address.port())
        }),
        Address::Unix(path, _) => local.as_pathname() == Some(path),
    }
}

/// A listening socket. The path of a unix socket is removed with it, if it is still the same file, and is this process's.
#[derive(Debug)]
pub struct Listener {
    /// The socket.
    pub socket: Socket,
    /// The address, with the port that the system chose where none was given.
    pub address: Address,
    /// The device and the number of a unix socket's file, which vanishes with the listener.
    own_file: Option<(u64, u64)>,
    /// The system has opened it, and keeps its path.
    is_adopted: bool,
}

impl Listener {
    fn bind(address: &Address, backlog: i32) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(address) | Address::Tls(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
                // Ports of connections that a server before this one has ended are free.
                socket.set_reuse_address(true)?;
                if address.is_ipv6() {
                    // An IPv4 address of the same port has a listener of its own.
                    socket.set_only_v6(true)?;
                }
                socket.bind(&(*address).into())?;
                socket
            }
            Address::Unix(path, mode) => {
                remove_if_dead(path)?;
                let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
                socket.bind(&SockAddr::unix(path)?)?;
                // Nobody can connect before the socket listens.
                std::fs::set_permissions(path, Permissions::from_mode(*mode))?;
                socket
            }
        };
        socket.listen(backlog)?;
        let mut listener = Self::of(socket, address)?;
        listener.own_path();
        Ok(listener)
    }

    /// A socket that listens at this address.
    fn of(socket: Socket, address: &Address) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_cloexec(true)?;
        let bound = socket.local_addr()?.as_socket();
        let address = match (address, bound) {
            (Address::Tcp(_), Some(bound)) => Address::Tcp(bound),
            (Address::Tls(_), Some(bound)) => Address::Tls(bound),
            _ => address.clone(),
        };
        Ok(Self { socket, address, own_file: None, is_adopted: false })
    }

    /// Takes the path of a unix socket over, unless it is the system's.
    pub fn own_path(&mut self) {
        if let (Address::Unix(path, _), false) = (&self.address, self.is_adopted) {
            self.own_file = file_at(path);
        }
    }

    /// Leaves the path to another process.
    pub fn leave_path(&mut self) {
        self.own_file = None;
    }

    /// The next connection.
    ///
    /// # Errors
    ///
    /// No connection waits, or no descriptors are left.
    pub fn accept(&self) -> io::Result<Socket> {
        let (socket, _) = self.socket.accept()?;
        socket.set_nonblocking(true)?;
        if !matches!(self.address, Address::Unix(..)) {
            socket.set_tcp_nodelay(true)?;
            // The connection of a client whose machine is gone ends some day.
            socket.set_keepalive(true)?;
        }
        Ok(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path, _) = &self.address
            && self.own_file.is_some()
            && self.own_file == file_at(path)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn file_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
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
