//! The proxy: it listens in the server's place, and passes every byte on to the server and back.
//!
//! The bytes come first. What is read from one end is sent to the other end, and only then followed; a follower sees the
//! bytes and can change nothing. A link reads no more from an end while the other end takes nothing, so a slow reader slows
//! its own peer down, as without the proxy.

mod event_loop;
mod link;
mod shared;
mod side;

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_host::epoll::{Epoll, Events, READABLE};
use larder_host::limits;
use larder_host::listen::{Address, Listener, Listeners};
use larder_host::mailbox::Mailbox;
use larder_host::stream::Stream;
use larder_host::tls::Tls;
use larder_host::waker::{self, Waker, Woken};

use crate::keys::Keys;
use crate::notice::{Notify, Severity};
use crate::recorder::{Counts, Recorder};
use crate::upstream::Upstream;
use crate::write::RowSender;

use event_loop::{Accepted, EventLoop};
use shared::Shared;

/// The time between two checks for threads that have failed.
const TICK: Duration = Duration::from_millis(200);

/// The most connections that are accepted at one address before the others have their turn.
const MAX_ACCEPTED: usize = 64;

/// The time without new connections after an accept failed: most likely no descriptors were left.
const PAUSE: Duration = Duration::from_millis(10);

/// Descriptors that are no connections.
const OTHER_FILES: u64 = 64;

/// The token of orders.
const ORDERS: u64 = u64::MAX;

/// The settings of a proxy.
#[derive(Debug)]
pub struct Settings {
    /// The server.
    pub upstream: Upstream,
    /// The encryption of the addresses that have it.
    pub tls: Option<Tls>,
    /// The rules of keys.
    pub keys: Keys,
    /// Threads that pass bytes on.
    pub threads: std::num::NonZero<usize>,
    /// The time that connections have at the end until their requests are answered.
    pub grace: Duration,
}

/// An order to a running proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// To end.
    End,
    /// To read its certificates again.
    Reload,
}

/// A proxy that listens.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    mailboxes: Vec<Arc<Mailbox<Accepted>>>,
    event_loops: Vec<JoinHandle<io::Result<()>>>,
    orders: Receiver<Order>,
    bell: Woken,
    remote: Remote,
    /// The most links for which there are descriptors.
    max_links: usize,
}

/// Gives orders to a proxy.
#[derive(Debug, Clone)]
pub struct Remote {
    orders: Sender<Order>,
    waker: Arc<Waker>,
}

impl Remote {
    /// Ends the proxy: connections go on until their requests are answered.
    pub fn end(&self) {
        self.give(Order::End);
    }

    /// Lets it read its certificates again, for the connections that come.
    pub fn reload(&self) {
        self.give(Order::Reload);
    }

    fn give(&self, order: Order) {
        // One that has ended already does nothing.
        let _ = self.orders.send(order);
        self.waker.wake();
    }
}

/// The counters of a proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations.
    pub counts: Counts,
    /// Connections that are open.
    pub n_open: usize,
    /// Connections of the application, since the beginning.
    pub n_connections: u64,
    /// Connections that were not understood, and so not followed to their end.
    pub n_lost: u64,
    /// Connections that have turned to another use than a cache.
    pub n_other_use: u64,
    /// Connections that the server has refused.
    pub n_refused: u64,
}

/// Reads the counters of a proxy, from any thread.
#[derive(Debug, Clone)]
pub struct Watch(Arc<Shared>);

impl Watch {
    /// The counters so far. Those of operations may lag a moment.
    pub fn totals(&self) -> Totals {
        let shared = &self.0;
        Totals {
            counts: shared.counts(),
            n_open: shared.n_open.load(Ordering::Relaxed),
            n_connections: shared.n_connections.load(Ordering::Relaxed),
            n_lost: shared.n_lost.load(Ordering::Relaxed),
            n_other_use: shared.n_other_use.load(Ordering::Relaxed),
            n_refused: shared.n_refused.load(Ordering::Relaxed),
        }
    }
}

impl Proxy {
    /// Starts the threads. The rows go to `row_sender`.
    ///
    /// # Errors
    ///
    /// What the system refuses.
    pub fn start(
        listeners: Listeners,
        settings: Settings,
        row_sender: RowSender,
        notify: Notify,
    ) -> io::Result<Self> {
        // A link takes two descriptors. If the limit cannot be raised, fewer links are open at once.
        let _ = limits::raise_open_files();
        let (files, _) = limits::open_files()?;
        let max_links = files.saturating_sub(OTHER_FILES) / 2;
        let (waker, bell) = waker::pair()?;
        let (sender, orders) = channel();
        let n_threads = settings.threads.get();
        let Settings { upstream, tls, keys, grace, .. } = settings;
        let shared = Arc::new(Shared::new(upstream, tls, row_sender, notify, n_threads));
        let mut proxy = Self {
            shared,
            listeners: listeners.sockets,
            mailboxes: Vec::new(),
            event_loops: Vec::new(),
            orders,
            bell,
            remote: Remote { orders: sender, waker: Arc::new(waker) },
            max_links: usize::try_from(max_links).unwrap_or(usize::MAX),
        };
        for place in 0..n_threads {
            let (mailbox, woken) = Mailbox::new()?;
            proxy.mailboxes.push(Arc::clone(&mailbox));
            let recorder = Recorder::new(keys.clone(), place as u64, n_threads as u64);
            let event_loop = EventLoop::new(&proxy.shared, mailbox, woken, recorder, place)?;
            let thread = thread::Builder::new().name(format!("proxy {place}"));
            proxy.event_loops.push(thread.spawn(move || event_loop.run(grace))?);
        }
        Ok(proxy)
    }

