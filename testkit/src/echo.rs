//! A server of the text protocol in one thread over epoll, which is fast enough to answer ten million requests in a test.
//!
//! It keeps what is set and gives it back, and does nothing else. From a given read on, it flips one bit of every n-th byte
//! that it gives back, and counts how often.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The number of the listening socket among the watched.
const LISTENER: u64 = u64::MAX;
/// The most events of one call.
const EVENTS: i32 = 64;
/// The statistics of a server that has room, of every group.
const STATS: &[u8] = b"STAT bytes 0\r\nSTAT evictions 0\r\nSTAT limit_maxbytes 1073741824\r\n\
    STAT total_malloced 0\r\nSTAT item_size_max 1048576\r\nEND\r\n";

/// The flips of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flips {
    /// One bit of every this many bytes of values is flipped.
    pub every_bytes: usize,
    /// The values that are given back whole before the first flip.
    pub after_values: u64,
}

/// A server on a free port of 127.0.0.1, in a thread of this process. Dropping it ends the server.
#[derive(Debug)]
pub struct EchoServer {
    address: SocketAddr,
    flips: Arc<AtomicU64>,
    has_ended: Arc<AtomicBool>,
    serves: Option<JoinHandle<io::Result<()>>>,
}

impl EchoServer {
    /// Starts a server; without `flips`, every value comes back whole.
    pub fn start(flips: Option<Flips>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let flipped = Arc::new(AtomicU64::new(0));
        let has_ended = Arc::new(AtomicBool::new(false));
        let cache = Cache {
            entries: HashMap::new(),
            flips,
            n_values: 0,
            n_bytes: 0,
            flipped: Arc::clone(&flipped),
        };
        let ended = Arc::clone(&has_ended);
        let serves = std::thread::spawn(move || serve(&listener, cache, &ended));
        Ok(Self { address, flips: flipped, has_ended, serves: Some(serves) })
    }

    /// The URL of a target of this server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("memcached://{}?protocol=text", self.address)
    }

    /// The bits that were flipped so far.
    #[must_use]
    pub fn flips(&self) -> u64 {
        self.flips.load(Ordering::SeqCst)
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        // Wakes the thread. If it ended by an error, the test has failed already.
        let _ = TcpStream::connect(self.address);
        let _ = self.serves.take().map(JoinHandle::join);
    }
}

/// Serves until the server ends.
fn serve(listener: &TcpListener, mut cache: Cache, has_ended: &AtomicBool) -> io::Result<()> {
    // SAFETY: the call takes a number only, and its result belongs to nobody else.
    let epoll = unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) };
    watch(&epoll, listener, LISTENER)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS as usize];
    while !has_ended.load(Ordering::SeqCst) {
        // SAFETY: the kernel writes at most as many events as the array has room for.
        let n = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS, 1000) };
        for event in &events[..usize::try_from(n).unwrap_or(0)] {
            if event.u64 == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    watch(&epoll, &stream, connections.len() as u64)?;
                    connections.push(Some(Connection::new(stream)));
                }
                continue;
            }
            let place = usize::try_from(event.u64).ok().and_then(|at| connections.get_mut(at));
            let Some(place) = place else { continue };
            if place.as_mut().is_some_and(|connection| connection.answer(&mut cache).is_err()) {
                *place = None;
            }
        }
    }
    Ok(())
}

fn watch(epoll: &OwnedFd, socket: &impl AsRawFd, number: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN.cast_unsigned(), u64: number };
    let (epoll, socket) = (epoll.as_raw_fd(), socket.as_raw_fd());
    // SAFETY: both descriptors are open, and the kernel only reads the event.
    let done = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, socket, &raw mut event) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The entries: the flags and the value of each key.
struct Cache {
    entries: HashMap<Vec<u8>, (Vec<u8>, Vec<u8>)>,
    flips: Option<Flips>,
    /// Values that were given back, and their bytes since the last flip.
    n_values: u64,
    n_bytes: usize,
    flipped: Arc<AtomicU64>,
}

/// A client.
struct Connection {
    stream: TcpStream,
    room: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, room: vec![0; 64 << 10], input: Vec::new(), output: Vec::new() }
    }

    /// Answers the requests that have arrived. The end of the connection is an error.
    fn answer(&mut self, cache: &mut Cache) -> io::Result<()> {
        let received = self.stream.read(&mut self.room)?;
        if received == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.input.extend_from_slice(&self.room[..received]);
        let mut done = 0;
        while let Some(len) = cache.carry_out(&self.input[done..], &mut self.output) {
            done += len;
        }
        self.input.drain(..done);
        self.stream.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }
}

impl Cache {
    /// Carries out the first request of the input, and appends its answer; returns its length, or `None` where it is not
    /// whole.
    fn carry_out(&mut self, input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let line_len = input.iter().position(|byte| *byte == b'\n')? + 1;
        let line = input[..line_len].trim_ascii_end();
        let mut words = line.split(|byte| *byte == b' ');
        match words.next()? {
            b"get" => {
                words.for_each(|key| self.give_back(key, out));
                out.extend_from_slice(b"END\r\n");
            }
            b"set" => {
                let (key, flags, _, len) =
                    (words.next()?, words.next()?, words.next()?, words.next()?);
                let len: usize = str::from_utf8(len).ok()?.parse().ok()?;
                let value = input.get(line_len..line_len + len + 2)?;
                self.entries.insert(key.to_vec(), (flags.to_vec(), value[..len].to_vec()));
                out.extend_from_slice(b"STORED\r\n");
                return Some(line_len + len + 2);
            }
            b"delete" => {
                let found = words.next().and_then(|key| self.entries.remove(key)).is_some();
                out.extend_from_slice(if found { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" });
            }
            b"version" => out.extend_from_slice(b"VERSION 1.5.0\r\n"),
            b"stats" => out.extend_from_slice(STATS),
            _ => out.extend_from_slice(b"ERROR\r\n"),
        }
        Some(line_len)
    }

    fn give_back(&mut self, key: &[u8], out: &mut Vec<u8>) {
        let Some((flags, value)) = self.entries.get(key) else { return };
        let len = value.len().to_string();
        for part in [b"VALUE ", key, b" ", flags, b" ", len.as_bytes(), b"\r\n", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
        self.n_values += 1;
        let Some(flips) = self.flips.filter(|flips| self.n_values > flips.after_values) else {
            return;
        };
        self.n_bytes += value.len();
        if self.n_bytes >= flips.every_bytes {
            // The bytes since the last flip end within this value.
            self.n_bytes -= flips.every_bytes;
            let from_end = self.n_bytes + b"\r\n".len() + 1;
            let at = out.len() - from_end;
            out[at] ^= 1;
            self.flipped.fetch_add(1, Ordering::SeqCst);
        }
    }
}
