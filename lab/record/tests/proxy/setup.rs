//! A proxy in a thread of the test, what it has told, and the rows that it has given.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use larder_host::listen::{Address, Listeners};
use larder_host::tls::Tls;
use larder_record::{
    Batch, Keys, Notify, Proxy, Remote, RowSink, Settings, Severity, Totals, Upstream, Watch,
    Writer,
};
use larder_store::StoreUrl;
use larder_testkit::{PATIENCE, within};
use larder_workload::trace::{Key, Outcome, Verb};

/// A row, as far as tests look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) connection: u32,
    pub(crate) request: u64,
    pub(crate) operation: Verb,
    pub(crate) key: String,
    pub(crate) hash: u64,
    pub(crate) result: Option<Outcome>,
}

/// A sink that keeps all rows.
#[derive(Debug, Default, Clone)]
pub(crate) struct Kept(Arc<Mutex<(Vec<Noted>, u64)>>);

impl Kept {
    pub(crate) fn rows(&self) -> Vec<Noted> {
        self.0.lock().unwrap().0.clone()
    }

    /// The dropped rows that it has heard of.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.lock().unwrap().1
    }
}

impl RowSink for Kept {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let rows = batch.rows().map(|row| {
            let key = match row.key {
                Key::Bytes(key) => String::from_utf8_lossy(key).into_owned(),
                Key::Hash(_) => String::new(),
            };
            Noted {
                connection: row.connection,
                request: row.request,
                operation: row.operation,
                key,
                hash: row.key.hash(),
                result: row.result,
            }
        });
        self.0.lock().unwrap().0.extend(rows);
        Ok(())
    }

    fn drop_rows(&mut self, n_rows: u64) {
        self.0.lock().unwrap().1 += n_rows;
    }

    fn tick(&mut self) {}

    fn finish(&mut self) {}
}

/// Nobody hears what is told.
pub(crate) fn silent() -> Notify {
    Arc::new(|_, _, _| {})
}

/// A proxy that runs. Dropping it ends the proxy.
pub(crate) struct Running {
    pub(crate) address: Address,
    remote: Remote,
    pub(crate) watch: Watch,
    thread: Option<JoinHandle<io::Result<Totals>>>,
    writer: Option<Writer>,
    told: Arc<Mutex<Vec<String>>>,
}

/// What a proxy is started with.
pub(crate) struct Start {
    pub(crate) listen: Address,
    pub(crate) tls: Option<Tls>,
    pub(crate) keys: Keys,
    pub(crate) threads: usize,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            listen: Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            tls: None,
            keys: Keys::new(&[7; 16]).in_clear(true),
            threads: 1,
        }
    }
}

impl Running {
    /// Starts before the server of a URL, and gives the rows to a sink.
    pub(crate) fn start(upstream: &str, start: Start, sink: impl RowSink + 'static) -> Self {
        let upstream = Upstream::of_url(&StoreUrl::parse(upstream).unwrap()).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&told);
        let tell: Notify = Arc::new(move |_: Severity, _: &str, message: &str| {
            hears.lock().unwrap().push(message.to_owned());
        });
        let (writer, hand) = Writer::start(Box::new(sink)).unwrap();
        let listeners = Listeners::bind(&[start.listen], 1024, Vec::new()).unwrap();
        let settings = Settings {
            upstream,
            tls: start.tls,
            keys: start.keys,
            threads: NonZero::new(start.threads).unwrap(),
            grace: PATIENCE,
        };
        let proxy = Proxy::start(listeners, settings, hand, tell).unwrap();
        let address = proxy.addresses()[0].clone();
        let (remote, watch) = (proxy.remote(), proxy.watch());
        let thread = Some(std::thread::spawn(move || proxy.run()));
        Self { address, remote, watch, thread, writer: Some(writer), told }
    }

    /// With the usual settings.
    pub(crate) fn before(upstream: &str) -> (Self, Kept) {
        let kept = Kept::default();
        (Self::start(upstream, Start::default(), kept.clone()), kept)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.socket_address().unwrap().port()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.port())
    }

    /// Tells it to end.
    pub(crate) fn tell_to_end(&self) {
        self.remote.end();
    }

    /// Ends it in order; what it has seen, and the rows that were dropped.
    pub(crate) fn end(mut self) -> (Totals, u64) {
        self.remote.end();
        let seen = self.thread.take().unwrap().join().unwrap().unwrap();
        (seen, self.writer.take().unwrap().finish())
    }

    /// What it has told.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Waits for a notice with these words.
    pub(crate) fn hears(&self, words: &str) {
        let is_told = || self.told.lock().unwrap().iter().any(|line| line.contains(words));
        assert!(within(PATIENCE, is_told), "{words}: {:?}", self.told.lock().unwrap());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.remote.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection to a port of this host that waits long, but not for ever.
pub(crate) fn connect(port: u16) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    socket
}

/// The answers to some requests, up to the end of the connection. The last request ends it.
pub(crate) fn ask(socket: TcpStream, requests: &[u8]) -> Vec<u8> {
    ask_in_pieces(socket, [requests])
}

/// As [`ask`], with requests that come in pieces. Answers are read meanwhile.
pub(crate) fn ask_in_pieces<'a>(
    mut socket: TcpStream,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let mut reads = socket.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut answers = Vec::new();
        reads.read_to_end(&mut answers).map(|_| answers)
    });
    for piece in pieces {
        socket.write_all(piece).unwrap();
    }
    reader.join().unwrap().unwrap()
}
