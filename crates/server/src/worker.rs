//! One thread that waits for many connections.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use larder_host::epoll::{Epoll, Event, Events, READABLE, WRITABLE};
use socket2::Socket;

use crate::assistant::Job;
use crate::connection::{Connection, Read};
use crate::context::{Desk, Shared};
use crate::conversation::{Next, Progress};
use crate::counts::Count;
use crate::waker::{self, Waker, Woken};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The longest buffer that is kept for the next connection that needs one.
const SPARE_BYTES: usize = 2 << 20;

/// The time that clients have to take their last answers when the server ends.
const PARTING: Duration = Duration::from_secs(5);

/// The token of the mailbox.
const WOKEN: u64 = u64::MAX;

/// What other threads send to a worker.
#[derive(Debug)]
pub(crate) enum Message {
    /// A new connection.
    Welcome(Socket),
    /// Requests that an assistant has answered.
    Back(Box<Job>),
}

/// Where a worker gets its messages.
#[derive(Debug)]
pub(crate) struct Mailbox {
    messages: Mutex<Vec<Message>>,
    waker: Waker,
    /// Connections that the worker has, or will have.
    pub(crate) n_connections: AtomicUsize,
    /// The server ends.
    is_ending: AtomicBool,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<(Arc<Self>, Woken)> {
        let (waker, woken) = waker::pair()?;
        let mailbox = Self {
            messages: Mutex::default(),
            waker,
            n_connections: AtomicUsize::new(0),
            is_ending: AtomicBool::new(false),
        };
        Ok((Arc::new(mailbox), woken))
    }

    pub(crate) fn send(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        self.waker.wake();
    }

    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// Who calls the store.
#[derive(Debug)]
pub(crate) enum Hands {
    /// The worker itself.
    Own(Box<Desk>),
    /// Assistants, because the store may wait.
    Assistants(Sender<Job>),
}

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
    hands: Hands,
    mailbox: Arc<Mailbox>,
    woken: Woken,
    counts: Arc<crate::counts::Counts>,
    epoll: Epoll,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Connections that go on without an event.
    ready: VecDeque<u64>,
    /// The bytes of one read.
    room: Vec<u8>,
    /// The answers of one connection.
    answers: Vec<u8>,
    /// A buffer for the next connection that needs one.
    spare: Vec<u8>,
    /// Seconds since the server began.
    now_s: u32,
}

/// A place for a connection. Its generation tells the connection from earlier ones.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

impl Slot {
    /// The token of its connection, where it stands at `place`.
    fn token(&self, place: usize) -> u64 {
        u64::from(self.generation) << 32 | place as u64
    }
}

