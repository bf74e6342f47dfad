//! The client: one thread over epoll, which sends requests, checks every answer and counts.
//!
//! The client shares a machine with the server, and a slow client hides a fast server. So all connections receive
//! into one buffer, and keep only the beginning of a piece that has not arrived whole. The clock is read once for
//! each group of requests.

use std::io::{ErrorKind, IoSlice, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use larder_host::epoll::{Epoll, Events, READABLE, WRITABLE};

use crate::Result;
use crate::answers::Answers;
use crate::cells::{Cell, Work};
use crate::process::{cpu_ns_of, thread_cpu_ns};
use crate::traffic::{LINE_END, STORED, Traffic, write_get};
use crate::walk::Walk;

/// Room for received bytes.
const ROOM: usize = 256 << 10;

/// The time without any answer after which a server is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// A value of at least this many bytes is sent from where it lies, and not copied behind its line first.
pub(crate) const LARGE: usize = 16 << 10;

/// The part of a turn that passes before it is measured: the caches of the processor still have another server's bytes.
const WARM_UP: u32 = 10;

/// Bytes of sets that are sent together, when a server is filled.
const FILL: usize = 64 << 10;

/// The figures of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Operations a second; a key of a request is an operation.
    pub(crate) ops_per_s: f64,
    /// CPU time of the server for each operation, in nanoseconds.
    pub(crate) cpu_ns: f64,
    /// CPU time of the client for each operation, in nanoseconds.
    pub(crate) client_cpu_ns: f64,
    /// The median, the 99th and the 99.9th percentile of the time from a group of requests to its last answer, in
    /// nanoseconds.
    pub(crate) latency_ns: [f64; 3],
    /// Keys of gets without a value.
    pub(crate) n_misses: usize,
}

/// The percentiles of [`Figures::latency_ns`].
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// Stores all keys.
pub(crate) fn fill(traffic: &Traffic, address: SocketAddr) -> Result<()> {
    let mut server = TcpStream::connect(address)?;
    server.set_read_timeout(Some(PATIENCE))?;
    let n_together = (FILL / traffic.value_bytes).clamp(1, 64);
    let (mut out, mut answers) = (Vec::new(), Vec::new());
    let keys: Vec<u32> = (0..u32::try_from(traffic.n_keys)?).collect();
    for keys in keys.chunks(n_together) {
        out.clear();
        for key in keys {
            traffic.write_set(*key, &mut out);
        }
        server.write_all(&out)?;
        answers.resize(keys.len() * STORED.len(), 0);
        server.read_exact(&mut answers)?;
        if answers.chunks(STORED.len()).any(|answer| answer != STORED) {
            return Err(format!("not stored: `{}`", answers.escape_ascii()).into());
        }
    }
    Ok(())
}

struct Connection {
    stream: TcpStream,
    answers: Answers,
    /// Received bytes of a piece that is not whole.
    held: Vec<u8>,
    /// Bytes to send, and how many of them are sent.
    out: Vec<u8>,
    sent: usize,
    /// The events that are waited for.
    watched: u32,
    asked_at: Instant,
}

/// The client of one turn.
pub(crate) struct Client<'a> {
    cell: Cell,
    traffic: &'a Traffic,
    walk: Walk,
    /// Requests so far, for the order of gets and sets.
    n_requests: usize,
    epoll: Epoll,
    connections: Vec<Connection>,
    room: Vec<u8>,
}

impl<'a> Client<'a> {
    pub(crate) fn connect(cell: Cell, traffic: &'a Traffic, address: SocketAddr) -> Result<Self> {
        let epoll = Epoll::new()?;
        let mut connections = Vec::new();
        for token in 0..cell.connections {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll.watch(stream.as_fd(), token as u64, 0, READABLE)?;
            connections.push(Connection {
                stream,
                answers: Answers::default(),
                held: Vec::new(),
                out: Vec::new(),
                sent: 0,
                watched: READABLE,
                asked_at: Instant::now(),
            });
        }
        let walk = Walk::new(u32::try_from(traffic.n_keys)?);
        Ok(Self { cell, traffic, walk, n_requests: 0, epoll, connections, room: vec![0; ROOM] })
    }

    /// Loads the server, whose process this is, for this time and the time to warm up.
    pub(crate) fn run(mut self, server: u32, time: Duration) -> Result<Figures> {
        let ops_a_group = self.cell.pipeline() * self.cell.keys_a_request();
        let mut histogram = Histogram::<u64>::new(3)?;
        let mut events = Events::default();
        let mut now = Instant::now();
        for at in 0..self.connections.len() {
            self.ask(at, now)?;
        }
        let mut n_waiting = self.connections.len();
        let warm = now + time / WARM_UP;
        let (mut n_ops, mut begun, mut ended) = (0_usize, None, None);
        while n_waiting > 0 {
            self.epoll.wait(&mut events, Some(PATIENCE))?;
            if events.iter().next().is_none() {
                return Err(self.stalled());
            }
            for event in events.iter() {
                let at = usize::try_from(event.token)?;
                if event.can_write {
                    self.flush(at, &[])?;
                }
                if !event.can_read || !self.receive(at)? {
                    continue;
                }
                now = Instant::now();
                n_ops += ops_a_group;
                let took = now - self.connections[at].asked_at;
                histogram.record(u64::try_from(took.as_nanos())?)?;
                if ended.is_some() {
                    n_waiting -= 1;
                } else {
                    self.ask(at, now)?;
                }
            }
            match &begun {
                None if now >= warm => {
                    histogram.reset();
                    n_ops = 0;
                    begun = Some(Mark::now(server, n_ops)?);
                }
                // Requests on the way are answered before the next server has its turn. They are not counted.
                Some(begun) if ended.is_none() && now >= begun.at + time => {
                    ended = Some((Mark::now(server, n_ops)?, histogram.clone()));
                }
                _ => {}
            }
        }
        let (Some(begun), Some((ended, histogram))) = (begun, ended) else {
            return Err("a turn that was not measured".into());
        };
        let ops = as_f64(ended.n_ops as u64);
        Ok(Figures {
            ops_per_s: ops / (ended.at - begun.at).as_secs_f64(),
            cpu_ns: as_f64(ended.server_cpu_ns - begun.server_cpu_ns) / ops,
            client_cpu_ns: as_f64(ended.client_cpu_ns - begun.client_cpu_ns) / ops,
            latency_ns: PERCENTILES.map(|it| as_f64(histogram.value_at_percentile(it))),
            n_misses: self.connections.iter().map(|connection| connection.answers.n_misses).sum(),
        })
    }

