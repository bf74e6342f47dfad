//! The state of the view: what is known of each server, and what the user has chosen.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::order::Order;
use crate::sample::{Change, Figures, Sample, growths};

/// The samples that a server's history keeps: ten minutes at the usual interval.
const HISTORY: usize = 600;

/// A counter stays in the list of changes for so many samples after its last change, so that the list does not jump.
const LINGER: u64 = 60;

/// Whether a server answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// No attempt has ended yet.
    Waiting,
    /// The last attempt brought a sample.
    Up,
    /// The last attempt failed.
    Down { reason: String, since: Instant },
}

/// The figures of the past that are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) at: Instant,
    pub(crate) requests: Option<f64>,
    pub(crate) hit_rate: Option<f64>,
}

/// One server, by its reports.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) state: State,
    /// The server's version, also while it is down.
    pub(crate) version: String,
    /// Figures of the last interval; empty while the server is down.
    pub(crate) figures: Figures,
    /// The newest is last.
    pub(crate) history: VecDeque<Point>,
    /// The counters that changed lately, in the server's order, with their growth in the last interval.
    pub(crate) changes: Vec<Change>,
    /// The end of the last attempt.
    pub(crate) heard: Instant,
    sample: Option<Sample>,
    n_samples: u64,
    /// The sample at which each counter changed last.
    moved: HashMap<String, u64>,
}

impl Server {
    /// A server that has not been asked yet.
    pub(crate) fn new(address: String, now: Instant) -> Self {
        Self {
            address,
            state: State::Waiting,
            version: String::new(),
            figures: Figures::default(),
            history: VecDeque::new(),
            changes: Vec::new(),
            heard: now,
            sample: None,
            n_samples: 0,
            moved: HashMap::new(),
        }
    }

    /// Takes the outcome of an attempt.
    pub(crate) fn apply(&mut self, at: Instant, outcome: Result<Sample, String>) {
        self.heard = at;
        match outcome {
            Ok(sample) => self.measure(sample),
            Err(reason) => self.fall(at, reason),
        }
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        let (requests, hit_rate) = (self.figures.requests(), self.figures.hit_rate());
        self.history.push_back(Point { at, requests, hit_rate });
    }

    /// Whether the server is down.
    pub(crate) fn is_down(&self) -> bool {
        matches!(self.state, State::Down { .. })
    }

    fn measure(&mut self, sample: Sample) {
        self.n_samples += 1;
        let earlier = self.sample.take();
        self.figures = Figures::of(earlier.as_ref(), &sample);
        let growths = earlier.map_or_else(Vec::new, |earlier| growths(&earlier, &sample));
        for change in growths.iter().filter(|change| change.rate != 0.0) {
            self.moved.insert(change.name.clone(), self.n_samples);
        }
        let lately = self.n_samples.saturating_sub(LINGER);
        self.moved.retain(|_, moved| *moved > lately);
        self.changes =
            growths.into_iter().filter(|change| self.moved.contains_key(&change.name)).collect();
        self.version = sample.version();
        self.state = State::Up;
        self.sample = Some(sample);
    }

    fn fall(&mut self, at: Instant, reason: String) {
        let since = match self.state {
            State::Down { since, .. } => since,
            State::Waiting | State::Up => at,
        };
        self.state = State::Down { reason, since };
        self.figures = Figures::default();
        self.changes.clear();
        self.sample = None;
    }
}

/// Everything that is drawn.
#[derive(Debug)]
pub(crate) struct View {
    /// The servers as they are now.
    pub(crate) live: Vec<Server>,
    /// The servers as they were when the user paused the view.
    pub(crate) paused: Option<Vec<Server>>,
    pub(crate) interval: Duration,
    pub(crate) order: Order,
    /// The number of the selected server, in the order of the addresses.
    pub(crate) selected: usize,
    pub(crate) shows_help: bool,
}

impl View {
    /// A view of servers that have not been asked yet.
    pub(crate) fn new(addresses: Vec<String>, interval: Duration, now: Instant) -> Self {
        Self {
            live: addresses.into_iter().map(|address| Server::new(address, now)).collect(),
            paused: None,
            interval,
            order: Order::Given,
            selected: 0,
            shows_help: false,
        }
    }