impl Worker {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        hands: Hands,
        (mailbox, woken): (Arc<Mailbox>, Woken),
        thread: usize,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch(woken.as_fd(), WOKEN, 0, READABLE)?;
        Ok(Self {
            hands,
            mailbox,
            woken,
            counts: Arc::clone(&shared.counts[thread]),
            shared: Arc::clone(shared),
            epoll,
            slots: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            room: Vec::with_capacity(READ_BYTES),
            answers: Vec::new(),
            spare: Vec::new(),
            now_s: 0,
        })
    }

    /// Serves until the server ends.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::default();
        while !self.mailbox.is_ending.load(Ordering::Acquire) {
            self.wait(&mut events, None)?;
        }
        // Requests that have arrived are answered; then clients have a while to take the answers.
        let until = Instant::now() + PARTING;
        self.part();
        while self.n_connections() > 0 && Instant::now() < until {
            self.wait(&mut events, Some(Duration::from_millis(20)))?;
            self.part();
        }
        Ok(())
    }

    fn n_connections(&self) -> usize {
        self.slots.iter().filter(|slot| slot.connection.is_some()).count()
    }

    /// Waits for events and goes through them.
    fn wait(&mut self, events: &mut Events, patience: Option<Duration>) -> io::Result<()> {
        // Idle connections are looked for once a second.
        let tick = self.shared.settings.idle.map(|_| Duration::from_secs(1));
        let patience = if self.ready.is_empty() { patience.or(tick) } else { Some(Duration::ZERO) };
        self.epoll.wait(events, patience)?;
        let now_s = u32::try_from(self.shared.began.elapsed().as_secs()).unwrap_or(u32::MAX);
        if now_s != self.now_s {
            self.now_s = now_s;
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
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else { break };
            if let Some(connection) = find(&mut self.slots, token) {
                connection.is_queued = false;
                self.go_on(token);
            }
        }
        Ok(())
    }

    fn take_messages(&mut self) {
        let messages = {
            let mut messages = self.mailbox.messages.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *messages)
        };
        for message in messages {
            match message {
                Message::Welcome(socket) => self.welcome(socket),
                Message::Back(job) => self.back(*job),
            }
        }
    }

    fn welcome(&mut self, socket: Socket) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[place];
        let token = slot.token(place);
        slot.connection = Some(Connection::new(socket, self.now_s));
        // Where the system watches no more sockets, this ends the connection.
        self.watch(token);
    }

    /// Goes on with a connection that is ready.
    #[inline]
    fn turn(&mut self, event: Event) {
        let token = event.token;
        let Some(connection) = find(&mut self.slots, token) else { return };
        if connection.is_away || connection.is_queued {
            return;
        }
        if connection.has_kept() {
            connection.heard_s = self.now_s;
            let (is_well, n) = connection.send_kept(&self.shared);
            let has_kept = connection.has_kept();
            self.counts.add(Count::BytesWritten, n as u64);
            if !is_well {
                self.end(token);
            } else if !has_kept {
                self.go_on(token);
            }
        } else if event.can_read {
            connection.heard_s = self.now_s;
            self.read(token);
        }
    }

    /// Reads from a connection without input of its own into the shared room, and otherwise behind its input.
    #[inline]
    fn read(&mut self, token: u64) {
        let is_own = matches!(self.hands, Hands::Own(_));
        let Some(connection) = find(&mut self.slots, token) else { return };
        let has_input = !connection.input.is_empty();
        self.room.clear();
        let read =
            if has_input { connection.read_more() } else { connection.read_onto(&mut self.room) };
        let n = match read {
            Read::Bytes(n) => n,
            Read::Nothing => return,
            Read::End => return self.end(token),
        };
        self.counts.add(Count::BytesRead, n as u64);
        let room = std::mem::take(&mut self.room);
        if has_input {
            self.go_on(token);
        } else if is_own {
            self.answer(token, Some(&room));
        } else if self.keep(token, &room) {
            self.go_on(token);
        } else {
            self.end(token);
        }
        self.room = room;
    }

    /// Goes on with the input that a connection has.
    fn go_on(&mut self, token: u64) {
        let Some(connection) = find(&mut self.slots, token) else { return };
        if connection.is_ending && !connection.has_kept() {
            return self.end(token);
        }
        if connection.is_away || connection.has_kept() || connection.input.is_empty() {
            return self.watch(token);
        }
        match &self.hands {
            Hands::Own(_) => self.answer(token, None),
            Hands::Assistants(_) => self.send_away(token),
        }
    }

    /// Answers the requests of a connection: those in `read`, or those in its own input.
    fn answer(&mut self, token: u64, read: Option<&[u8]>) {
        let Hands::Own(desk) = &mut self.hands else { return };
        let Some(connection) = find(&mut self.slots, token) else { return };
        let own = std::mem::take(&mut connection.input);
        let most = self.shared.settings.request_bytes();
        let room = most.min(connection.room(&self.shared) + own.capacity());
        let input = read.unwrap_or(&own);
        let mut at = 0;
        let (next, is_well) = loop {
            self.answers.clear();
            let rest = &input[at..];
            let progress = connection.conversation.advance(rest, room, desk, &mut self.answers);
            at += progress.consumed;
            let (is_well, n) = connection.send(&self.answers, &self.shared);
            self.counts.add(Count::BytesWritten, n as u64);
            if progress.next != Next::Send || connection.has_kept() || !is_well {
                break (progress.next, is_well);
            }
        };
        connection.input = own;
        if self.answers.capacity() > SPARE_BYTES {
            self.answers = Vec::new();
        }
        let is_kept = if let Some(read) = read {
            let rest = &read[at..];
            rest.is_empty() || self.keep(token, rest)
        } else {
            connection.input.drain(..at);
            true
        };
        self.after(token, next, is_well && is_kept);
    }

    /// Keeps bytes that are not answered yet.
    fn keep(&mut self, token: u64, bytes: &[u8]) -> bool {
        let Some(connection) = find(&mut self.slots, token) else { return false };
        // A much longer buffer would count for more than waits.
        let fits = (bytes.len()..=bytes.len() * 4).contains(&self.spare.capacity());
        if connection.input.capacity() == 0 && fits {
            connection.adopt(&mut self.spare, &self.shared);
        }
        let is_kept = connection.make_room(bytes.len(), &self.shared);
        if is_kept {
            connection.input.extend_from_slice(bytes);
        }
        is_kept
    }

    /// What follows once requests are answered.
    fn after(&mut self, token: u64, next: Next, is_well: bool) {
        let Some(connection) = find(&mut self.slots, token) else { return };
        if !is_well {
            return self.end(token);
        }
        match next {
            Next::End => connection.is_ending = true,
            Next::Yield | Next::Send => {
                if !connection.has_kept() {
                    connection.is_queued = true;
                    self.ready.push_back(token);
                }
                return self.watch(token);
            }
            Next::Read(_) if connection.input.is_empty() => {}
            Next::Read(needs) => {
                // A line whose length is not known gets twice the room that it has.
                let len = if needs > 0 { needs } else { connection.input.len() * 2 };
                let len = len.max(connection.input.len() + 4096);
                if !connection.make_room(len, &self.shared) {
                    let refusal = b"SERVER_ERROR out of memory reading request\r\n";
                    let _ = connection.send(refusal, &self.shared);
                    return self.end(token);
                }
            }
        }
        if connection.is_ending && !connection.has_kept() {
            return self.end(token);
        }
        self.watch(token);
    }

    /// Watches a connection for what it waits for. A connection without input keeps no buffer meanwhile.
    fn watch(&mut self, token: u64) {
        let Some(connection) = find(&mut self.slots, token) else { return };
        if connection.input.is_empty() && connection.input.capacity() > 0 {
            let buffer = connection.take_buffer(&self.shared);
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
        if wants != connection.interest {
            let watched = self.epoll.watch(connection.as_fd(), token, connection.interest, wants);
            connection.interest = wants;
            if watched.is_err() {
                self.end(token);
            }
        }
    }

    /// Gives the requests of a connection to an assistant.
    fn send_away(&mut self, token: u64) {
        let from = Arc::clone(&self.mailbox);
        let Some(connection) = find(&mut self.slots, token) else { return };
        let room = connection.room(&self.shared);
        let job = Job {
            token,
            conversation: std::mem::take(&mut connection.conversation),
            input: std::mem::take(&mut connection.input),
            room,
            answers: Vec::new(),
            progress: None,
            from,
        };
        connection.is_away = true;
        self.watch(token);
        if let Hands::Assistants(jobs) = &self.hands
            && jobs.send(job).is_err()
        {
            self.end(token);
        }
    }

    /// Takes the answers of an assistant.
    fn back(&mut self, job: Job) {
        let Job { token, conversation, mut input, answers, progress, .. } = job;
        let Some(connection) = find(&mut self.slots, token) else { return };
        let Progress { consumed, next } =
            progress.unwrap_or(Progress { consumed: 0, next: Next::End });
        input.drain(..consumed);
        (connection.conversation, connection.input) = (conversation, input);
        connection.is_away = false;
        let (is_sent, n) = connection.send(&answers, &self.shared);
        self.counts.add(Count::BytesWritten, n as u64);
        self.after(token, next, is_sent);
    }

    /// Ends connections that have said nothing for too long.
    fn end_idle(&mut self) {
        let Some(idle) = self.shared.settings.idle else { return };
        let now_s = self.now_s;
        let is_idle = |connection: &Connection| {
            !connection.is_away && u64::from(now_s - connection.heard_s) > idle.as_secs()
        };
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            if slot.connection.as_ref().is_some_and(is_idle) {
                let token = slot.token(place);
                self.counts.add_one(Count::IdleKicks);
                self.end(token);
            }
        }
    }

    /// Ends the connections that have no answer to send.
    fn part(&mut self) {
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            let has_none = |connection: &Connection| {
                !connection.has_kept() && !connection.is_away && !connection.is_queued
            };
            if slot.connection.as_ref().is_some_and(has_none) {
                let token = slot.token(place);
                self.end(token);
            }
        }
    }

    /// Ends a connection.
    fn end(&mut self, token: u64) {
        let place = place_of(token);
        let slot = &mut self.slots[place];
        let Some(mut connection) = slot.connection.take() else { return };
        connection.end(&self.shared);
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(place);
        self.mailbox.n_connections.fetch_sub(1, Ordering::Relaxed);
        self.shared.n_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connection of a token, unless it has ended.
#[inline]
fn find(slots: &mut [Slot], token: u64) -> Option<&mut Connection> {
    let slot = slots.get_mut(place_of(token))?;
    if u64::from(slot.generation) == token >> 32 { slot.connection.as_mut() } else { None }
}

fn place_of(token: u64) -> usize {
    usize::try_from(token & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}