    /// Sends the next requests of a connection.
    #[inline]
    fn ask(&mut self, at: usize, now: Instant) -> Result<()> {
        let connection = &mut self.connections[at];
        connection.asked_at = now;
        connection.answers.begin();
        let (pipeline, n_keys) = (self.cell.pipeline(), self.cell.keys_a_request());
        for _ in 0..pipeline {
            self.n_requests += 1;
            let is_set = match self.cell.work {
                Work::Get => false,
                Work::Set => true,
                Work::Mix => self.n_requests.is_multiple_of(3),
            };
            if !is_set {
                let mut sum = 0;
                let keys = (0..n_keys).map(|_| self.walk.next());
                let keys = keys.inspect(|key| sum += u64::from(*key));
                write_get(keys, &mut connection.out);
                connection.answers.ask_get(n_keys, sum);
                continue;
            }
            let key = self.walk.next();
            connection.answers.ask_set();
            if pipeline == 1 && self.traffic.value_bytes >= LARGE {
                self.traffic.write_set_line(key, &mut connection.out);
                return self.flush(at, &[self.traffic.value(key), LINE_END]);
            }
            self.traffic.write_set(key, &mut connection.out);
        }
        self.flush(at, &[])
    }

    /// Sends bytes that are not sent yet, and those of `more` after them.
    #[inline]
    fn flush(&mut self, at: usize, more: &[&[u8]]) -> Result<()> {
        let connection = &mut self.connections[at];
        let unsent = &connection.out[connection.sent..];
        let sent = match more {
            [value, end] => {
                connection.stream.write_vectored(&[unsent, value, end].map(IoSlice::new))
            }
            _ => connection.stream.write(unsent),
        };
        connection.sent += match sent {
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error.into()),
        };
        if connection.sent < connection.out.len() + more.iter().map(|it| it.len()).sum::<usize>() {
            for bytes in more {
                connection.out.extend_from_slice(bytes);
            }
            return self.watch(at, READABLE | WRITABLE);
        }
        connection.out.clear();
        connection.sent = 0;
        self.watch(at, READABLE)
    }

    fn watch(&mut self, at: usize, events: u32) -> Result<()> {
        let connection = &mut self.connections[at];
        if connection.watched != events {
            let socket = connection.stream.as_fd();
            self.epoll.watch(socket, at as u64, connection.watched, events)?;
            connection.watched = events;
        }
        Ok(())
    }

    /// Receives once, and tells whether all answers of the connection are whole now.
    #[inline]
    fn receive(&mut self, at: usize) -> Result<bool> {
        let connection = &mut self.connections[at];
        let held = connection.held.len();
        self.room[..held].copy_from_slice(&connection.held);
        let received = match connection.stream.read(&mut self.room[held..]) {
            Ok(0) => return Err("the server has ended a connection".into()),
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let bytes = &self.room[..held + received];
        let done = connection.answers.check(self.traffic, bytes)?;
        connection.held.clear();
        connection.held.extend_from_slice(&bytes[done..]);
        Ok(connection.answers.are_whole())
    }

    /// The error of a server without answers. It shows the bytes that belong to no answer.
    fn stalled(&self) -> Box<dyn std::error::Error> {
        let waiting = self.connections.iter().filter(|it| !it.answers.are_whole());
        let held = waiting.clone().map(|it| &it.held).find(|held| !held.is_empty());
        let held = held
            .map_or(String::new(), |held| held.escape_ascii().take(80).map(char::from).collect());
        let n_waiting = waiting.count();
        format!("{n_waiting} connections had no answer for {PATIENCE:?}; last bytes: `{held}`")
            .into()
    }
}

/// A moment of a turn: the beginning or the end of what is measured.
struct Mark {
    at: Instant,
    server_cpu_ns: u64,
    client_cpu_ns: u64,
    n_ops: usize,
}

impl Mark {
    fn now(server: u32, n_ops: usize) -> Result<Self> {
        let server_cpu_ns = cpu_ns_of(server)?;
        Ok(Self { at: Instant::now(), server_cpu_ns, client_cpu_ns: thread_cpu_ns()?, n_ops })
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn as_f64(number: u64) -> f64 {
    number as f64
}