    /// The servers that are drawn.
    pub(crate) fn servers(&self) -> &[Server] {
        self.paused.as_ref().unwrap_or(&self.live)
    }

    /// Moves the selection by so many rows of the sorted table.
    pub(crate) fn step(&mut self, rows: isize) {
        let sorted = self.order.sorted(self.servers());
        let at = sorted.iter().position(|server| *server == self.selected).unwrap_or(0);
        let at = at.saturating_add_signed(rows).min(sorted.len().saturating_sub(1));
        self.selected = sorted.get(at).copied().unwrap_or(0);
    }

    /// Marks each server as down whose attempt neither ends nor fails: the look-up of its name may take minutes.
    /// Returns whether a server was marked.
    pub(crate) fn mark_overdue(&mut self, now: Instant, patience: Duration) -> bool {
        let mut is_marked = false;
        for server in self.live.iter_mut().filter(|server| !server.is_down()) {
            let silence = now.saturating_duration_since(server.heard);
            if silence > patience {
                let seconds = silence.as_secs();
                server.fall(now, format!("no connection for {seconds}s"));
                is_marked = true;
            }
        }
        is_marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::sample;

    #[test]
    fn a_server_has_rates_from_its_second_sample_and_again_after_an_outage() {
        let begin = Instant::now();
        let at = |second| begin + Duration::from_secs(second);
        let mut server = Server::new("a:1".into(), begin);
        let mut requests = Vec::new();
        for (second, count) in [(0, "10"), (1, "30"), (2, "-"), (3, "50"), (4, "60")] {
            let outcome = match count {
                "-" => Err("gone".to_owned()),
                count => Ok(sample(begin, second, &[("cmd_get", count), ("version", "1.6.18")])),
            };
            server.apply(at(second), outcome);
            requests.push(server.figures.requests());
            assert_eq!((server.is_down(), server.version.as_str()), (count == "-", "1.6.18"));
        }
        assert_eq!(requests, [None, Some(20.0), None, None, Some(10.0)]);
        let drawn: Vec<_> = server.history.iter().map(|point| point.requests).collect();
        assert_eq!(drawn, requests);
    }

    #[test]
    fn an_outage_begins_at_its_first_failure() {
        let begin = Instant::now();
        let mut server = Server::new("a:1".into(), begin);
        for second in 1..4 {
            server.apply(begin + Duration::from_secs(second), Err(format!("reason {second}")));
        }
        let since = begin + Duration::from_secs(1);
        assert_eq!(server.state, State::Down { reason: "reason 3".into(), since });
    }

    #[test]
    fn a_counter_stays_among_the_changes_for_a_while() {
        let begin = Instant::now();
        let mut server = Server::new("a:1".into(), begin);
        let mut listed = Vec::new();
        for second in 0..LINGER + 5 {
            let moves = if second == 0 { "1" } else { "2" };
            let counters = [("threads", "4"), ("total_items", moves)];
            server.apply(begin, Ok(sample(begin, second, &counters)));
            listed.push(server.changes.iter().map(|it| it.name.clone()).collect::<Vec<_>>());
        }
        let n_listed = listed.iter().filter(|it| **it == ["total_items"]).count() as u64;
        assert_eq!((n_listed, listed.last().unwrap().len()), (LINGER, 0));
    }

    #[test]
    fn the_history_is_bounded() {
        let begin = Instant::now();
        let mut server = Server::new("a:1".into(), begin);
        (0..HISTORY + 9).for_each(|_| server.apply(begin, Err("gone".into())));
        assert_eq!(server.history.len(), HISTORY);
    }

    #[test]
    fn a_server_without_any_report_is_overdue() {
        let begin = Instant::now();
        let mut view = View::new(vec!["a:1".into()], Duration::from_secs(1), begin);
        let patience = Duration::from_secs(5);
        assert!(!view.mark_overdue(begin + Duration::from_secs(5), patience));
        assert!(view.mark_overdue(begin + Duration::from_secs(6), patience));
        assert!(view.live[0].is_down());
        assert!(!view.mark_overdue(begin + Duration::from_secs(7), patience));
    }
}
