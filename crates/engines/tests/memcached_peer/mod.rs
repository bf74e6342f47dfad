//! A peer on a port of 127.0.0.1 whose answers a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Listens until the test process ends.
pub(crate) struct Peer {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Peer {
    /// A server that answers each line by `answer`. It answers the requests of an opening store like an old memcached.
    /// An empty answer is silence.
    pub(crate) fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::listening(move |client, requests| {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut lines = BufReader::new(client.try_clone().unwrap());
                let mut client = client;
                let mut line = String::new();
                while lines.read_line(&mut line).is_ok_and(|len| len > 0) {
                    requests.fetch_add(1, Ordering::SeqCst);
                    let bytes = match line.trim_end() {
                        "version" => b"VERSION 1.4.39\r\n".to_vec(),
                        "stats" | "stats settings" => b"END\r\n".to_vec(),
                        "mn" => b"ERROR\r\n".to_vec(),
                        line => answer(line),
                    };
                    if client.write_all(&bytes).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        })
    }

    /// Passes all bytes on to a server and back. Each arrival from the client counts as one request; the client gets
    /// pieces of `piece` bytes.
    pub(crate) fn relaying(server: u16, piece: usize) -> Self {
        Self::listening(move |client, requests| {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            server.set_nodelay(true).unwrap();
            client.set_nodelay(true).unwrap();
            let (mut from_server, mut to_client) =
                (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(len @ 1..) = from_server.read(&mut buffer) {
                    for piece in buffer[..len].chunks(piece) {
                        if to_client.write_all(piece).is_err() {
                            return;
                        }
                    }
                }
            });
            thread::spawn(move || {
                let (mut client, mut server) = (client, server);
                let mut buffer = vec![0; 1 << 16];
                while let Ok(len @ 1..) = client.read(&mut buffer) {
                    requests.fetch_add(1, Ordering::SeqCst);
                    if server.write_all(&buffer[..len]).is_err() {
                        return;
                    }
                }
            });
        })
    }

    fn listening(serve: impl Fn(TcpStream, Arc<AtomicUsize>) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            listener.incoming().flatten().for_each(|client| serve(client, Arc::clone(&counter)));
        });
        Self { port, requests }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The number of requests so far.
    pub(crate) fn n_requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}
