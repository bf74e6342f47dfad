//! The links of a session, and the calls of the contract that need no more than these.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use larder_store::{Answer, Answered, Error, Result, Watch};

use super::Peer;
use super::batches::{Batches, Reporter};
use super::link::Link;
use super::outstanding::{End, Role};
use super::patience::Patience;
use crate::socket::wait_for_any;

/// The links of a session.
pub(crate) struct Links<P: Peer> {
    pub(super) all: Vec<Link<P>>,
    pub(super) patience: Patience,
    watch: Option<Box<dyn Watch>>,
    pub(super) batches: Batches,
    /// Answers that no node gives, by the number of their requests.
    known: VecDeque<(usize, Known)>,
    /// The links that have a part of the batch that is being put together.
    parts: Vec<usize>,
    /// The entries of that batch that are refused.
    n_refused: usize,
    polled: Vec<libc::pollfd>,
}

/// An answer that is known without a node.
enum Known {
    /// An entry of a batch was refused.
    Refused { place: usize, error: Error },
    /// These were all refused entries of the batch.
    Over(End),
}

impl<P: Peer> Links<P> {
    /// Links that are not open, one for each peer, of a caller that does not wait. `timeout` is the longest silence of a node.
    pub(crate) fn new(peers: impl IntoIterator<Item = P>, timeout: Duration) -> Self {
        Self::of(peers, timeout, false)
    }

    /// The same, of a caller that waits for each answer.
    pub(crate) fn for_calls(peers: impl IntoIterator<Item = P>, timeout: Duration) -> Self {
        Self::of(peers, timeout, true)
    }

    fn of(peers: impl IntoIterator<Item = P>, timeout: Duration, waits: bool) -> Self {
        let patience = Patience { waits, timeout, longest_read: None, deadline: None };
        Self {
            all: peers.into_iter().map(|peer| Link::new(peer, patience)).collect(),
            patience,
            watch: None,
            batches: Batches::default(),
            known: VecDeque::new(),
            parts: Vec::new(),
            n_refused: 0,
            polled: Vec::new(),
        }
    }

    /// Adds a link that is not open.
    #[cfg(feature = "redis")]
    pub(crate) fn add(&mut self, peer: P) {
        // A program may have thousands of sessions with one link each.
        self.all.reserve_exact(1);
        self.all.push(Link::new(peer, self.patience));
    }

    /// The engine's parts of the links, in their order.
    #[cfg(feature = "redis")]
    pub(crate) fn peers(&self) -> impl Iterator<Item = &P> {
        self.all.iter().map(|link| &link.peer)
    }

    /// The engine's part of a link.
    pub(crate) fn peer(&mut self, link: usize) -> &mut P {
        &mut self.all[link].peer
    }

    /// The time that the present call may still wait.
    #[cfg(feature = "redis")]
    pub(crate) fn time_left(&self) -> Duration {
        self.patience.left()
    }

    /// The number of links.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// A link that takes requests: it is opened, unless it is open.
    #[inline]
    pub(crate) fn opened(&mut self, link: usize) -> Result<&mut Link<P>> {
        if !self.all[link].is_open() {
            self.open(link)?;
        }
        Ok(&mut self.all[link])
    }

    #[cold]
    fn open(&mut self, place: usize) -> Result<()> {
        let link = &mut self.all[place];
        link.open()?;
        let (Some(watch), Some((socket, wants_room))) = (&mut self.watch, link.watched()) else {
            return Ok(());
        };
        watch.watch(place, socket, wants_room).map_err(|error| {
            let error = link.failed(error);
            link.close();
            error
        })
    }

