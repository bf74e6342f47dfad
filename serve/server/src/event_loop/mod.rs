//! The event loop: one thread that waits for many connections.

mod closing;
mod dispatcher;
mod gathered;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use larder_host::epoll::{Epoll, Event, Events, READABLE, WRITABLE};
use larder_host::slots::Slots;
use larder_host::stream::Stream;
use larder_host::waker::Woken;

use crate::buffer_budget::BufferBudget;
use crate::connection::{Connection, Read, Sent};
use crate::connection_state::{ConnectionState, Next, Progress};
use crate::context::Shared;
use crate::counts::{Count, Counts};
use crate::queue::Job;
use crate::queue::{Mailbox, Message};
use crate::text;
pub(crate) use dispatcher::Dispatcher;
use gathered::Gathered;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The longest buffer that is kept for the next connection that needs one.
const SPARE_BYTES: usize = 2 << 20;

/// When the server ends, clients have this time to take their last answers.
const CLOSING_TIME: Duration = Duration::from_secs(5);

/// A connection without progress for this time may be closed if another needs its buffers, in milliseconds.
const STALL_MS: u64 = 1000;

/// The token of the mailbox.
const WOKEN: u64 = u64::MAX;

/// An event loop.
#[derive(Debug)]
pub(crate) struct EventLoop {
    shared: Arc<Shared>,
    dispatcher: Dispatcher,
    mailbox: Arc<Mailbox>,
    woken: Woken,
    counts: Arc<Counts>,
    /// Its place among the event loops.
    place: usize,
    epoll: Epoll,
    slots: Slots<Connection>,
    /// Connections that get their next turn without an event.
    ready: VecDeque<u64>,
    /// The bytes of one read.
    read_buffer: Vec<u8>,
    /// The input of the connections that are answered next.
    gathered: Gathered,
    /// The answers of one connection, or of some.
    answers: Vec<u8>,
    /// A buffer for the next connection that needs one.
    spare: Vec<u8>,
    /// Milliseconds since the server began, as of the last wait.
    now_ms: u64,
}

