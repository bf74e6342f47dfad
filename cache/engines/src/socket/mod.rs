//! A blocking socket, plain or encrypted, with calls that the standard library does not offer.
//!
//! Writes never raise SIGPIPE and can gather several slices. One call can read a value into uninitialised memory,
//! together with the bytes behind it. Every call has a form that does not wait, for a caller that has several sockets.

mod deadline;
mod system;
mod tls;

use std::io::{self, ErrorKind, IoSlice};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::time::Instant;

use larder_host::destination::Destination;

use deadline::Deadlines;
pub(crate) use system::wait_for_any;
#[cfg(feature = "redis")]
pub(crate) use system::wait_for_input;
pub(crate) use tls::Encryption;
use tls::Tls;

/// A connection of any kind. The kernel keeps the time: a call that waits longer than the timeout fails with
/// [`ErrorKind::WouldBlock`].
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    /// The state of an encrypted connection.
    tls: Option<Box<Tls>>,
    /// The times of calls with deadlines, where there are such calls.
    deadlines: Option<Deadlines>,
}

impl Socket {
    /// Opens a connection.
    pub(crate) fn connect(
        address: &Destination,
        encryption: Option<&Encryption>,
        timeout: Duration,
    ) -> io::Result<Self> {
        Self::connect_unless(address, encryption, timeout, |_| Ok(()))
    }

    /// The same, but an error of `gives_up` ends the greeting of an encrypted connection. It is asked once, when the server is to
    /// answer.
    pub(crate) fn connect_unless(
        address: &Destination,
        encryption: Option<&Encryption>,
        timeout: Duration,
        gives_up: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let fd = open(address, timeout)?;
        let greet = |encryption| Tls::greet(fd.as_fd(), encryption, gives_up);
        let tls = encryption.map(greet).transpose()?;
        Ok(Self { fd, tls: tls.map(Box::new), deadlines: None })
    }

    /// Lets calls wait for this time, whatever the connection was opened with.
    #[cfg(feature = "redis")]
    pub(crate) fn with_timeout(self, timeout: Duration) -> io::Result<Self> {
        let socket = self.fd.as_fd();
        system::set_timeout(socket, libc::SO_RCVTIMEO, timeout)?;
        system::set_timeout(socket, libc::SO_SNDTIMEO, timeout)?;
        Ok(self)
    }

    /// Lets calls have deadlines, which leave them `longest` at most. The timeout is that of the connection.
    pub(crate) fn with_deadlines(self, longest: Duration, timeout: Duration) -> io::Result<Self> {
        let deadlines = Deadlines::new(longest, timeout);
        let socket = self.fd.as_fd();
        system::set_timeout(socket, libc::SO_RCVTIMEO, deadlines.of_kernel(timeout))?;
        system::set_timeout(socket, libc::SO_SNDTIMEO, timeout)?;
        Ok(Self { deadlines: Some(deadlines), ..self })
    }

