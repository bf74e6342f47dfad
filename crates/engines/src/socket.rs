//! A blocking socket, with the system calls that the standard library does not offer.
//!
//! Writes never raise SIGPIPE and can gather several slices. One call can read a value into uninitialised memory,
//! together with the bytes behind it.

use std::io::{self, ErrorKind, IoSlice};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use larder_host::relay::Destination;

/// The flags of a write that does not wait.
const NOW: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

/// A connection of either kind. The kernel keeps the time: a call that waits longer than the timeout fails with
/// [`ErrorKind::WouldBlock`].
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Opens a connection.
    pub(crate) fn connect(address: &Destination, timeout: Duration) -> io::Result<Self> {
        match address {
            Destination::Tcp(addresses) => {
                let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
                for address in addresses {
                    match TcpStream::connect_timeout(address, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_read_timeout(Some(timeout))?;
                            stream.set_write_timeout(Some(timeout))?;
                            return Ok(Self(stream.into()));
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
                Ok(Self(stream.into()))
            }
        }
    }

    /// Sends all of `bytes`.
    #[inline]
    pub(crate) fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            // SAFETY: the pointer and the length are those of one slice, which outlives the call.
            let sent = again(|| unsafe {
                libc::send(self.raw(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
            })?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends all of several slices, one behind the other.
    pub(crate) fn send_slices(&self, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        while !slices.is_empty() {
            let mut message = empty_message();
            // An IoSlice is documented to be the same in memory as an iovec; sendmsg does not write to it.
            message.msg_iov = slices.as_mut_ptr().cast();
            message.msg_iovlen = slices.len();
            // SAFETY: the message points to slices that outlive the call, and to nothing else.
            let sent = again(|| unsafe {
                libc::sendmsg(self.raw(), &raw const message, libc::MSG_NOSIGNAL)
            })?;
            IoSlice::advance_slices(&mut slices, sent);
        }
        Ok(())
    }

    /// Sends what the socket takes of `bytes` without waiting; [`ErrorKind::WouldBlock`] if it takes nothing.
    #[inline]
    pub(crate) fn send_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of one slice, which outlives the call.
        again(|| unsafe { libc::send(self.raw(), bytes.as_ptr().cast(), bytes.len(), NOW) })
    }

    /// As [`Self::send_now`], of several slices, one behind the other.
    pub(crate) fn send_slices_now(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut message = empty_message();
        // An IoSlice is documented to be the same in memory as an iovec; sendmsg does not write to it.
        message.msg_iov = slices.as_ptr().cast_mut().cast();
        message.msg_iovlen = slices.len();
        // SAFETY: the message points to slices that outlive the call, and to nothing else.
        again(|| unsafe { libc::sendmsg(self.raw(), &raw const message, NOW) })
    }

    /// Reads as many bytes as have arrived and fit. With `waits` it waits for some; without, there being none is
    /// [`ErrorKind::WouldBlock`]. The end of the connection is an error.
    #[inline]
    pub(crate) fn receive(&mut self, waits: bool, buffer: &mut [u8]) -> io::Result<usize> {
        let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
        let received = again(|| unsafe {
            libc::recv(self.raw(), buffer.as_mut_ptr().cast(), buffer.len(), flags)
        })?;
        if received == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(received) }
    }

    /// As [`Self::receive`], but at most `len` bytes, which go behind those of `buffer`.
    pub(crate) fn receive_onto(
        &mut self,
        waits: bool,
        buffer: &mut Vec<u8>,
        len: usize,
    ) -> io::Result<usize> {
        buffer.reserve(len);
        let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
        let room = &mut buffer.spare_capacity_mut()[..len];
        // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
        let received = again(|| unsafe {
            libc::recv(self.raw(), room.as_mut_ptr().cast(), room.len(), flags)
        })?;
        // SAFETY: the kernel has written that many bytes behind the others, within the capacity.
        unsafe { buffer.set_len(buffer.len() + received) };
        if received == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(received) }
    }

    /// Ends the connection in both directions. What has arrived can still be read.
    pub(crate) fn shut(&self) {
        // An error means that it has ended already.
        // SAFETY: the call takes no memory.
        let _ = unsafe { libc::shutdown(self.raw(), libc::SHUT_RDWR) };
    }

    /// The socket, to be watched.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Waits for `len` bytes, which are appended to `value`, and for a full `tail` behind them.
    pub(crate) fn receive_value(
        &self,
        value: &mut Vec<u8>,
        len: usize,
        tail: &mut [u8],
    ) -> io::Result<()> {
        value.reserve(len);
        let start = value.len();
        let mut received = 0;
        while received < len + tail.len() {
            let in_value = received.min(len);
            let in_tail = received - in_value;
            let value_rest = &mut value.spare_capacity_mut()[..len - in_value];
            let tail_rest = &mut tail[in_tail..];
            let mut slices = [
                libc::iovec { iov_base: value_rest.as_mut_ptr().cast(), iov_len: value_rest.len() },
                libc::iovec { iov_base: tail_rest.as_mut_ptr().cast(), iov_len: tail_rest.len() },
            ];
            let mut message = empty_message();
            message.msg_iov = slices.as_mut_ptr();
            message.msg_iovlen = slices.len();
            // SAFETY: the message points to two slices that are borrowed exclusively during the call, and to nothing
            // else.
            let count = again(|| unsafe {
                libc::recvmsg(self.raw(), &raw mut message, libc::MSG_WAITALL)
            })?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            received += count;
            // SAFETY: the kernel fills the slices in order, so that many bytes behind `start` are written now; they
            // are within the capacity that was reserved.
            unsafe { value.set_len(start + received.min(len)) };
        }
        Ok(())
    }

    fn raw(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }
}

/// Waits until a socket of the list can be used as it says. `false` if none could within the timeout.
pub(crate) fn wait_for_any(sockets: &mut [libc::pollfd], timeout: Duration) -> bool {
    let millis = libc::c_int::try_from(timeout.as_millis().max(1)).unwrap_or(libc::c_int::MAX);
    let n_sockets = sockets.len() as libc::nfds_t;
    // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
    let ready = again(|| unsafe { libc::poll(sockets.as_mut_ptr(), n_sockets, millis) as isize });
    // An error of the call counts as silence: without it, nothing can be waited for.
    ready.is_ok_and(|n_ready| n_ready > 0)
}

fn empty_message() -> libc::msghdr {
    // SAFETY: an msghdr of zeroes is a valid one: no name, no slices, no control data, no flags.
    unsafe { std::mem::zeroed() }
}

/// Calls until no signal interrupts; a negative result is the error that the system names.
#[inline]
fn again(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(count) = usize::try_from(call()) {
            return Ok(count);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
