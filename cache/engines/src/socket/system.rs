//! The system calls of sockets that the standard library does not offer.
//!
//! Writes never raise SIGPIPE. `waits` says whether a call waits, as long as the socket's timeout; otherwise a socket that
//! is not ready is [`ErrorKind::WouldBlock`].

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

fn flags(waits: bool) -> libc::c_int {
    if waits { 0 } else { libc::MSG_DONTWAIT }
}

/// Sends some of `bytes`.
#[inline]
pub(super) fn send(socket: BorrowedFd<'_>, waits: bool, bytes: &[u8]) -> io::Result<usize> {
    let flags = flags(waits) | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and the length are those of one slice, which outlives the call.
    again(socket, libc::SO_SNDTIMEO, || unsafe {
        libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags)
    })
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
    again(socket, libc::SO_SNDTIMEO, || unsafe {
        libc::sendmsg(socket.as_raw_fd(), &raw const message, flags)
    })
}

/// Reads as many bytes as have arrived and fit. The end of the connection is an error.
#[inline]
pub(super) fn receive(socket: BorrowedFd<'_>, waits: bool, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
    let received = again(socket, libc::SO_RCVTIMEO, || unsafe {
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
    let received = again(socket, libc::SO_RCVTIMEO, || unsafe {
        libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), flags(waits))
    })?;
    // SAFETY: the kernel has written that many bytes behind the others, within the capacity.
    unsafe { buffer.set_len(buffer.len() + received) };
    if received == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(received) }
}

/// Waits for `len` bytes, which are appended to `value`, and for a full `tail` behind them.
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
        let count = again(socket, libc::SO_RCVTIMEO, || unsafe {
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
    let n_sockets = sockets.len() as libc::nfds_t;
    let ready = poll(timeout, |left| {
        let millis = libc::c_int::try_from(left.as_millis().max(1)).unwrap_or(libc::c_int::MAX);
        // SAFETY: the pointer and the length are those of one slice, borrowed exclusively during the call.
        unsafe { libc::poll(sockets.as_mut_ptr(), n_sockets, millis) as isize }
    });
    // An error of the call counts as silence: without it, nothing can be waited for.
    ready.is_ok_and(|n_ready| n_ready > 0)
}

/// Waits until bytes have arrived, or the connection has ended. `false` if neither happened in this time.
pub(crate) fn wait_for_input(socket: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
    let mut watched = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let n_ready = poll(time, |left| {
        let left = libc::timespec {
            tv_sec: libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        // SAFETY: the pointers are those of one entry and of one time, which outlive the call; there is no signal mask.
        unsafe { libc::ppoll(&raw mut watched, 1, &raw const left, std::ptr::null()) as isize }
    })?;
    Ok(n_ready > 0)
}

/// Sets the time for which a call in a direction, `SO_RCVTIMEO` or `SO_SNDTIMEO`, waits in the kernel.
pub(super) fn set_timeout(
    socket: BorrowedFd<'_>,
    direction: libc::c_int,
    time: Duration,
) -> io::Result<()> {
    let time = libc::timeval {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: time.subsec_micros().into(),
    };
    let len = libc::socklen_t::try_from(size_of_val(&time)).unwrap_or_default();
    // SAFETY: the pointer and the length are those of one time, which outlives the call.
    let set = unsafe {
        let level = libc::SOL_SOCKET;
        libc::setsockopt(socket.as_raw_fd(), level, direction, (&raw const time).cast(), len)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn empty_message() -> libc::msghdr {
    // SAFETY: an msghdr of zeroes is a valid one: no name, no slices, no control data, no flags.
    unsafe { std::mem::zeroed() }
}

/// Calls until no signal interrupts; a negative result is the error that the system names.
///
/// The system waits for its whole time again after a signal, so a program with many signals would wait for ever. From the first
/// signal on, the calls together get the time that the socket has for one of them.
#[inline]
fn again(
    socket: BorrowedFd<'_>,
    direction: libc::c_int,
    mut call: impl FnMut() -> isize,
) -> io::Result<usize> {
    let mut interrupted = None;
    loop {
        if let Ok(count) = usize::try_from(call()) {
            return Ok(count);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
        let since = *interrupted.get_or_insert_with(Instant::now);
        if timeout(socket, direction).is_some_and(|time| since.elapsed() >= time) {
            return Err(ErrorKind::WouldBlock.into());
        }
    }
}

/// The time that one call waits in a direction, `SO_RCVTIMEO` or `SO_SNDTIMEO`; `None` for as long as it takes.
#[cold]
fn timeout(socket: BorrowedFd<'_>, direction: libc::c_int) -> Option<Duration> {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut len = libc::socklen_t::try_from(size_of_val(&time)).unwrap_or_default();
    // SAFETY: the pointers are those of one time and of its length, borrowed exclusively during the call.
    let told = unsafe {
        let (place, level) = ((&raw mut time).cast(), libc::SOL_SOCKET);
        libc::getsockopt(socket.as_raw_fd(), level, direction, place, &raw mut len)
    };
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec).unwrap_or_default();
    let time = Duration::from_secs(seconds) + Duration::from_micros(micros);
    (told == 0 && !time.is_zero()).then_some(time)
}

/// Waits with `poll` until something is ready or the time is over, whatever signals come. `wait` gets the time that is left.
fn poll(time: Duration, mut wait: impl FnMut(Duration) -> isize) -> io::Result<usize> {
    let mut left = time;
    let mut began = None;
    loop {
        if let Ok(n_ready) = usize::try_from(wait(left)) {
            return Ok(n_ready);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
        // The clock is read only where a signal came; what the first wait took before is given again.
        let since = *began.get_or_insert_with(Instant::now);
        left = time.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Ok(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    extern "C" fn nothing(_: libc::c_int) {}

    /// Runs a call while a signal interrupts its thread each millisecond. The call must return while signals come.
    fn among_signals<T>(call: impl FnOnce() -> T) -> T {
        const PATIENCE: Duration = Duration::from_mins(1);
        // SAFETY: the handler does nothing, and the structure is a valid one: without SA_RESTART calls are interrupted.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        }
        // SAFETY: the call has no preconditions.
        let caller = unsafe { libc::pthread_self() };
        let is_over = AtomicBool::new(false);
        let began = Instant::now();
        thread::scope(|scope| {
            let signals = scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) && began.elapsed() < PATIENCE {
                    // SAFETY: the thread lives until the scope is over.
                    unsafe { libc::pthread_kill(caller, libc::SIGUSR1) };
                    thread::sleep(Duration::from_millis(1));
                }
                is_over.load(Ordering::Acquire)
            });
            let answer = call();
            is_over.store(true, Ordering::Release);
            assert!(signals.join().unwrap(), "the call ended with the signals only");
            answer
        })
    }

    #[test]
    fn signals_prolong_no_wait_for_a_silent_server() {
        let (socket, _server) = UnixStream::pair().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let error = among_signals(|| receive(socket.as_fd(), true, &mut [0; 8]).unwrap_err());
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let mut watched =
            [libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        assert!(!among_signals(|| wait_for_any(&mut watched, Duration::from_millis(50))));
    }
}
