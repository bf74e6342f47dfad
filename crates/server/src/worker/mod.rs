//! One thread that waits for many connections.

mod ending;
mod gathered;
mod hands;

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

use crate::connection::{Connection, Read, Sent};
use crate::context::Shared;
use crate::conversation::{Conversation, Next, Progress};
use crate::counts::{Count, Counts};
use crate::queue::Job;
use crate::queue::{Mailbox, Message};
use crate::text;
use crate::waiting::Waiting;
use gathered::Gathered;
pub(crate) use hands::Hands;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The longest buffer that is kept for the next connection that needs one.
const SPARE_BYTES: usize = 2 << 20;

/// The time that clients have to take their last answers when the server ends.
const PARTING: Duration = Duration::from_secs(5);

/// The time after which bytes that wait may have to give way to those of another connection, in milliseconds.
const STALL_MS: u64 = 1000;

/// The token of the mailbox.
const WOKEN: u64 = u64::MAX;

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
    hands: Hands,
    mailbox: Arc<Mailbox>,
    woken: Woken,
    counts: Arc<Counts>,
    /// Its place among the workers.
    place: usize,
    epoll: Epoll,
    slots: Slots<Connection>,
    /// Connections that go on without an event.
    ready: VecDeque<u64>,
    /// The bytes of one read.
    read_buffer: Vec<u8>,
    /// What connections have sent that are answered next.
    gathered: Gathered,
    /// The answers of one connection, or of some.
    answers: Vec<u8>,
    /// A buffer for the next connection that needs one.
    spare: Vec<u8>,
    /// Milliseconds since the server began, as of the last wait.
    now_ms: u64,
}

