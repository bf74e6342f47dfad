//! The floor: a loop over epoll that sends and receives the same bytes as a measured client, and looks at none of them.
//!
//! Requests are written down beforehand, and the length of each answer is learned once. So the loop only copies, sends,
//! receives and counts bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::Result;
use crate::shape::{Access, Shape};

/// Room for received bytes.
const ROOM: usize = 256 << 10;
/// The most events of one call.
const EVENTS: usize = 256;

/// The figures of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Operations a second; a key of a request is an operation.
    pub(crate) ops_per_s: f64,
    /// CPU time of the client for each operation, in nanoseconds.
    pub(crate) cpu_ns: f64,
    /// The median time from the sending of a request to its answer, in nanoseconds, where it was measured.
    pub(crate) p50_ns: Option<f64>,
}

/// Requests and the lengths of their answers.
pub(crate) struct Floor {
    shape: Shape,
    address: SocketAddr,
    requests: Vec<Vec<u8>>,
    answers: Vec<usize>,
}

/// A connection: the bytes of answers that it still owes.
struct Connection {
    stream: TcpStream,
    owed: usize,
}

impl Floor {
    /// Stores the keys, and learns the length of every answer.
    pub(crate) fn new(shape: Shape, address: SocketAddr) -> Result<Self> {
        let mut server = BufReader::new(TcpStream::connect(address)?);
        server.get_ref().set_nodelay(true)?;
        let len = shape.value_bytes;
        let value = "v".repeat(len);
        let (get, set) = (
            // Larder asks for the version, too. The length of the reply varies: memcached assigns a new CAS when it moves an item.
            |at: usize| format!("mg floor{at:027} v f t\r\n"),
            |at: usize| format!("ms floor{at:027} {len}\r\n{value}\r\n"),
        );
        let mut lengths = Vec::new();
        for at in 0..shape.keys {
            server.get_mut().write_all(set(at).as_bytes())?;
            let stored = server.read_line(&mut String::new())?;
            server.get_mut().write_all(get(at).as_bytes())?;
            let header = server.read_line(&mut String::new())?;
            server.read_exact(&mut vec![0; len + 2])?;
            lengths.push(if shape.access == Access::Get { header + len + 2 } else { stored });
        }
        let batch = shape.keys_a_request;
        // A walk that visits every request in an order without a pattern: the step and the number share no factor.
        let n_requests = shape.keys / batch;
        let order: Vec<usize> = (0..n_requests).map(|i| i * 7919 % n_requests * batch).collect();
        let request = |first: usize| -> Vec<u8> {
            let keys = first..first + batch;
            match shape.access {
                Access::Get => keys.map(get).collect::<String>().into_bytes(),
                Access::Set => keys.map(set).collect::<String>().into_bytes(),
            }
        };
        let answer = |first: usize| lengths[first..first + batch].iter().sum();
        Ok(Self {
            shape,
            address,
            requests: order.iter().copied().map(request).collect(),
            answers: order.iter().copied().map(answer).collect(),
        })
    }

    /// Runs the loop for this time.
    pub(crate) fn run(&self, time: Duration) -> Result<Figures> {
        let epoll = epoll()?;
        let mut connections = Vec::new();
        for at in 0..self.shape.connections {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            watch(&epoll, &stream, at)?;
            connections.push(Connection { stream, owed: 0 });
        }
        let (mut room, mut out) = (vec![0; ROOM], Vec::new());
        let mut next = 0;
        let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let (began, cpu) = (Instant::now(), thread_cpu_ns());
        for connection in &mut connections {
            self.send(connection, &mut out, &mut next)?;
        }
        let mut n_requests = 0_usize;
        while began.elapsed() < time {
            let n_ready = ready(&epoll, &mut events)?;
            for event in &events[..n_ready] {
                let at = usize::try_from(event.u64)?;
                let connection = &mut connections[at];
                let received = connection.stream.read(&mut room)?;
                connection.owed = connection.owed.checked_sub(received).ok_or_else(|| {
                    let got = String::from_utf8_lossy(&room[..received]);
                    format!("{} bytes were owed, and {received} came: {got:?}", connection.owed)
                })?;
                if connection.owed == 0 {
                    n_requests += self.shape.pipeline;
                    self.send(connection, &mut out, &mut next)?;
                }
            }
        }
        let (wall, cpu) = (began.elapsed().as_secs_f64(), thread_cpu_ns() - cpu);
        let ops = as_f64(n_requests * self.shape.keys_a_request);
        Ok(Figures { ops_per_s: ops / wall, cpu_ns: as_f64(cpu) / ops, p50_ns: None })
    }

    /// Sends as many requests as the connection has outstanding.
    fn send(&self, connection: &mut Connection, out: &mut Vec<u8>, next: &mut usize) -> Result<()> {
        out.clear();
        for _ in 0..self.shape.pipeline {
            out.extend_from_slice(&self.requests[*next]);
            connection.owed += self.answers[*next];
            *next = (*next + 1) % self.requests.len();
        }
        Ok(connection.stream.write_all(out)?)
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn as_f64(number: impl TryInto<u64>) -> f64 {
    number.try_into().unwrap_or(u64::MAX) as f64
}

/// CPU time of this thread, user and system.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this stack frame.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

fn epoll() -> Result<OwnedFd> {
    // SAFETY: the call takes a number only.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if epoll < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the descriptor is new and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(epoll) })
}

fn watch(epoll: &OwnedFd, stream: &TcpStream, at: usize) -> Result<()> {
    let mut event =
        libc::epoll_event { events: libc::EPOLLIN.cast_unsigned(), u64: u64::try_from(at)? };
    let (epoll, socket) = (epoll.as_raw_fd(), stream.as_raw_fd());
    // SAFETY: both descriptors are open, and the kernel only reads the event.
    let done = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, socket, &raw mut event) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}

fn ready(epoll: &OwnedFd, events: &mut [libc::epoll_event]) -> Result<usize> {
    let most = libc::c_int::try_from(events.len())?;
    // SAFETY: the kernel writes at most `most` events, for which the list has room.
    let n = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), most, 100) };
    usize::try_from(n).map_err(|_| std::io::Error::last_os_error().into())
}
