//! The floor of every proxy: one thread reads what has come at one end, and writes it to the other end.
//!
//! It has the same calls of the system in the same order as the proxy, follows nothing, and keeps nothing: a write that does
//! not take all waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use larder_host::epoll::{Epoll, Events, READABLE};
use socket2::Socket;

/// The bytes that are read at once, as many as the proxy reads.
const READ_BYTES: usize = 64 << 10;

/// The token of the address.
const LISTENER: u64 = u64::MAX;

/// The token of the standard input.
const INPUT: u64 = u64::MAX - 1;

/// Serves at an address that it prints, until its standard input ends. The upstream is an address, or the path of a socket.
pub(crate) fn serve(upstream: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let epoll = Epoll::new().unwrap();
    epoll.watch(listener.as_fd(), LISTENER, 0, READABLE).unwrap();
    epoll.watch(io::stdin().as_fd(), INPUT, 0, READABLE).unwrap();
    // The other end of the socket at an even place is the one behind it.
    let mut ends: Vec<Option<Socket>> = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut events = Events::default();
    loop {
        epoll.wait(&mut events, None).unwrap();
        for event in events.iter() {
            match event.token {
                INPUT => return,
                LISTENER => {
                    let (application, _) = listener.accept().unwrap();
                    application.set_nodelay(true).unwrap();
                    for end in [Socket::from(application), connect(upstream)] {
                        epoll.watch(end.as_fd(), ends.len() as u64, 0, READABLE).unwrap();
                        ends.push(Some(end));
                    }
                }
                token => pass_on(&mut ends, usize::try_from(token).unwrap(), &mut buffer),
            }
        }
    }
}

fn connect(upstream: &str) -> Socket {
    if upstream.starts_with('/') {
        return Socket::from(OwnedFd::from(UnixStream::connect(upstream).unwrap()));
    }
    let socket = TcpStream::connect(upstream).unwrap();
    socket.set_nodelay(true).unwrap();
    Socket::from(socket)
}

/// Passes on what has come. The end of one side ends both.
fn pass_on(ends: &mut [Option<Socket>], from: usize, buffer: &mut [u8]) {
    let to = from ^ 1;
    let (Some(source), Some(target)) = (&ends[from], &ends[to]) else { return };
    let passed = (&*source).read(buffer).and_then(|n| {
        (&*target).write_all(&buffer[..n])?;
        if n == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    });
    if passed.is_err() {
        (ends[from], ends[to]) = (None, None);
    }
}
