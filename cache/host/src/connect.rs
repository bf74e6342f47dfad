//! Connections that are begun without waiting for them.

use std::io::{self, ErrorKind};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::destination::Destination;

/// Begins a connection to the first untried address that does not fail at once. It is there once the socket is writable and
/// has no error.
///
/// # Errors
///
/// The last address was tried, and the reason of its failure. [`ErrorKind::WouldBlock`] means a Unix socket with too
/// many connections that wait; then the address counts as untried.
pub fn connect(destination: &Destination, n_tried: &mut usize) -> io::Result<Socket> {
    let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
    loop {
        let address = match destination {
            Destination::Tcp(addresses) => addresses.get(*n_tried).copied().map(SockAddr::from),
            Destination::Unix(path) if *n_tried == 0 => Some(SockAddr::unix(path)?),
            Destination::Unix(_) => None,
        };
        let Some(address) = address else { return Err(failed) };
        match begin(&address) {
            Ok(socket) => {
                *n_tried += 1;
                return Ok(socket);
            }
            Err(error) if address.is_unix() && error.kind() == ErrorKind::WouldBlock => {
                return Err(error);
            }
            Err(error) => failed = error,
        }
        *n_tried += 1;
    }
}

fn begin(address: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::from(i32::from(address.family())), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    if !address.is_unix() {
        socket.set_tcp_nodelay(true)?;
    }
    match socket.connect(address) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}
