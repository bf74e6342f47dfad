//! The event loop: one thread that passes the bytes of many links on, and then has them followed.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use larder_host::epoll::{Epoll, Event, Events, READABLE};
use larder_host::mailbox::Mailbox;
use larder_host::slots::Slots;
use larder_host::stream::Stream;
use larder_host::waker::Woken;

use super::link::{End, Link};
use super::shared::Shared;
use super::side::Read;
use crate::batch::BATCH_BYTES;
use crate::recorder::Recorder;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Bytes that each link may keep in any case for an end that does not read.
const GUARANTEED_BYTES: usize = 4 << 10;

/// The most bytes that all links of an event loop keep; beyond that they read little at once.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// The time after which rows are handed over even if they are few.
const HAND_OVER: Duration = Duration::from_millis(200);

/// The time between two attempts of a connection to a Unix socket with too many that wait.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// The time without bytes after which a link that is not followed counts as idle.
const IDLE: Duration = Duration::from_millis(100);

/// The token of the mailbox.
const WOKEN: u64 = u64::MAX;

/// The bit of a token that marks the server's end of a link. Places of links are below it.
const SERVER_BIT: u64 = 1 << 31;

/// A connection of the application, and its number.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) stream: Stream,
    pub(super) connection: u32,
}

/// An event loop.
#[derive(Debug)]
pub(super) struct EventLoop {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox<Accepted>>,
    woken: Woken,
    place: usize,
    epoll: Epoll,
    links: Slots<Link>,
    /// Links that are served without an event: their encrypted streams have bytes.
    ready: VecDeque<u64>,
    /// Connections whose server accepts no connection at the moment.
    waiting: VecDeque<Accepted>,
    recorder: Recorder,
    buffer: Vec<u8>,
    kept_bytes: usize,
    handed_over: Instant,
    /// Something was followed since then.
    has_news: bool,
    now: Instant,
}

impl EventLoop {
    pub(super) fn new(
        shared: &Arc<Shared>,
        mailbox: Arc<Mailbox<Accepted>>,
        woken: Woken,
        recorder: Recorder,
        place: usize,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.watch(woken.as_fd(), WOKEN, 0, READABLE)?;
        Ok(Self {
            shared: Arc::clone(shared),
            mailbox,
            woken,
            place,
            epoll,
            links: Slots::default(),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            recorder,
            buffer: Vec::with_capacity(READ_BYTES),
            kept_bytes: 0,
            handed_over: Instant::now(),
            has_news: false,
            now: Instant::now(),
        })
    }

    /// Passes bytes on until the proxy ends. Then each link may go on until all of its requests are answered, for `grace` at
    /// most.
    pub(super) fn run(mut self, grace: Duration) -> io::Result<()> {
        let mut events = Events::default();
        while !self.mailbox.is_closed() {
            self.wait(&mut events, None)?;
        }
        self.accept_all();
        let until = Instant::now() + grace;
        while self.end_quiet() > 0 && Instant::now() < until {
            self.wait(&mut events, Some(Duration::from_millis(20)))?;
        }
        let left: Vec<u64> = self.links.iter().map(|(token, _)| token).collect();
        for token in left {
            self.remove(token);
        }
        self.hand_over();
        Ok(())
    }

    /// Waits for events and goes through them.
    fn wait(&mut self, events: &mut Events, patience: Option<Duration>) -> io::Result<()> {
        let again = (!self.waiting.is_empty()).then_some(RETRY_PAUSE);
        let rows = self.has_news.then_some(HAND_OVER);
        let patience = if self.ready.is_empty() {
            [patience, again, rows].into_iter().flatten().min()
        } else {
            Some(Duration::ZERO)
        };
        self.epoll.wait(events, patience)?;
        self.now = Instant::now();
        for event in events.iter() {
            if event.token == WOKEN {
                self.woken.settle();
                self.accept_all();
            } else {
                self.turn(event);
            }
        }
        for _ in 0..self.ready.len() {
            let Some(token) = self.ready.pop_front() else { break };
            if let Some(link) = self.links.find(token) {
                link.is_queued = false;
                self.read(token, End::Application);
                self.read(token, End::Server);
                self.settle(token);
            }
        }
        for _ in 0..self.waiting.len() {
            if let Some(accepted) = self.waiting.pop_front() {
                self.accept(accepted);
            }
        }
        if self.has_news && self.now.duration_since(self.handed_over) >= HAND_OVER {
            self.hand_over();
        }
        Ok(())
    }

    fn accept_all(&mut self) {
        for accepted in self.mailbox.take() {
            self.accept(accepted);
        }
    }

    fn accept(&mut self, Accepted { stream, connection }: Accepted) {
        match Link::new(stream, &self.shared.upstream, connection, self.now) {
            Ok(link) => {
                let token = self.links.insert(link);
                // A near server is connected already.
                self.settle(token);
            }
            Err((stream, error)) if error.kind() == ErrorKind::WouldBlock => {
                self.waiting.push_back(Accepted { stream, connection });
            }
            Err((_, error)) => {
                self.shared.refused(&error);
                self.leave();
            }
        }
    }