impl Worker {
    /// A worker without connections. `place` is its place among the workers, and that of its counters.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        hands: Hands,
        (mailbox, woken): (Arc<Mailbox>, Woken),
        place: usize,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch(woken.as_fd(), WOKEN, 0, READABLE)?;
        Ok(Self {
            hands,
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
        self.hands.let_go();
        let until = Instant::now() + PARTING;
        self.part();
        while self.slots.iter().next().is_some() && Instant::now() < until {
            self.wait(&mut events, Some(Duration::from_millis(20)))?;
            self.part();
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
        self.hands.end_rest(now_ms);
        if is_new_second {
            self.end_idle();
        }
        for event in events.iter() {
            if event.token == WOKEN {
                self.woken.settle();
                self.take_messages();
            } else {
                self.turn(event);
            }
        }
        self.answer_gathered();
        self.hands.let_go();
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else { break };
            if let Some(connection) = self.slots.find(token) {
                connection.is_queued = false;
                self.go_on(token);
            }
        }
        self.hands.let_go();
        Ok(())
    }

    fn take_messages(&mut self) {
        for message in self.mailbox.take() {
            match message {
                Message::Welcome(stream) => self.welcome(stream),
                Message::Back(job) => self.back(*job),
            }
        }
    }

    fn welcome(&mut self, stream: Stream) {
        let conversation = Conversation::new(self.shared.users.is_some());
        let token = self.slots.insert(Connection::new(stream, conversation, self.now_ms));
        // Where the system watches no more sockets, this ends the connection.
        self.watch(token);
    }

    /// Goes on with a connection that is ready.
    #[inline]
    fn turn(&mut self, event: Event) {
        let token = event.token;
        let Some(connection) = self.slots.find(token) else { return };
        if connection.is_away || connection.is_queued {
            return;
        }
        connection.heard_ms = self.now_ms;
        if connection.has_kept() {
            self.send_kept(token);
        } else if event.can_read {
            if connection.input.is_empty() && self.hands.desk.is_some() {
                self.gather(token);
            } else {
                self.read(token);
            }
        }
    }

    fn send_kept(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        let Some(n) = connection.send_kept(&self.shared.waiting[self.place]) else {
            return self.remove(token);
        };
        if n > 0 {
            connection.moved_ms = self.now_ms;
        }
        let has_kept = connection.has_kept();
        self.counts.add(Count::BytesWritten, n as u64);
        if !has_kept {
            self.go_on(token);
        }
    }

    /// Reads from a connection behind its input, or into the shared buffer.
    fn read(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        if !connection.input.is_empty() {
            self.read_more(token);
        } else if self.hands.desk.is_some() {
            self.gather(token);
            self.answer_gathered();
        } else {
            self.read_for_assistants(token);
        }
    }

    /// Reads from a connection into the buffer that it has.
    fn read_more(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        match connection.read_more(self.now_ms) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                self.go_on(token);
            }
            // A buffer without bytes is given back.
            Read::Nothing => self.watch(token),
            Read::End => self.remove(token),
        }
    }

    /// Reads from a connection whose requests an assistant answers.
    fn read_for_assistants(&mut self, token: u64) {
        let waiting = &self.shared.waiting[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        self.read_buffer.clear();
        // No more is read than can be kept.
        match connection.read_onto(&mut self.read_buffer, connection.room(waiting)) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                let thrown_away = connection.conversation.throw_away(&self.read_buffer);
                let rest = &self.read_buffer[thrown_away..];
                if connection.keep(rest, &mut self.spare, waiting) {
                    self.go_on(token);
                } else {
                    self.dismiss(token);
                }
            }
            Read::Nothing => {}
            Read::End => self.remove(token),
        }
    }

    /// Goes on with the input that a connection has.
    fn go_on(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        if connection.is_ending && !connection.has_kept() {
            return self.dismiss(token);
        }
        if connection.is_away || connection.has_kept() {
            return self.watch(token);
        }
        if connection.has_room_to_read() && connection.has_received() {
            return self.read(token);
        }
        if connection.input.is_empty() {
            return self.watch(token);
        }
        if self.hands.desk.is_some() { self.answer(token) } else { self.send_away(token) }
    }

    /// Answers the requests in the input of a connection.
    fn answer(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        let mut answers = std::mem::take(&mut self.answers);
        answers.clear();
        let Connection { conversation, input, .. } = connection;
        let progress = self.hands.work(|desk| conversation.advance(input, desk, &mut answers));
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

    /// What follows once requests are answered: the answers are sent, and the next step is made.
    #[inline]
    fn after(&mut self, token: u64, answers: &[u8], progress: Progress) {
        let Progress { consumed, next } = progress;
        if !self.send(token, answers) {
            return;
        }
        let Some(connection) = self.slots.find(token) else { return };
        if consumed > 0 {
            connection.moved_ms = self.now_ms;
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
            Next::Away if connection.has_kept() => {}
            Next::Away => return self.send_away(token),
            Next::Read(_) if connection.input.is_empty() => {
                if consumed < connection.needed {
                    connection.needed = 0;
                }
            }
            Next::Read(needs) => {
                connection.needed = needs;
                if !self.make_room(token, |connection, waiting| connection.grow(needs, waiting))
                    && let Some(connection) = self.slots.find(token)
                {
                    connection.conversation.cut_off();
                    return self.go_on(token);
                }
            }
        }
        let Some(connection) = self.slots.find(token) else { return };
        if connection.is_ending && !connection.has_kept() {
            return self.dismiss(token);
        }
        self.watch(token);
    }

    /// Sends answers. `false` where that ended the connection.
    #[inline]
    fn send(&mut self, token: u64, answers: &[u8]) -> bool {
        let Some(connection) = self.slots.find(token) else { return false };
        let n = match connection.send(answers, &self.shared.waiting[self.place]) {
            Sent::Bytes(n) => n,
            Sent::Broken => {
                self.remove(token);
                return false;
            }
            Sent::NoRoom(n) => {
                let rest = &answers[n..];
                if !self
                    .make_room(token, |connection, waiting| connection.keep_answers(rest, waiting))
                {
                    self.dismiss(token);
                    return false;
                }
                n
            }
        };
        self.counts.add(Count::BytesWritten, n as u64);
        true
    }

    /// Makes room for what a connection has waiting. Where there is none, connections whose bytes have not moved for long
    /// are ended, those first that have waited longest. `false` where that is not enough.
    fn make_room(&mut self, token: u64, take: impl Fn(&mut Connection, &Waiting) -> bool) -> bool {
        loop {
            let Some(connection) = self.slots.find(token) else { return false };
            if take(connection, &self.shared.waiting[self.place]) {
                return true;
            }
            let stalled = self.slots.iter().filter(|(other, connection)| {
                *other != token
                    && connection.is_in_the_way()
                    && connection.moved_ms + STALL_MS <= self.now_ms
            });
            let longest = stalled.min_by_key(|(_, connection)| connection.moved_ms);
            let Some((longest, _)) = longest else { return false };
            self.counts.add_one(Count::StallKicks);
            self.dismiss(longest);
        }
    }

    /// Watches a connection for what it waits for. A connection without input keeps no buffer meanwhile.
    fn watch(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        if connection.input.is_empty() && connection.input.capacity() > 0 {
            let buffer = connection.take_buffer(&self.shared.waiting[self.place]);
            if (self.spare.capacity()..=SPARE_BYTES).contains(&buffer.capacity()) {
                self.spare = buffer;
            }
        }
        let wants = if connection.is_away {
            0
        } else if connection.has_kept() {
            WRITABLE
        } else {
            READABLE
        };
        // The socket does not tell of what TLS has read from it already.
        if wants == READABLE && !connection.is_queued && connection.has_received() {
            connection.is_queued = true;
            self.ready.push_back(token);
        }
        if wants != connection.interest {
            let watched = self.epoll.watch(connection.as_fd(), token, connection.interest, wants);
            connection.interest = wants;
            if watched.is_err() {
                self.dismiss(token);
            }
        }
    }

    /// Gives the requests of a connection to an assistant.
    fn send_away(&mut self, token: u64) {
        let Some(connection) = self.slots.find(token) else { return };
        let conversation = std::mem::take(&mut connection.conversation);
        let input = std::mem::take(&mut connection.input);
        let joins = self.shared.joins_sets()
            && conversation.takes_any_request()
            && text::whole(&input, &self.shared).is_some();
        let job = Job {
            token,
            conversation,
            input,
            joins,
            answers: Vec::new(),
            progress: None,
            from: Arc::clone(&self.mailbox),
        };
        connection.is_away = true;
        self.watch(token);
        self.hands.give_away(job);
    }

    /// Takes the answers of an assistant.
    fn back(&mut self, job: Job) {
        let Job { token, conversation, mut input, answers, progress, .. } = job;
        let Some(connection) = self.slots.find(token) else { return };
        // An assistant that failed has made no progress.
        let progress = progress.unwrap_or_else(|| Progress::end(&input));
        input.drain(..progress.consumed);
        (connection.conversation, connection.input) = (conversation, input);
        connection.is_away = false;
        // It has waited for the store, and not the other way round.
        connection.heard_ms = self.now_ms;
        self.after(token, &answers, progress);
    }

    /// Ends a connection that its client has not ended.
    fn dismiss(&mut self, token: u64) {
        if let Some(connection) = self.slots.find(token) {
            connection.say_farewell();
        }
        self.remove(token);
    }

    /// Removes a connection.
    fn remove(&mut self, token: u64) {
        let Some(mut connection) = self.slots.remove(token) else { return };
        connection.give_back(&self.shared.waiting[self.place]);
        self.mailbox.n_connections.fetch_sub(1, Ordering::Relaxed);
        self.shared.n_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The end of a connection whose request made the store panic. The last of its answers, which begin at a place of all
/// answers, is not whole.
fn failed(input: &[u8], answers: &mut Vec<u8>, begin: usize) -> Progress {
    answers.truncate(begin);
    Progress::end(input)
}
