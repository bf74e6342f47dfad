//! What all threads of a proxy share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use larder_host::tls::Tls;

use crate::clock::Clock;
use crate::follow::StopReason;
use crate::notice::{Notify, Severity};
use crate::recorder::Counts;
use crate::upstream::Upstream;
use crate::write::RowSender;

/// The time between two notices of the same kind.
const PAUSE: Duration = Duration::from_secs(10);

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) upstream: Upstream,
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: Clock,
    pub(crate) row_sender: RowSender,
    pub(crate) notify: Notify,
    pub(crate) n_open: AtomicUsize,
    pub(crate) n_connections: AtomicU64,
    pub(crate) n_lost: AtomicU64,
    pub(crate) n_other_use: AtomicU64,
    pub(crate) n_refused: AtomicU64,
    /// The counters of each thread, as of its last hand-over.
    pub(crate) counts: Vec<Mutex<Counts>>,
    reach: Mutex<Reach>,
    lost_reported: Mutex<Option<Instant>>,
}

/// Whether the server answers.
#[derive(Debug, Default)]
struct Reach {
    /// Connections that it has refused since it last answered, and the time of the last notice.
    refused: Option<(u64, Instant)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        upstream: Upstream,
        tls: Option<Tls>,
        row_sender: RowSender,
        notify: Notify,
        n_threads: usize,
    ) -> Self {
        Self {
            upstream,
            tls,
            clock: Clock::start(),
            row_sender,
            notify,
            n_open: AtomicUsize::new(0),
            n_connections: AtomicU64::new(0),
            n_lost: AtomicU64::new(0),
            n_other_use: AtomicU64::new(0),
            n_refused: AtomicU64::new(0),
            counts: (0..n_threads).map(|_| Mutex::default()).collect(),
            reach: Mutex::default(),
            lost_reported: Mutex::default(),
        }
    }

    /// A connection to the server was refused.
    pub(crate) fn refused(&self, error: &std::io::Error) {
        self.n_refused.fetch_add(1, Ordering::Relaxed);
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_recent = if let Some((n, reported)) = &mut reach.refused {
            *n += 1;
            let is_recent = now.duration_since(*reported) < PAUSE;
            if !is_recent {
                *reported = now;
            }
            is_recent
        } else {
            reach.refused = Some((1, now));
            false
        };
        if !is_recent {
            let message = format!(
                "the server at {} cannot be reached: {error}; connections of the application are closed",
                self.upstream
            );
            (self.notify)(Severity::Error, "unreachable", &message);
        }
    }

    /// A connection to the server was made.
    pub(crate) fn reached(&self) {
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((n, _)) = reach.refused.take() {
            let message = format!(
                "the server at {} answers again; {} {} closed",
                self.upstream,
                larder_store::count(n, "connection"),
                larder_store::agreeing(n, "was", "were")
            );
            (self.notify)(Severity::Info, "reached", &message);
        }
    }

    /// A connection is not followed any more.
    pub(crate) fn lost(&self, lost: StopReason) {
        if !lost.is_trouble() {
            self.n_other_use.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.n_lost.fetch_add(1, Ordering::Relaxed);
        let mut reported = self.lost_reported.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if reported.is_none_or(|at| now.duration_since(at) >= PAUSE) {
            *reported = Some(now);
            let message =
                format!("a connection passes through without being recorded any more: {lost}");
            (self.notify)(Severity::Warning, "not_followed", &message);
        }
    }

    /// The counters of all threads.
    pub(crate) fn counts(&self) -> Counts {
        let counts = self.counts.iter();
        let counts = counts.map(|of| *of.lock().unwrap_or_else(PoisonError::into_inner));
        counts.fold(Counts::default(), Counts::plus)
    }
}