    /// Handles an event at one end of a link.
    #[inline]
    fn turn(&mut self, event: Event) {
        let (token, end) = if event.token & SERVER_BIT == 0 {
            (event.token, End::Application)
        } else {
            (event.token & !SERVER_BIT, End::Server)
        };
        let Some(link) = self.links.find(token) else { return };
        if link.is_connecting() {
            if end == End::Server {
                self.connect(token);
            }
            return;
        }
        if event.can_write {
            link.side(end).send_kept();
        }
        if event.can_read {
            self.read(token, end);
        }
        self.settle(token);
    }

    fn connect(&mut self, token: u64) {
        let Some(link) = self.links.find(token) else { return };
        match link.continue_connecting(&self.shared.upstream) {
            Ok(()) => {
                if !link.is_connecting() {
                    self.shared.reached();
                }
                self.settle(token);
            }
            Err(error) => {
                self.shared.refused(&error);
                self.remove(token);
            }
        }
    }

    /// Reads from one end and sends to the other one; then has the bytes followed.
    #[inline]
    fn read(&mut self, token: u64, end: End) {
        let most = (MAX_KEPT_BYTES - self.kept_bytes.min(MAX_KEPT_BYTES)) / 16;
        let Some(link) = self.links.find(token) else { return };
        let is_blocked = link.side(end.other()).has_kept();
        let side = link.side(end);
        // Bytes of the handshake pass in any case.
        if side.has_ended || (is_blocked && !side.stream().is_shaking_hands()) {
            return;
        }
        match side.read(&mut self.buffer, most.clamp(GUARANTEED_BYTES, READ_BYTES)) {
            Read::Bytes(_) => {
                link.side(end.other()).send(&self.buffer);
                link.last_passed = self.now;
                self.has_news = true;
                let at_ns = self.shared.clock.now_ns();
                if let Err(lost) = link.follow(end, &self.buffer, at_ns, &mut self.recorder) {
                    self.shared.lost(lost);
                }
                if self.recorder.batch.size_bytes() >= BATCH_BYTES {
                    self.hand_over();
                }
            }
            Read::Nothing => {
                // An encrypted stream may have agreed with its peer, and take bytes now.
                if side.kept_bytes() > 0 {
                    side.send_kept();
                }
            }
            // One that broke off breaks off at the other end too, once that has all bytes.
            Read::End if side.is_broken => {}
            Read::End => link.side(end.other()).end(),
        }
    }

    /// Waits for the next events of a link, or removes the link when it has ended.
    #[inline]
    fn settle(&mut self, token: u64) {
        let Some(link) = self.links.find(token) else { return };
        if !link.is_connecting() && link.is_finished() {
            return self.remove(token);
        }
        let kept = link.kept_bytes();
        self.kept_bytes = self.kept_bytes - link.share + kept;
        link.share = kept;
        let of_end = |end| if end == End::Application { token } else { token | SERVER_BIT };
        if link.watch(&self.epoll, of_end).is_err() {
            return self.remove(token);
        }
        let Some(link) = self.links.find(token) else { return };
        let goes_on = !link.is_queued
            && !link.is_connecting()
            && [End::Application, End::Server]
                .into_iter()
                .any(|end| !link.side(end.other()).has_kept() && link.side(end).has_received());
        if goes_on {
            link.is_queued = true;
            self.ready.push_back(token);
        }
    }

    /// Ends the links whose requests are all answered; returns the number of the others.
    fn end_quiet(&mut self) -> usize {
        let (now, mut n_left) = (Instant::now(), 0);
        let mut quiet = Vec::new();
        for (token, link) in self.links.iter() {
            let is_idle = link.is_followed() || now.duration_since(link.last_passed) >= IDLE;
            if link.is_quiet() && is_idle {
                quiet.push(token);
            } else {
                n_left += 1;
            }
        }
        for token in quiet {
            self.remove(token);
        }
        n_left
    }

    fn remove(&mut self, token: u64) {
        let Some(mut link) = self.links.remove(token) else { return };
        link.pass_on_breaks();
        link.stop_following(false, &mut self.recorder);
        self.kept_bytes -= link.share;
        self.leave();
    }

    fn leave(&self) {
        self.mailbox.n_connections.fetch_sub(1, Ordering::Relaxed);
        self.shared.n_open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Hands the rows over to the writer thread, and publishes the counters.
    fn hand_over(&mut self) {
        (self.handed_over, self.has_news) = (self.now, false);
        self.shared.row_sender.send(&mut self.recorder.batch);
        let counts = &self.shared.counts[self.place];
        *counts.lock().unwrap_or_else(PoisonError::into_inner) = self.recorder.counts;
    }
}