impl EventLoop {
    /// An event loop without connections. `place` is its place among the event loops, and that of its counters.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        dispatcher: Dispatcher,
        mailbox: Arc<Mailbox>,
        woken: Woken,
        place: usize,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch(woken.as_fd(), WOKEN, 0, READABLE)?;
        Ok(Self {
            dispatcher,
            mailbox,
            woken,
            counts: Arc::clone(&shared.counts[place]),
            shared: Arc::clone(shared),
            place,
            epoll,
            slots: Slots::default(),
            ready: VecDeque::new(),
            read_buffer: Vec::with_capacity(READ_BYTES),
            gathered: Gathered::default(),
            answers: Vec::new(),
            spare: Vec::new(),
            now_ms: 0,
        })
    }

    /// Serves until the server ends.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::default();
        while !self.mailbox.is_closed() {
            self.wait(&mut events, None)?;
        }
        // Requests that have arrived are answered; then clients have a while to take the answers.
        self.take_messages();
        self.read_last_requests();
        self.dispatcher.flush();
        let until = Instant::now() + CLOSING_TIME;
        self.close_answered();
        while self.slots.iter().next().is_some() && Instant::now() < until {
            self.wait(&mut events, Some(Duration::from_millis(20)))?;
            self.close_answered();
        }
        Ok(())
    }

    /// Waits for events and goes through them.
    fn wait(&mut self, events: &mut Events, patience: Option<Duration>) -> io::Result<()> {
        // Idle connections are looked for once a second.
        let has_limit = self.shared.settings.idle.is_some() || self.shared.tls.is_some();
        let tick = has_limit.then_some(Duration::from_secs(1));
        let patience = if self.ready.is_empty() { patience.or(tick) } else { Some(Duration::ZERO) };
        self.epoll.wait(events, patience)?;
        let now_ms = self.shared.now_ms();
        let is_new_second = now_ms / 1000 != self.now_ms / 1000;
        self.now_ms = now_ms;
        self.dispatcher.end_back_off(now_ms);
        if is_new_second {
            self.end_idle();
        }
        for event in events.iter() {
            if event.token == WOKEN {
                self.woken.settle();
                self.take_messages();
            } else {
                self.handle(event);
            }
        }
        self.answer_gathered();
        self.dispatcher.flush();
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else { break };
            if let Some(connection) = self.slots.find(token) {
                connection.is_queued = false;
                self.resume(token);
            }
        }
        self.dispatcher.flush();
        Ok(())
    }

    fn take_messages(&mut self) {
        for message in self.mailbox.take() {
            match message {
                Message::Accepted(stream) => self.add_connection(stream),
                Message::Completed(job) => self.complete(*job),
            }
        }
    }

    fn add_connection(&mut self, stream: Stream) {
        let state = ConnectionState::new(self.shared.users.is_some());
        let token = self.slots.insert(Connection::new(stream, state, self.now_ms));
        // Where the system watches no more sockets, this ends the connection.
        self.watch(token);
    }

    /// Serves a connection that is ready.
    #[inline]
    fn handle(&mut self, event: Event) {
        let token = event.token;
        let Some(connection) = self.slots.find(token) else { return };
        if connection.is_offloaded || connection.is_queued {
            return;
        }
        connection.last_received_ms = self.now_ms;
        if connection.has_kept() {
            self.send_kept(token);
        } else if event.can_read {
            if connection.input.is_empty() && self.dispatcher.context.is_some() {
                self.gather(token);
            } else {
                self.read(token);
            }
        }
    }

    fn send_kept(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        let Some(n) = connection.send_kept(&self.shared.buffer_budgets[self.place]) else {
            return self.remove(token);
        };
        if n > 0 {
            connection.last_progress_ms = self.now_ms;
        }
        let has_kept = connection.has_kept();
        self.counts.add(Count::BytesWritten, n as u64);
        if !has_kept {
            self.resume(token);
        }
    }

    /// Reads from a connection behind its input, or into the shared buffer.
    fn read(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        if !connection.input.is_empty() {
            self.read_more(token);
        } else if self.dispatcher.context.is_some() {
            self.gather(token);
            self.answer_gathered();
        } else {
            self.read_for_storage_threads(token);
        }
    }

    /// Reads from a connection into the buffer that it has.
    fn read_more(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        match connection.read_more(self.now_ms) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                self.resume(token);
            }
            // A buffer without bytes is given back.
            Read::Nothing => self.watch(token),
            Read::End => self.remove(token),
        }
    }

    /// Reads from a connection whose requests a storage thread answers.
    fn read_for_storage_threads(&mut self, token: u64) {
        let budget = &self.shared.buffer_budgets[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        self.read_buffer.clear();
        // No more is read than can be kept.
        match connection.read_onto(&mut self.read_buffer, connection.free_space(budget)) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                let discarded = connection.state.discard(&self.read_buffer);
                let rest = &self.read_buffer[discarded..];
                if connection.keep(rest, &mut self.spare, budget) {
                    self.resume(token);
                } else {
                    self.close(token);
                }
            }
            Read::Nothing => {}
            Read::End => self.remove(token),
        }
    }

    /// Serves a connection without a new event.
    fn resume(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        if connection.is_ending && !connection.has_kept() {
            return self.close(token);
        }
        if connection.is_offloaded || connection.has_kept() {
            return self.watch(token);
        }
        if connection.has_read_space() && connection.has_received() {
            return self.read(token);
        }
        if connection.input.is_empty() {
            return self.watch(token);
        }
        if self.dispatcher.context.is_some() { self.answer(token) } else { self.offload(token) }
    }

    /// Answers the requests in the input of a connection.
    fn answer(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        let mut answers = std::mem::take(&mut self.answers);
        answers.clear();
        let Connection { state, input, .. } = connection;
        let progress = self.dispatcher.run(|context| state.advance(input, context, &mut answers));
        let progress = progress.unwrap_or_else(|| failed(input, &mut answers, 0));
        connection.input.drain(..progress.consumed);
        self.after(token, &answers, progress);
        self.keep_answers(answers);
    }

    /// Keeps the buffer of answers for the next ones, unless it is very long.
    fn keep_answers(&mut self, answers: Vec<u8>) {
        if answers.capacity() <= SPARE_BYTES {
            self.answers = answers;
        }
    }

    /// Sends the answers of a turn, and takes the next step.
    #[inline]
    fn after(&mut self, token: u64, answers: &[u8], progress: Progress) {
        let Progress { consumed, next } = progress;
        if !self.send(token, answers) {
            return;
        }
        let Some(connection) = self.slots.find(token) else { return };
        if consumed > 0 {
            connection.last_progress_ms = self.now_ms;
        }
        match next {
            Next::End => connection.is_ending = true,
            Next::Yield | Next::Send => {
                if !connection.has_kept() {
                    connection.is_queued = true;
                    self.ready.push_back(token);
                }
            }
            // What was answered before is sent first.
            Next::Offload if connection.has_kept() => {}
            Next::Offload => return self.offload(token),
            Next::Read(_) if connection.input.is_empty() => {
                if consumed < connection.needed {
                    connection.needed = 0;
                }
            }
            Next::Read(needs) => {
                connection.needed = needs;
                if !self.free_buffers(token, |connection, budget| connection.grow(needs, budget))
                    && let Some(connection) = self.slots.find(token)
                {
                    connection.state.mark_out_of_memory();
                    return self.resume(token);
                }
            }
        }
        let Some(connection) = self.slots.find(token) else { return };
        if connection.is_ending && !connection.has_kept() {
            return self.close(token);
        }
        self.watch(token);
    }

    /// Sends answers. `false` where that ended the connection.
    #[inline]
    fn send(&mut self, token: u64, answers: &[u8]) -> bool {
        let Some(connection) = self.slots.find(token) else { return false };
        let n = match connection.send(answers, &self.shared.buffer_budgets[self.place]) {
            Sent::Bytes(n) => n,
            Sent::Broken => {
                self.remove(token);
                return false;
            }
            Sent::NoSpace(n) => {
                let rest = &answers[n..];
                if !self
                    .free_buffers(token, |connection, budget| connection.keep_answers(rest, budget))
                {
                    self.close(token);
                    return false;
                }
                n
            }
        };
        self.counts.add(Count::BytesWritten, n as u64);
        true
    }

    /// Gets space for the buffers of a connection. Where none is left, connections that have stalled are closed, the longest
    /// stalled first. `false` if that is not enough.
    fn free_buffers(
        &mut self,
        token: u64,
        take: impl Fn(&mut Connection, &BufferBudget) -> bool,
    ) -> bool {
        loop {
            let Some(connection) = self.slots.find(token) else { return false };
            if take(connection, &self.shared.buffer_budgets[self.place]) {
                return true;
            }
            let stalled = self.slots.iter().filter(|(other, connection)| {
                *other != token
                    && connection.is_evictable()
                    && connection.last_progress_ms + STALL_MS <= self.now_ms
            });
            let longest = stalled.min_by_key(|(_, connection)| connection.last_progress_ms);
            let Some((longest, _)) = longest else { return false };
            self.counts.add_one(Count::StallKicks);
            self.close(longest);
        }
    }

    /// Watches a connection for what it waits for. A connection without input keeps no buffer meanwhile.
    fn watch(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        if connection.input.is_empty() && connection.input.capacity() > 0 {
            let buffer = connection.take_buffer(&self.shared.buffer_budgets[self.place]);
            if (self.spare.capacity()..=SPARE_BYTES).contains(&buffer.capacity()) {
                self.spare = buffer;
            }
        }
        let wants = if connection.is_offloaded {
            0
        } else if connection.has_kept() {
            WRITABLE
        } else {
            READABLE
        };
        // epoll does not report bytes that TLS has read from the socket already.
        if wants == READABLE && !connection.is_queued && connection.has_received() {
            connection.is_queued = true;
            self.ready.push_back(token);
        }
        if wants != connection.interest {
            let watched = self.epoll.watch(connection.as_fd(), token, connection.interest, wants);
            connection.interest = wants;
            if watched.is_err() {
                self.close(token);
            }
        }
    }

    /// Offloads the requests of a connection to a storage thread.
    fn offload(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        let state = std::mem::take(&mut connection.state);
        let input = std::mem::take(&mut connection.input);
        let is_batchable = self.shared.batches_sets()
            && state.is_between_requests()
            && text::complete_set(&input, &self.shared).is_some();
        let job = Job {
            token,
            state,
            input,
            is_batchable,
            answers: Vec::new(),
            progress: None,
            from: Arc::clone(&self.mailbox),
        };
        connection.is_offloaded = true;
        self.watch(token);
        self.dispatcher.offload(job);
    }

    /// Takes the connection back from a storage thread, with its answers.
    fn complete(&mut self, job: Job) {
        let Job { token, state, mut input, answers, progress, .. } = job;
        let Some(connection) = self.slots.find(token) else { return };
        // A storage thread that failed has made no progress.
        let progress = progress.unwrap_or_else(|| Progress::end(&input));
        input.drain(..progress.consumed);
        (connection.state, connection.input) = (state, input);
        connection.is_offloaded = false;
        // The delay was ours, so the idle timer restarts.
        connection.last_received_ms = self.now_ms;
        self.after(token, &answers, progress);
    }

    /// Closes a connection that its client has not closed.
    fn close(&mut self, token: u64) {
        if let Some(connection) = self.slots.find(token) {
            connection.drain_and_shut_down();
        }
        self.remove(token);
    }

    /// Removes a connection.
    fn remove(&mut self, token: u64) {
        let Some(mut connection) = self.slots.remove(token) else { return };
        connection.give_back(&self.shared.buffer_budgets[self.place]);
        self.mailbox.n_connections.fetch_sub(1, Ordering::Relaxed);
        self.shared.n_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The progress of a connection whose request made the store panic: its end. The last of its answers, which begin at `begin`,
/// may be cut short, so they are dropped.
fn failed(input: &[u8], answers: &mut Vec<u8>, begin: usize) -> Progress {
    answers.truncate(begin);
    Progress::end(input)
}