    /// Begins a call whose answer is due at this moment. Without deadlines, or with `None`, the timeout is its bound.
    #[inline]
    pub(crate) fn begin(&mut self, deadline: Option<Instant>) {
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.begin(deadline);
        }
    }

    /// Sends all of `bytes`.
    #[cfg(feature = "redis")]
    #[inline]
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            return tls.send_all(self.fd.as_fd(), &[bytes]);
        }
        while !bytes.is_empty() {
            let sent = system::send(self.fd.as_fd(), true, bytes)?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends all of several slices, one behind the other.
    pub(crate) fn send_slices(&mut self, slices: [&[u8]; 3]) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            return tls.send_all(self.fd.as_fd(), &slices);
        }
        let mut slices = &mut slices.map(IoSlice::new)[..];
        while !slices.is_empty() {
            let sent = system::send_slices(self.fd.as_fd(), true, slices)?;
            IoSlice::advance_slices(&mut slices, sent);
        }
        Ok(())
    }

    /// Sends what the socket takes of `bytes` without waiting; [`ErrorKind::WouldBlock`] if it takes nothing. Nothing is
    /// `bytes` if only those that the connection [holds](Self::held_bytes) are to be sent.
    #[inline]
    pub(crate) fn send_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => system::send(self.fd.as_fd(), false, bytes),
            Some(tls) => tls.send_now(self.fd.as_fd(), &[bytes]),
        }
    }

    /// As [`Self::send_now`], of several slices, one behind the other.
    pub(crate) fn send_slices_now(&mut self, slices: [&[u8]; 3]) -> io::Result<usize> {
        match &mut self.tls {
            None => system::send_slices(self.fd.as_fd(), false, &slices.map(IoSlice::new)),
            Some(tls) => tls.send_now(self.fd.as_fd(), &slices),
        }
    }

    /// The bytes that the connection has taken, encrypted, and not sent yet.
    #[inline]
    pub(crate) fn held_bytes(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.held_bytes())
    }

    /// Reads as many bytes as have arrived and fit. With `waits` it waits for some; without, there being none is
    /// [`ErrorKind::WouldBlock`]. The end of the connection is an error.
    #[inline]
    pub(crate) fn receive(&mut self, waits: bool, buffer: &mut [u8]) -> io::Result<usize> {
        let (socket, tls) = (self.fd.as_fd(), &mut self.tls);
        let mut receive = |waits| match tls {
            None => system::receive(socket, waits, buffer),
            Some(tls) => tls.receive(socket, waits, buffer),
        };
        if let Some(deadlines) = self.deadlines.as_mut().filter(|_| waits) {
            return deadlines.receive(socket, receive);
        }
        receive(waits)
    }

    /// As [`Self::receive`], but at most `len` bytes, which go behind those of `buffer`.
    pub(crate) fn receive_onto(
        &mut self,
        waits: bool,
        buffer: &mut Vec<u8>,
        len: usize,
    ) -> io::Result<usize> {
        let (socket, tls) = (self.fd.as_fd(), &mut self.tls);
        let mut receive = |waits| match tls {
            None => system::receive_onto(socket, waits, buffer, len),
            Some(tls) => tls.receive_onto(socket, waits, buffer, len),
        };
        match self.deadlines.as_mut().filter(|_| waits) {
            None => receive(waits),
            Some(deadlines) => deadlines.receive(socket, receive),
        }
    }

    /// The part of this many bytes that is read at once onto others. The library of TLS writes only to memory that is filled, so of an
    /// encrypted value no more is filled than may have arrived.
    #[inline]
    pub(crate) fn step(&self, len: usize) -> usize {
        if self.tls.is_some() { len.min(tls::STEP) } else { len }
    }

    /// Waits for `len` bytes, which are appended to `value`, and for a full `tail` behind them.
    pub(crate) fn receive_value(
        &mut self,
        value: &mut Vec<u8>,
        len: usize,
        tail: &mut [u8],
    ) -> io::Result<()> {
        if self.tls.is_none() && self.deadlines.is_none() {
            return system::receive_value(self.fd.as_fd(), value, len, tail);
        }
        let end = value.len() + len;
        while value.len() < end {
            self.receive_onto(true, value, self.step(end - value.len()))?;
        }
        let mut received = 0;
        while received < tail.len() {
            received += self.receive(true, &mut tail[received..])?;
        }
        Ok(())
    }

    /// Whether received bytes may be left although the system has none.
    #[inline]
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Ends the connection in both directions. What has arrived can still be read.
    pub(crate) fn shut(&self) {
        system::shut(self.fd.as_fd());
    }

    /// The socket, to be watched.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens a connection within the timeout, which then is that of its calls.
fn open(address: &Destination, timeout: Duration) -> io::Result<OwnedFd> {
    if timeout.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    match address {
        Destination::Tcp(addresses) => {
            let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
            let start = Instant::now();
            for address in addresses {
                let left = timeout.saturating_sub(start.elapsed());
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                match TcpStream::connect_timeout(address, left) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_read_timeout(Some(timeout))?;
                        stream.set_write_timeout(Some(timeout))?;
                        return Ok(stream.into());
                    }
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        }
        Destination::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(stream.into())
        }
    }
}
