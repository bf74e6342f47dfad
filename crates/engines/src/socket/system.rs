//! The system calls of sockets that the standard library does not offer.
//!
//! Writes never raise SIGPIPE. `waits` says whether a call waits, as long as the socket's timeout; otherwise a socket that
//! is not ready is [`ErrorKind::WouldBlock`].

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

fn flags(waits: bool) -> libc::c_int {
    if waits { 0 } else { libc::MSG_DONTWAIT }
}

/// Sends some of `bytes`.
#[inline]
pub(super) fn send(socket: BorrowedFd<'_>, waits: bool, bytes: &[u8]) -> io::Result<usize> {
    let flags = flags(waits) | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and the length are those of one slice, which outlives the call.
    again(|| unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Sends some of several slices, one behind the other.
pub(super) fn send_slices(
    socket: BorrowedFd<'_>,
    waits: bool,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    let mut message = empty_message();
    // An IoSlice is documented to be the same in memory as an iovec; sendmsg does not write to it.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len();
    let flags = flags(waits) | libc::MSG_NOSIGNAL;
    // SAFETY: the message points to slices that outlive the call, and to nothing else.
    again(|| unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) })
}

/// Reads as many bytes as have arrived and fit. The end of the connection is an error.
#[inline]
pub(super) fn receive(socket: BorrowedFd<'_>, waits: bool, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
    let received = again(|| unsafe {
        libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags(waits))
    })?;
    if received == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(received) }
}

/// As [`receive`], but at most `len` bytes, which go behind those of `buffer`.
pub(super) fn receive_onto(
    socket: BorrowedFd<'_>,
    waits: bool,
    buffer: &mut Vec<u8>,
    len: usize,
) -> io::Result<usize> {
    buffer.reserve(len);
    let room = &mut buffer.spare_capacity_mut()[..len];
    // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
    let received = again(|| unsafe {
        libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), flags(waits))
    })?;
    // SAFETY: the kernel has written that many bytes behind the others, within the capacity.
    unsafe { buffer.set_len(buffer.len() + received) };
    if received == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(received) }
}

/// Waits for `len` bytes, which are appended to `value`, and for a full `tail` behind them.
#[cfg(feature = "memcached")]
pub(super) fn receive_value(
    socket: BorrowedFd<'_>,
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
            libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_WAITALL)
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

/// Ends the connection in both directions.
pub(super) fn shut(socket: BorrowedFd<'_>) {
    // An error means that it has ended already.
    // SAFETY: the call takes no memory.
    let _ = unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
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

/// Waits until bytes have arrived, or the connection has ended. `false` if neither happened in this time.
#[cfg(feature = "memcached")]
pub(super) fn wait_for_input(socket: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
    let mut watched = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    // SAFETY: the pointers are those of one entry and of one time, which outlive the call; there is no signal mask.
    let n_ready = again(|| unsafe {
        libc::ppoll(&raw mut watched, 1, &raw const time, std::ptr::null()) as isize
    })?;
    Ok(n_ready > 0)
}

/// Sets the time for which a call that waits for bytes waits in the kernel.
#[cfg(feature = "memcached")]
pub(super) fn set_receive_timeout(socket: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    let time = libc::timeval {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: time.subsec_micros().into(),
    };
    let len = libc::socklen_t::try_from(size_of_val(&time)).unwrap_or_default();
    // SAFETY: the pointer and the length are those of one time, which outlives the call.
    let set = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const time).cast(), len)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
