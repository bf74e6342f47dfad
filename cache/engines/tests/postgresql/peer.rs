//! A relay that counts how often the client sends a request after an answer of the server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Passes all bytes on to a server and back, until the test process ends.
pub(crate) struct Relay {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Relay {
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                for stream in [&client, &server] {
                    stream.set_nodelay(true).unwrap();
                }
                let answered = Arc::new(AtomicBool::new(true));
                let (n_requests, was_answered) = (Arc::clone(&counter), Arc::clone(&answered));
                let ends = [&client, &server].map(|end| end.try_clone().unwrap());
                let [back, forth] = ends;
                // Several pieces are one request until an answer comes.
                pass_on(client, forth, move || {
                    if was_answered.swap(false, Ordering::SeqCst) {
                        n_requests.fetch_add(1, Ordering::SeqCst);
                    }
                });
                pass_on(server, back, move || answered.store(true, Ordering::SeqCst));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The number of requests so far, on all connections.
    pub(crate) fn n_requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, seen: impl Fn() + Send + 'static) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            seen();
            if to.write_all(&buffer[..len]).is_err() {
                return;
            }
        }
        // The other end may not have noticed the closed connection yet.
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}
