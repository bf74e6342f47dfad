//! A peer on a port of 127.0.0.1 whose answers a test decides.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Listens until the test process ends.
#[derive(Debug)]
pub struct Peer {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Peer {
    /// Passes each new connection to `serve`, with the counter of requests.
    pub fn listening(serve: impl Fn(TcpStream, Arc<AtomicUsize>) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it has a port").port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|client| serve(client, Arc::clone(&counter)));
        });
        Self { port, requests }
    }

    /// Passes all bytes on to a server and back. Each arrival from the client counts as one request; the client gets
    /// pieces of `piece` bytes.
    pub fn relaying(server: u16, piece: usize) -> Self {
        Self::listening(move |client, requests| {
            let server = TcpStream::connect(("127.0.0.1", server)).expect("the server listens");
            for stream in [&client, &server] {
                stream.set_nodelay(true).expect("a TCP socket");
            }
            let ends = [&server, &client].map(|end| end.try_clone().expect("a further descriptor"));
            let [from_server, to_client] = ends;
            pass_on(from_server, to_client, piece, || {});
            pass_on(client, server, usize::MAX, move || {
                requests.fetch_add(1, Ordering::SeqCst);
            });
        })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of requests so far.
    pub fn n_requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Passes bytes on in pieces of `piece` bytes, and calls `seen` for each arrival.
fn pass_on(mut from: TcpStream, mut to: TcpStream, piece: usize, seen: impl Fn() + Send + 'static) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            seen();
            if buffer[..len].chunks(piece).any(|piece| to.write_all(piece).is_err()) {
                return;
            }
        }
    });
}
