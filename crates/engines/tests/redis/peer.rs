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
    /// A server that answers each command by `answer` of its words. It answers the requests of an opening store like an
    /// old Redis. An empty answer is silence.
    pub(crate) fn answering(answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::listening(move |client, requests| {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut reader = BufReader::new(client.try_clone().unwrap());
                let mut client = client;
                loop {
                    // Bytes that are already in the buffer came with the command before.
                    let is_new = reader.buffer().is_empty();
                    let Some(words) = read_command(&mut reader) else { return };
                    requests.fetch_add(usize::from(is_new), Ordering::SeqCst);
                    let bytes = match answer(&words) {
                        bytes if !bytes.is_empty() => bytes,
                        bytes => match words[0].as_str() {
                            "INFO" => bulk("redis_version:2.8.0\r\n"),
                            "CONFIG" => b"-ERR unknown command 'CONFIG'\r\n".to_vec(),
                            _ => bytes,
                        },
                    };
                    if client.write_all(&bytes).is_err() {
                        return;
                    }
                }
            });
        })
    }

    /// Passes all bytes on to a server and back; the client gets pieces of `piece` bytes.
    pub(crate) fn relaying(server: u16, piece: usize) -> Self {
        Self::listening(move |client, _| {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            client.set_nodelay(true).unwrap();
            let pass_on = |mut from: TcpStream, mut to: TcpStream, piece: usize| {
                thread::spawn(move || {
                    let mut buffer = vec![0; 1 << 16];
                    while let Ok(len @ 1..) = from.read(&mut buffer) {
                        if buffer[..len].chunks(piece).any(|piece| to.write_all(piece).is_err()) {
                            return;
                        }
                    }
                });
            };
            pass_on(server.try_clone().unwrap(), client.try_clone().unwrap(), piece);
            pass_on(client, server, usize::MAX);
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

    /// The number of requests so far, each of one command or of several at once.
    pub(crate) fn n_requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// A text in the form of a server's answer.
pub(crate) fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

/// The words of a command; `None` at the end of the connection.
fn read_command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let n_words = read_number(reader)?;
    (0..n_words)
        .map(|_| {
            let mut word = vec![0; read_number(reader)? + 2];
            reader.read_exact(&mut word).ok()?;
            Some(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned())
        })
        .collect()
}

/// The number of a line like `*3` or `$11`.
fn read_number(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().get(1..)?.parse().ok()
}
