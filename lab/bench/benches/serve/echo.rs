//! The floor: a server that counts the bytes of requests, and answers each with the same bytes.
//!
//! All requests of a kind have one length here, so the server looks at the first byte of each and skips the others.
//! The answers name one key, so the client asks for this key alone and checks the answers of the floor as all
//! others.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use larder_host::epoll::{Epoll, Events, READABLE, WRITABLE};

use crate::Result;
use crate::client::LARGE;
use crate::traffic::{STORED, Traffic, write_get};

/// Room for received bytes.
const ROOM: usize = 256 << 10;

/// The token of the listening socket.
const LISTENER: u64 = u64::MAX;

/// The lengths of requests, and the answers.
struct Canned {
    get_len: usize,
    set_len: usize,
    get_answer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// The bytes of the current request that have not arrived.
    left: usize,
    is_get: bool,
    out: Vec<u8>,
    sent: usize,
    watched: u32,
}

/// Serves on this port until the process is ended.
pub(crate) fn serve(port: u16, value_bytes: usize, keys_a_request: usize) -> Result<()> {
    let traffic = Traffic::new(1, value_bytes);
    let (mut get, mut set) = (Vec::new(), Vec::new());
    let keys = || std::iter::repeat_n(0, keys_a_request);
    write_get(keys(), &mut get);
    traffic.write_set(0, &mut set);
    let get_answer = traffic.answer(keys());
    let canned = Canned { get_len: get.len(), set_len: set.len(), get_answer };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let epoll = Epoll::new()?;
    epoll.watch(listener.as_fd(), LISTENER, 0, READABLE)?;
    let (mut connections, mut events) = (Vec::new(), Events::default());
    let mut room = vec![0; ROOM];
    loop {
        epoll.wait(&mut events, None)?;
        for event in events.iter() {
            if event.token == LISTENER {
                accept(&listener, &epoll, &mut connections)?;
                continue;
            }
            let place = &mut connections[usize::try_from(event.token)?];
            let Some(connection) = place else { continue };
            let went_on = match (event.can_read, event.can_write) {
                // A client that does not take its answers is not read, as with other servers.
                (_, true) => connection.send(&epoll, event.token),
                (true, _) => connection.answer(&canned, &mut room, &epoll, event.token),
                _ => Ok(()),
            };
            if went_on.is_err() {
                *place = None;
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    epoll: &Epoll,
    connections: &mut Vec<Option<Connection>>,
) -> Result<()> {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll.watch(stream.as_fd(), connections.len() as u64, 0, READABLE)?;
        let (out, watched) = (Vec::new(), READABLE);
        connections.push(Some(Connection {
            stream,
            left: 0,
            is_get: false,
            out,
            sent: 0,
            watched,
        }));
    }
    Ok(())
}

impl Connection {
    /// Receives once, and answers the requests that are whole.
    fn answer(
        &mut self,
        canned: &Canned,
        room: &mut [u8],
        epoll: &Epoll,
        token: u64,
    ) -> Result<()> {
        let received = self.stream.read(room)?;
        if received == 0 {
            return Err("the client has gone".into());
        }
        let mut at = 0;
        while at < received {
            if self.left == 0 {
                self.is_get = room[at] == b'g';
                self.left = if self.is_get { canned.get_len } else { canned.set_len };
            }
            let arrived = self.left.min(received - at);
            at += arrived;
            self.left -= arrived;
            if self.left == 0 {
                self.give(if self.is_get { &canned.get_answer } else { STORED })?;
            }
        }
        self.send(epoll, token)
    }

    /// Appends an answer to the others. A large one is sent from where it lies, as far as the socket has room.
    fn give(&mut self, answer: &[u8]) -> Result<()> {
        let mut sent = 0;
        if self.out.is_empty() && answer.len() >= LARGE {
            match self.stream.write(answer) {
                Ok(now) => sent = now,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.extend_from_slice(&answer[sent..]);
        Ok(())
    }

    fn send(&mut self, epoll: &Epoll, token: u64) -> Result<()> {
        if self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        let is_sent = self.sent == self.out.len();
        if is_sent {
            self.out.clear();
            self.sent = 0;
        }
        let events = if is_sent { READABLE } else { WRITABLE };
        if self.watched != events {
            epoll.watch(self.stream.as_fd(), token, self.watched, events)?;
            self.watched = events;
        }
        Ok(())
    }
}
