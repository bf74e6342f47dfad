//! The server as a whole: it listens, accepts connections, and hands them to its event loops.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_host::epoll::{Epoll, Event, Events, READABLE};
use larder_host::listen::{Address, Listener, Listeners};
use larder_host::stream::Stream;
use larder_host::tls::Tls;
use larder_host::waker::{self, Woken};
use larder_store::Store;
use socket2::Socket;

use crate::context::Shared;
use crate::error::Error;
use crate::event_loop::{Dispatcher, EventLoop};
use crate::metrics::Metrics;
use crate::queue::{Mailbox, Message};
use crate::remote::{Order, Remote};
use crate::request_class::RequestClass;
use crate::settings::Settings;
use crate::storage_threads::StorageThreads;
use crate::text::flush_if_due;

/// The time between two checks for a delayed `flush_all`, and for threads that have failed.
const TICK: Duration = Duration::from_millis(500);

/// The most connections that are accepted at one address before the others have their turn.
const MAX_ACCEPTED: usize = 64;

/// The time without new connections after an accept failed: most likely no descriptors were left.
const PAUSE: Duration = Duration::from_millis(10);

/// The token of orders.
const ORDERS: u64 = u64::MAX;

/// The token of the port for metrics.
const METRICS: u64 = u64::MAX - 1;

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    mailboxes: Vec<Arc<Mailbox>>,
    event_loops: Vec<JoinHandle<io::Result<()>>>,
    storage_threads: Option<StorageThreads>,
    metrics: Option<Metrics>,
    orders: Receiver<Order>,
    /// Its wake-up for an order.
    bell: Woken,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Server {
    /// Reads the files of the settings, and starts the threads. A socket for metrics that another process hands over takes
    /// the place of a new one.
    ///
    /// # Errors
    ///
    /// A file of users or certificates is wrong, or the store gives no sessions.
    pub fn start(
        store: Arc<dyn Store>,
        listeners: Listeners,
        settings: Settings,
    ) -> Result<Self, Error> {
        let (waker, woken) = waker::pair()?;
        let (remote, orders) = Remote::new(waker);
        let shared = Shared::new(store, listeners.addresses(), settings, remote)?;
        let shared = Arc::new(shared);
        // From here on its end ends all threads.
        let mut server = Self {
            shared,
            listeners: listeners.sockets,
            mailboxes: Vec::new(),
            event_loops: Vec::new(),
            storage_threads: None,
            metrics: None,
            orders,
            bell: woken,
        };
        server.metrics = match (server.shared.settings.metrics, listeners.metrics) {
            (Some(_), Some(socket)) => Some(Metrics::at(TcpListener::from(socket))?),
            (address, _) => address.map(metrics_at).transpose()?,
        };
        server.start_threads()?;
        Ok(server)
    }

    fn start_threads(&mut self) -> Result<(), Error> {
        let shared = &self.shared;
        let n_event_loops = shared.settings.threads.get();
        if shared.event_loop_class() != RequestClass::All {
            self.storage_threads = Some(StorageThreads::start(shared, n_event_loops)?);
        }
        for place in 0..n_event_loops {
            let queue = self.storage_threads.as_ref().map(StorageThreads::queue);
            let dispatcher = Dispatcher::new(shared, queue, place)?;
            let (mailbox, woken) = Mailbox::new()?;
            self.mailboxes.push(Arc::clone(&mailbox));
            let event_loop = EventLoop::new(shared, dispatcher, mailbox, woken, place)?;
            let name = format!("event loop {place}");
            self.event_loops
                .push(thread::Builder::new().name(name).spawn(move || event_loop.run())?);
        }
        Ok(())
    }

    /// The addresses at which it listens, with the ports that the system chose.
    pub fn addresses(&self) -> &[Address] {
        &self.shared.addresses
    }

    /// The address at which metrics are read, with the port that the system chose.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|metrics| metrics.address().ok())
    }

    /// The sockets that listen for clients, to hand them over to another process.
    ///
    /// # Errors
    ///
    /// No descriptors are left.
    pub fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        self.listeners.iter().map(|listener| listener.socket.as_fd().try_clone_to_owned()).collect()
    }

    /// The socket at which metrics are read, to hand it over to another process.
    ///
    /// # Errors
    ///
    /// No descriptors are left.
    pub fn metrics_socket(&self) -> io::Result<Option<OwnedFd>> {
        self.metrics.as_ref().map(|metrics| metrics.as_fd().try_clone_to_owned()).transpose()
    }

    /// A handle that gives orders, for other threads and signal handlers.
    pub fn remote(&self) -> Remote {
        self.shared.remote.clone()
    }

    /// Serves until the order to end. Requests that it has read are answered, and clients get their last answers.
    ///
    /// # Errors
    ///
    /// The system or the store fails.
    pub fn run(mut self) -> Result<(), Error> {
        self.listeners.iter_mut().for_each(Listener::own_path);
        let epoll = Epoll::new()?;
        epoll.watch(self.bell.as_fd(), ORDERS, 0, READABLE)?;
        for (i, listener) in self.listeners.iter().enumerate() {
            epoll.watch(listener.socket.as_fd(), i as u64, 0, READABLE)?;
        }
        if let Some(metrics) = &self.metrics {
            epoll.watch(metrics.as_fd(), METRICS, 0, READABLE)?;
        }
        let mut events = Events::default();
        'serve: loop {
            epoll.wait(&mut events, Some(TICK))?;
            for event in events.iter() {
                if let (METRICS, Some(metrics)) = (event.token, &self.metrics) {
                    metrics.answer(&self.shared);
                } else if let Some(listener) = place_of(event).and_then(|i| self.listeners.get(i)) {
                    self.accept(listener);
                }
            }
            self.bell.settle();
            while let Ok(order) = self.orders.try_recv() {
                match order {
                    Order::Reload => self.shared.reload(),
                    Order::End => break 'serve,
                    Order::Leave => {
                        self.listeners.iter_mut().for_each(Listener::leave_path);
                        break 'serve;
                    }
                }
            }
            flush_if_due(&self.shared);
            // The connections of an event loop that has failed would wait for ever.
            let have_failed =
                self.storage_threads.as_ref().is_some_and(StorageThreads::have_failed);
            if have_failed || self.event_loops.iter().any(JoinHandle::is_finished) {
                break;
            }
        }
        self.finish()
    }

    /// Accepts connections that wait at an address; those at other addresses have their turn after some of them.
    fn accept(&self, listener: &Listener) {
        for _ in 0..MAX_ACCEPTED {
            match listener.accept() {
                Ok(socket) => {
                    let is_encrypted = matches!(listener.address, Address::Tls(_));
                    self.assign(socket, is_encrypted);
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

    fn assign(&self, socket: Socket, is_encrypted: bool) {
        let shared = &self.shared;
        if shared.n_connections.load(Ordering::Relaxed) >= shared.settings.connections {
            shared.rejected_connections.fetch_add(1, Ordering::Relaxed);
            if !is_encrypted {
                let _ = socket.send(b"ERROR Too many open connections\r\n");
            }
            return;
        }
        let of = |mailbox: &&Arc<Mailbox>| mailbox.n_connections.load(Ordering::Relaxed);
        let Some(mailbox) = self.mailboxes.iter().min_by_key(of) else { return };
        let tls = shared.tls.as_ref().filter(|_| is_encrypted).map(Tls::config);
        let Ok(stream) = Stream::new(socket, tls) else { return };
        shared.n_connections.fetch_add(1, Ordering::Relaxed);
        shared.total_connections.fetch_add(1, Ordering::Relaxed);
        mailbox.n_connections.fetch_add(1, Ordering::Relaxed);
        mailbox.send(Message::Accepted(stream));
    }

    /// Ends all threads, and closes the store.
    fn finish(&mut self) -> Result<(), Error> {
        // A connection that is accepted now would get no answer.
        self.listeners.clear();
        self.mailboxes.drain(..).for_each(|mailbox| mailbox.close());
        let mut done = Ok(());
        for event_loop in self.event_loops.drain(..) {
            let ended = event_loop.join().map_err(|_| io::Error::other("an event loop has failed"));
            done = done.and(ended.and_then(|ended| ended));
        }
        self.shared.has_ended.store(true, Ordering::Relaxed);
        if let Some(storage_threads) = self.storage_threads.take() {
            done = done.and(storage_threads.finish());
        }
        let closed = self.shared.store.close();
        done?;
        Ok(closed?)
    }
}

impl Drop for Server {
    /// Ends the threads of a start that failed.
    fn drop(&mut self) {
        if !self.event_loops.is_empty() || self.storage_threads.is_some() {
            let _ = self.finish();
        }
    }
}

fn metrics_at(address: SocketAddr) -> Result<Metrics, Error> {
    Metrics::bind(address).map_err(|source| Error::Metrics { address, source })
}

fn place_of(event: Event) -> Option<usize> {
    usize::try_from(event.token).ok()
}