    /// Adds a request of one command. `encode` adds its bytes.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        link: usize,
        id: usize,
        asked: P::SentRequest,
        encode: impl FnOnce(&mut Link<P>),
    ) -> Result<()> {
        let link = self.opened(link)?;
        encode(link);
        link.push(id, asked, Role::Whole);
        self.batches.n_outstanding += 1;
        Ok(())
    }

    /// The link, which gets a part of the batch that is being put together. It must be open.
    #[inline]
    pub(crate) fn part(&mut self, link: usize) -> &mut Link<P> {
        if !self.parts.contains(&link) {
            self.parts.push(link);
        }
        &mut self.all[link]
    }

    /// The links that have a part of the batch that is being put together.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut Link<P>> {
        let Self { all, parts, .. } = self;
        all.iter_mut().enumerate().filter(|(i, _)| parts.contains(i)).map(|(_, link)| link)
    }

    /// Refuses an entry of the batch that is being put together.
    pub(crate) fn refuse(&mut self, id: usize, place: usize, error: Error) {
        self.n_refused += 1;
        self.known.push_back((id, Known::Refused { place, error }));
    }

    /// Ends the batch that is being put together.
    pub(crate) fn end_batch(&mut self, id: usize) {
        self.batches.n_outstanding += 1;
        let is_known = std::mem::take(&mut self.n_refused) > 0 || self.parts.is_empty();
        let end = match self.parts.len() + usize::from(is_known) {
            1 => End::Batch,
            n_parts => End::Part(self.batches.begin(n_parts)),
        };
        for link in self.parts.drain(..) {
            self.all[link].set_end(end);
        }
        if is_known {
            self.known.push_back((id, Known::Over(end)));
        }
    }

    /// As [`Pipeline::watch_with`](larder_store::Pipeline::watch_with).
    pub(crate) fn watch_with(&mut self, mut watch: Box<dyn Watch>) -> Result<()> {
        for (place, link) in self.all.iter().enumerate() {
            if let Some((socket, wants_room)) = link.watched() {
                let watched = watch.watch(place, socket, wants_room);
                watched.map_err(|error| link.failed(error))?;
            }
        }
        self.watch = Some(watch);
        Ok(())
    }

    /// As [`Pipeline::connect`](larder_store::Pipeline::connect).
    #[cfg(feature = "memcached")]
    pub(crate) fn connect(&mut self) -> Result<()> {
        (0..self.all.len()).try_for_each(|link| self.opened(link).map(drop))
    }

    /// As [`Pipeline::flush`](larder_store::Pipeline::flush).
    #[inline]
    pub(crate) fn flush(&mut self) {
        for (place, link) in self.all.iter_mut().enumerate() {
            if link.unsent_bytes() > 0
                && let Some(wants_room) = link.flush()
                && let (Some(watch), Some((socket, _))) = (&mut self.watch, link.watched())
                && let Err(error) = watch.watch(place, socket, wants_room)
            {
                link.fail_later(error);
            }
        }
    }

    /// As [`Pipeline::unsent_bytes`](larder_store::Pipeline::unsent_bytes).
    #[inline]
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.all.iter().map(Link::unsent_bytes).sum()
    }

    /// As [`Pipeline::n_outstanding`](larder_store::Pipeline::n_outstanding).
    #[inline]
    pub(crate) fn n_outstanding(&self) -> usize {
        self.batches.n_outstanding
    }

    /// As [`Pipeline::is_ready`](larder_store::Pipeline::is_ready).
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.known.is_empty()
    }

    /// As [`Pipeline::receive`](larder_store::Pipeline::receive).
    #[inline]
    pub(crate) fn receive(&mut self, link: usize, room: &mut [u8], answered: &mut Answered<'_>) {
        if !self.known.is_empty() {
            self.report_known(answered);
        }
        let mut reporter = Reporter { batches: &mut self.batches, answered };
        if let Some(link) = self.all.get_mut(link) {
            link.receive(false, room, &mut reporter);
        }
    }

    #[cold]
    fn report_known(&mut self, answered: &mut Answered<'_>) {
        let mut reporter = Reporter { batches: &mut self.batches, answered };
        for (id, known) in self.known.drain(..) {
            match known {
                Known::Refused { place, error } => {
                    reporter.report(id, Answer::Outcome { place, outcome: Err(error) });
                }
                Known::Over(end) => reporter.end(id, end, &mut None),
            }
        }
    }

    /// As [`Pipeline::wait`](larder_store::Pipeline::wait).
    pub(crate) fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        self.flush();
        if !self.known.is_empty() {
            return self.report_known(answered);
        }
        let mut waiting = self.all.iter_mut().filter(|link| link.is_waiting());
        let Some(only) = waiting.next() else { return };
        if waiting.next().is_none() && only.unsent_bytes() == 0 {
            let mut reporter = Reporter { batches: &mut self.batches, answered };
            let waits = !only.has_failed() && !only.is_broken_off();
            return only.receive(waits, room, &mut reporter);
        }
        self.wait_for_any(room, answered);
    }

    /// Waits for some link, and sends what it can meanwhile.
    fn wait_for_any(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        loop {
            self.polled.clear();
            self.polled.extend(self.all.iter().map(Link::polled));
            let is_ready = wait_for_any(&mut self.polled, self.patience.left());
            let has_arrived = self.polled.iter().any(|polled| polled.revents & !libc::POLLOUT != 0);
            let mut reporter = Reporter { batches: &mut self.batches, answered };
            for (link, polled) in self.all.iter_mut().zip(&self.polled) {
                if !is_ready && link.is_waiting() {
                    link.give_up(&mut reporter);
                } else if polled.revents & !libc::POLLOUT != 0 {
                    link.receive(false, room, &mut reporter);
                }
            }
            if has_arrived || !is_ready {
                break;
            }
            self.flush();
        }
        self.expire(answered);
    }

    /// As [`Pipeline::expire`](larder_store::Pipeline::expire).
    pub(crate) fn expire(&mut self, answered: &mut Answered<'_>) {
        let now = Instant::now();
        let mut reporter = Reporter { batches: &mut self.batches, answered };
        for link in &mut self.all {
            if link.is_silent(now) {
                link.give_up(&mut reporter);
            }
        }
    }
}

impl<P: Peer> fmt::Debug for Links<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links")
            .field("n_links", &self.all.len())
            .field("n_outstanding", &self.batches.n_outstanding)
            .finish_non_exhaustive()
    }
}
