//! A steady load on a memcached, whose own count a test compares with the figures of the view.

use larder_testkit::Memcached;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// One round of requests: ten reads of which eight find an entry, two writes, and two other commands.
const ROUND: &[u8] = b"set k 0 0 1\r\nx\r\nset k 0 0 1\r\ny\r\n\
    get k\r\nget k\r\nget k\r\nget k\r\nget k\r\nget k\r\nget k\r\nget k\r\nget none\r\nget none\r\n\
    touch k 0\r\ndelete none\r\n";

/// The bytes of the answers: two `STORED`, eight values, two misses, `TOUCHED`, `NOT_FOUND`.
const ANSWER_LEN: usize = 2 * 8 + 8 * (13 + 3 + 5) + 2 * 5 + 9 + 11;

/// The pause after a round.
const PAUSE: Duration = Duration::from_millis(4);

/// Load until it is ended.
#[derive(Debug)]
pub(crate) struct Load {
    must_end: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Load {
    pub(crate) fn on(server: &Memcached) -> Self {
        let must_end = Arc::new(AtomicBool::new(false));
        let (mut client, ends) = (server.connect(), Arc::clone(&must_end));
        let thread = spawn(move || {
            let (began, mut n_rounds) = (Instant::now(), 0.0);
            while !ends.load(Ordering::Relaxed) {
                client.write_all(ROUND).unwrap();
                client.read_exact(&mut [0; ANSWER_LEN]).unwrap();
                n_rounds += 1.0;
                sleep(PAUSE);
            }
            n_rounds / began.elapsed().as_secs_f64()
        });
        Self { must_end, thread }
    }

    /// Ends, and returns the rounds in a second.
    pub(crate) fn end(self) -> f64 {
        self.must_end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
