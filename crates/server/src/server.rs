//! The server as a whole: it listens, accepts connections, and hands them to its workers.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use larder_host::epoll::{Epoll, Events, READABLE};
use larder_store::Store;
use socket2::Socket;

use crate::Error;
use crate::assistant::Assistants;
use crate::context::{Desk, Shared};
use crate::listen::{Address, Listener};
use crate::mailbox::{Mailbox, Message};
use crate::settings::Settings;
use crate::text::flush_if_due;
use crate::worker::{Hands, Worker};

/// The time between two looks at what is due.
const TICK: Duration = Duration::from_millis(500);

/// The most connections that one address gets before another has its turn.
const ACCEPTED: usize = 64;

/// The time without new connections after an accept failed: most likely no descriptors were left.
const PAUSE: Duration = Duration::from_millis(10);

/// The token of the order to end.
const END: u64 = u64::MAX;

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    mailboxes: Vec<Arc<Mailbox>>,
    workers: Vec<JoinHandle<io::Result<()>>>,
    assistants: Option<Assistants>,
    /// A byte here ends the server.
    end: (UnixStream, UnixStream),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens, and starts the threads.
    ///
    /// # Errors
    ///
    /// An address that cannot be had, or a store that gives no sessions.
    pub fn start(store: Arc<dyn Store>, mut settings: Settings) -> Result<Self, Error> {
        let listeners = settings.addresses.iter().map(|address| {
            Listener::bind(address, settings.backlog)
                .map_err(|source| Error::Listen { address: address.clone(), source })
        });
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        settings.addresses = listeners.iter().map(|listener| listener.address.clone()).collect();
        let abilities = store.capabilities();
        let n_workers = settings.threads.get();
        let n_threads = n_workers + settings.assistants.get();
        let shared = Arc::new(Shared::new(store, abilities, settings, n_threads));
        let end = UnixStream::pair()?;
        // From here on its end ends all threads.
        let mut server = Self {
            shared,
            listeners,
            mailboxes: Vec::new(),
            workers: Vec::new(),
            assistants: None,
            end,
        };
        server.start_threads()?;
        Ok(server)
    }

    fn start_threads(&mut self) -> Result<(), Error> {
        let shared = &self.shared;
        let n_workers = shared.settings.threads.get();
        if shared.may_wait() {
            self.assistants = Some(Assistants::start(shared, n_workers)?);
        }
        for place in 0..n_workers {
            let hands = match &self.assistants {
                Some(assistants) => Hands::Assistants(assistants.jobs()),
                None => Hands::Own(Box::new(Desk::new(shared, place)?)),
            };
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
        &self.shared.settings.addresses
    }

    /// A socket of which any byte that is written to it ends the server, as a signal handler may write one.
    pub fn stopper(&self) -> io::Result<Stopper> {
        Ok(Stopper(self.end.0.try_clone()?))
    }

    /// Serves until it is stopped. Requests that it has read are answered, and clients get their last answers.
    ///
    /// # Errors
    ///
    /// What the system or the store refuses.
    pub fn run(mut self) -> Result<(), Error> {
        let epoll = Epoll::new()?;
        epoll.watch(self.end.1.as_fd(), END, 0, READABLE)?;
        for (i, listener) in self.listeners.iter().enumerate() {
            epoll.watch(listener.socket.as_fd(), i as u64, 0, READABLE)?;
        }
        let mut events = Events::default();
        'serve: loop {
            epoll.wait(&mut events, Some(TICK))?;
            for event in events.iter() {
                match usize::try_from(event.token).ok().and_then(|i| self.listeners.get(i)) {
                    Some(listener) => self.accept(listener),
                    None => break 'serve,
                }
            }
            flush_if_due(&self.shared);
            // The connections of a worker that has failed would wait for ever.
            if self.workers.iter().any(JoinHandle::is_finished) {
                break;
            }
        }
        self.finish()
    }

    /// Accepts connections that wait at an address; those at other addresses have their turn after some of them.
    fn accept(&self, listener: &Listener) {
        for _ in 0..ACCEPTED {
            match listener.accept() {
                Ok(socket) => self.welcome(socket),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }

    fn welcome(&self, socket: Socket) {
        let shared = &self.shared;
        if shared.n_connections.load(Ordering::Relaxed) >= shared.settings.connections {
            shared.rejected_connections.fetch_add(1, Ordering::Relaxed);
            let _ = socket.send(b"ERROR Too many open connections\r\n");
            return;
        }
        let of = |mailbox: &&Arc<Mailbox>| mailbox.n_connections.load(Ordering::Relaxed);
        let Some(mailbox) = self.mailboxes.iter().min_by_key(of) else { return };
        shared.n_connections.fetch_add(1, Ordering::Relaxed);
        shared.total_connections.fetch_add(1, Ordering::Relaxed);
        mailbox.n_connections.fetch_add(1, Ordering::Relaxed);
        mailbox.send(Message::Welcome(socket));
    }

    /// Ends all threads, and closes the store.
    fn finish(&mut self) -> Result<(), Error> {
        // Nobody is accepted any more who would not be answered.
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

/// Ends a server.
#[derive(Debug)]
pub struct Stopper(UnixStream);

impl Stopper {
    /// Ends the server.
    ///
    /// # Errors
    ///
    /// The server has ended already.
    pub fn stop(&self) -> io::Result<()> {
        use std::io::Write as _;
        (&self.0).write_all(&[1])
    }
}

impl From<Stopper> for UnixStream {
    fn from(stopper: Stopper) -> Self {
        stopper.0
    }
}
