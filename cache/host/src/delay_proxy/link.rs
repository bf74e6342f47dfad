//! One connection of a client, and the relay's connection to the server in its place.

use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use socket2::Socket;

use super::delayed::Delayed;
use super::order::Order;
use crate::connect::connect;
use crate::destination::Destination;
use crate::epoll::{Epoll, READABLE, WRITABLE};

/// One of the two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A client and its server.
#[derive(Debug)]
pub(super) struct Link {
    client: Peer,
    server: Peer,
    /// The time at which the connection counts as open; no bytes pass before.
    opens: Instant,
    is_connecting: bool,
    /// The number of server addresses tried so far.
    n_tried: usize,
    /// The time at which the wire to the client has carried all its bytes.
    wire_is_free: Instant,
}

/// One end of a link.
#[derive(Debug)]
struct Peer {
    socket: Socket,
    /// The bytes received from this end.
    held: Delayed,
    /// Whether this end takes no more bytes for now.
    is_blocked: bool,
    interest: u32,
}

impl Peer {
    fn new(socket: Socket, is_blocked: bool) -> Self {
        Self { socket, held: Delayed::default(), is_blocked, interest: 0 }
    }
}

impl Link {
    /// Links an accepted client to a server, and begins the connection to the server.
    pub(super) fn new(
        client: Socket,
        destination: &Destination,
        opens: Instant,
    ) -> io::Result<Self> {
        client.set_nonblocking(true)?;
        client.set_tcp_nodelay(true)?;
        let mut n_tried = 0;
        let server = connect(destination, &mut n_tried)?;
        let (client, server) = (Peer::new(client, false), Peer::new(server, true));
        Ok(Self { client, server, opens, is_connecting: true, n_tried, wire_is_free: opens })
    }

    /// Handles an event at this side: continues a pending connection, writes bytes that were blocked, and reads new
    /// bytes. Returns the due time of bytes that did not pass at once.
    pub(super) fn turn(
        &mut self,
        side: Side,
        order: Order,
        destination: &Destination,
        buffer: &mut [u8],
    ) -> io::Result<Option<Instant>> {
        if self.is_connecting && side == Side::Server {
            self.go_on_connecting(destination)?;
            if self.is_connecting {
                return Ok(None);
            }
        }
        if std::mem::take(&mut self.peer(side).is_blocked) {
            self.pass_on(side.other(), Instant::now());
        }
        Ok(self.read(side, order, buffer))
    }

    fn go_on_connecting(&mut self, destination: &Destination) -> io::Result<()> {
        if self.server.socket.take_error()?.is_some() {
            // The old socket leaves the epoll set when its last descriptor closes.
            self.server = Peer::new(connect(destination, &mut self.n_tried)?, true);
        } else if self.server.socket.peer_addr().is_ok() {
            self.is_connecting = false;
        }
        Ok(())
    }

    fn read(&mut self, side: Side, order: Order, buffer: &mut [u8]) -> Option<Instant> {
        if !self.peer(side).held.is_open() {
            return None;
        }
        let result = (&self.peer(side).socket).read(buffer);
        let now = Instant::now();
        let due = match side {
            Side::Client => now + order.held,
            Side::Server => self.carried(now, *result.as_ref().unwrap_or(&0), order.rate),
        };
        let due = due.max(self.opens);
        let peer = self.peer(side);
        match result {
            Ok(0) => peer.held.end(due),
            Ok(len) => peer.held.push(&buffer[..len], due),
            Err(error) if is_for_now(&error) => return None,
            Err(_) => {
                // Bytes that this side sent before are still on their way; bytes on their way to it are lost.
                peer.held.end(due);
                self.peer(side.other()).held.discard();
            }
        }
        if due > now {
            return Some(due);
        }
        self.pass_on(side, now);
        None
    }

    /// The time at which the wire to the client has carried these new bytes, behind all earlier bytes.
    fn carried(&mut self, now: Instant, bytes: usize, rate: u64) -> Instant {
        if rate == 0 {
            return now;
        }
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / rate;
        self.wire_is_free = self.wire_is_free.max(now) + Duration::from_nanos(nanos);
        self.wire_is_free
    }

    /// Passes on the bytes from this side that are due.
    pub(super) fn pass_on(&mut self, from: Side, now: Instant) {
        let (from, to) = match from {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        };
        if to.is_blocked {
            return;
        }
        let socket = &to.socket;
        let send = |bytes: &[u8]| socket.send_with_flags(bytes, libc::MSG_NOSIGNAL);
        match from.held.pass_on(now, send, || socket.shutdown(std::net::Shutdown::Write)) {
            Ok(()) => {}
            Err(error) if is_for_now(&error) => to.is_blocked = true,
            Err(_) => from.held.discard(),
        }
    }

    /// Whether nothing more will pass in either direction.
    pub(super) fn is_over(&self) -> bool {
        self.client.held.is_over() && self.server.held.is_over()
    }

    /// Waits for the events that the link can handle.
    pub(super) fn watch(&mut self, epoll: &Epoll, token: impl Fn(Side) -> u64) -> io::Result<()> {
        let is_connecting = self.is_connecting;
        for side in [Side::Client, Side::Server] {
            let peer = self.peer(side);
            let is_wanted = !(is_connecting && side == Side::Server) && peer.held.is_open();
            let readable = if is_wanted { READABLE } else { 0 };
            let writable = if peer.is_blocked { WRITABLE } else { 0 };
            let interest = readable | writable;
            epoll.watch(peer.socket.as_fd(), token(side), peer.interest, interest)?;
            peer.interest = interest;
        }
        Ok(())
    }

    fn peer(&mut self, side: Side) -> &mut Peer {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// Whether the operation may succeed later.
fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
