//! The server as a whole: it listens, accepts connections, and hands them to its workers.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_host::epoll::{Epoll, Event, Events, READABLE};
use larder_host::listen::{Address, Listener, Listeners};
use larder_host::stream::Stream;
use larder_host::tls::Tls;
use larder_host::waker::{self, Waker, Woken};
use larder_store::Store;
use socket2::Socket;

use crate::Error;
use crate::assistant::Assistants;
use crate::context::Shared;
use crate::metrics::Metrics;
use crate::own::Own;
use crate::queue::{Mailbox, Message};
use crate::settings::Settings;
use crate::text::flush_if_due;
use crate::worker::{Hands, Worker};

/// The time between two looks at what is due.
const TICK: Duration = Duration::from_millis(500);

/// The most connections that one address gets before another has its turn.
const ACCEPTED: usize = 64;

/// The time without new connections after an accept failed: most likely no descriptors were left.
const PAUSE: Duration = Duration::from_millis(10);

/// The token of orders.
const ORDERS: u64 = u64::MAX;

/// The token of the port for metrics.
const METRICS: u64 = u64::MAX - 1;

/// What can be asked of a server that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To end. Requests that have arrived are answered, and the paths of its sockets vanish.
    End,
    /// To end as with [`Order::End`], and to leave its sockets to another process that has them too.
    Leave,
    /// To read its certificates and its users again.
    Reload,
}

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    mailboxes: Vec<Arc<Mailbox>>,
    workers: Vec<JoinHandle<io::Result<()>>>,
    assistants: Option<Assistants>,
    metrics: Option<Metrics>,
    orders: Receiver<Order>,
    /// What wakes it for an order.
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
    /// A file that is not what it should be, or a store that gives no sessions.
    pub fn start(
        store: Arc<dyn Store>,
        listeners: Listeners,
        settings: Settings,
    ) -> Result<Self, Error> {
        let (waker, woken) = waker::pair()?;
        let (sender, orders) = channel();
        let remote = Remote { orders: sender, waker: Arc::new(waker) };
        let shared = Shared::new(store, listeners.addresses(), settings, remote)?;
        let shared = Arc::new(shared);
        // From here on its end ends all threads.
        let mut server = Self {
            shared,
            listeners: listeners.sockets,
            mailboxes: Vec::new(),
            workers: Vec::new(),
            assistants: None,
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
        let n_workers = shared.settings.threads.get();
        if shared.own() != Own::All {
            self.assistants = Some(Assistants::start(shared, n_workers)?);
        }
        for place in 0..n_workers {
            let queue = self.assistants.as_ref().map(Assistants::queue);
            let hands = Hands::new(shared, queue, place)?;
            let (mailbox, woken) = Mailbox::new()?;
            self.mailboxes.push(Arc::clone(&mailbox));
            let worker = Worker::new(shared, hands, (mailbox, woken), place)?;
            let name = format!("worker {place}");
            self.workers.push(thread::Builder::new().name(name).spawn(move || worker.run())?);
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

    /// A hand that gives orders, which threads and signal handlers may have.
    pub fn remote(&self) -> Remote {
        self.shared.remote.clone()
    }

    /// Serves until it is told to end. Requests that it has read are answered, and clients get their last answers.
    ///
    /// # Errors
    ///
    /// What the system or the store refuses.
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
            // The connections of a worker that has failed would wait for ever.
            let have_failed = self.assistants.as_ref().is_some_and(Assistants::have_failed);
            if have_failed || self.workers.iter().any(JoinHandle::is_finished) {
                break;
            }
        }
        self.finish()
    }

    /// Accepts connections that wait at an address; those at other addresses have their turn after some of them.
    fn accept(&self, listener: &Listener) {
        for _ in 0..ACCEPTED {
            match listener.accept() {
                Ok(socket) => {
                    let is_encrypted = matches!(listener.address, Address::Tls(_));
                    self.welcome(socket, is_encrypted);
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

    fn welcome(&self, socket: Socket, is_encrypted: bool) {
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
        mailbox.send(Message::Welcome(stream));
    }

    /// Ends all threads, and closes the store.
    fn finish(&mut self) -> Result<(), Error> {
        // A connection that is accepted now would get no answer.
        self.listeners.clear();
        self.mailboxes.drain(..).for_each(|mailbox| mailbox.close());
        let mut done = Ok(());
        for worker in self.workers.drain(..) {
            let ended = worker.join().map_err(|_| io::Error::other("a worker has failed"));
            done = done.and(ended.and_then(|ended| ended));
        }
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(assistants) = self.assistants.take() {
            done = done.and(assistants.finish());
        }
        let closed = self.shared.store.close();
        done?;
        Ok(closed?)
    }
}

impl Drop for Server {
    /// Ends what a start that failed has begun.
    fn drop(&mut self) {
        if !self.workers.is_empty() || self.assistants.is_some() {
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

/// Gives orders to a server.
#[derive(Debug, Clone)]
pub struct Remote {
    orders: Sender<Order>,
    waker: Arc<Waker>,
}

impl Remote {
    /// Gives an order. A server that has ended already does nothing.
    pub fn give(&self, order: Order) {
        let _ = self.orders.send(order);
        self.waker.wake();
    }
}