    /// The addresses at which it listens, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().map(|listener| listener.address.clone()).collect()
    }

    /// A handle that gives orders, for other threads and signal handlers.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// A handle on its counters.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.shared))
    }

    /// Passes bytes on until the order to end.
    ///
    /// # Errors
    ///
    /// What the system refuses.
    pub fn run(mut self) -> io::Result<Totals> {
        let epoll = Epoll::new()?;
        epoll.watch(self.bell.as_fd(), ORDERS, 0, READABLE)?;
        let mut interest = 0;
        let mut events = Events::default();
        loop {
            let is_full = self.shared.n_open.load(Ordering::Relaxed) >= self.max_links;
            let wanted = if is_full { 0 } else { READABLE };
            self.listen(&epoll, &mut interest, wanted)?;
            epoll.wait(&mut events, Some(TICK))?;
            for event in events.iter() {
                let place = usize::try_from(event.token).unwrap_or(usize::MAX);
                if let Some(listener) = self.listeners.get(place) {
                    self.accept(listener);
                }
            }
            self.bell.settle();
            // The links of an event loop that has failed would wait for ever.
            if self.is_told_to_end() || self.event_loops.iter().any(JoinHandle::is_finished) {
                break;
            }
        }
        self.finish()
    }

    /// Listens for connections, or lets them wait where there are no descriptors for them.
    fn listen(&self, epoll: &Epoll, interest: &mut u32, wanted: u32) -> io::Result<()> {
        if *interest == wanted {
            return Ok(());
        }
        for (listener, token) in self.listeners.iter().zip(0..) {
            epoll.watch(listener.socket.as_fd(), token, *interest, wanted)?;
        }
        if wanted == 0 {
            let message = format!(
                "{} connections are open, and each takes two files: others wait; raise the limit by ulimit -n",
                self.max_links
            );
            (self.shared.notify)(Severity::Warning, "full", &message);
        }
        *interest = wanted;
        Ok(())
    }

    fn is_told_to_end(&self) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::End => return true,
                Order::Reload => {
                    if let Some(Err(error)) = self.shared.tls.as_ref().map(Tls::reload) {
                        let message = format!("the certificates stay as they were: {error}");
                        (self.shared.notify)(Severity::Error, "not_reloaded", &message);
                    }
                }
            }
        }
        false
    }

    /// Accepts connections that wait at an address; those at other addresses have their turn after some of them.
    fn accept(&self, listener: &Listener) {
        for _ in 0..MAX_ACCEPTED {
            if self.shared.n_open.load(Ordering::Relaxed) >= self.max_links {
                return;
            }
            match listener.accept() {
                Ok(socket) => {
                    let is_encrypted = matches!(listener.address, Address::Tls(_));
                    let tls = self.shared.tls.as_ref().filter(|_| is_encrypted).map(Tls::config);
                    if let Ok(stream) = Stream::new(socket, tls) {
                        self.assign(stream);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }

    fn assign(&self, stream: Stream) {
        let of = |mailbox: &&Arc<Mailbox<Accepted>>| mailbox.n_connections.load(Ordering::Relaxed);
        let Some(mailbox) = self.mailboxes.iter().min_by_key(of) else { return };
        self.shared.n_open.fetch_add(1, Ordering::Relaxed);
        mailbox.n_connections.fetch_add(1, Ordering::Relaxed);
        let number = self.shared.n_connections.fetch_add(1, Ordering::Relaxed);
        let connection = u32::try_from(number).unwrap_or(u32::MAX);
        mailbox.send(Accepted { stream, connection });
    }

    /// Ends all threads.
    fn finish(&mut self) -> io::Result<Totals> {
        // Nobody connects any more; the path of a socket vanishes.
        self.listeners.clear();
        self.mailboxes.iter().for_each(|mailbox| mailbox.close());
        let mut done = Ok(());
        for event_loop in self.event_loops.drain(..) {
            let ended = event_loop.join().map_err(|_| io::Error::other("a thread has failed"));
            done = done.and(ended.and_then(|ended| ended));
        }
        done.map(|()| self.watch().totals())
    }
}

impl Drop for Proxy {
    /// Ends the threads of a start that failed.
    fn drop(&mut self) {
        if !self.event_loops.is_empty() {
            let _ = self.finish();
        }
    }
}
