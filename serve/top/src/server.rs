//! One watched server: its figures, their history, and whether it answers.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::sample::{Change, Figures, Sample, growths};

/// The samples that a server's history keeps: ten minutes at the usual interval.
const HISTORY: usize = 600;

/// A counter stays in the list of changes for this many samples after its last change, so that the list does not jump.
const KEPT_SAMPLES: u64 = 60;

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
    /// The time of the last report, whether of a sample or of a failure.
    pub(crate) reported_at: Instant,
    sample: Option<Sample>,
    n_samples: u64,
    /// The sample at which each counter changed last.
    changed_at: HashMap<String, u64>,
}

impl Server {
    /// A server without a report yet.
    pub(crate) fn new(address: String, now: Instant) -> Self {
        Self {
            address,
            state: State::Waiting,
            version: String::new(),
            figures: Figures::default(),
            history: VecDeque::new(),
            changes: Vec::new(),
            reported_at: now,
            sample: None,
            n_samples: 0,
            changed_at: HashMap::new(),
        }
    }

    /// Takes the outcome of an attempt to sample it.
    pub(crate) fn apply(&mut self, at: Instant, outcome: Result<Sample, String>) {
        self.reported_at = at;
        match outcome {
            Ok(sample) => self.measure(sample),
            Err(reason) => self.mark_down(at, reason),
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
            self.changed_at.insert(change.name.clone(), self.n_samples);
        }
        let lately = self.n_samples.saturating_sub(KEPT_SAMPLES);
        self.changed_at.retain(|_, changed_at| *changed_at > lately);
        self.changes = growths
            .into_iter()
            .filter(|change| self.changed_at.contains_key(&change.name))
            .collect();
        self.version = sample.version();
        self.state = State::Up;
        self.sample = Some(sample);
    }

    /// Marks the server as down.
    pub(crate) fn mark_down(&mut self, at: Instant, reason: String) {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        for second in 0..KEPT_SAMPLES + 5 {
            let moves = if second == 0 { "1" } else { "2" };
            let counters = [("threads", "4"), ("total_items", moves)];
            server.apply(begin, Ok(sample(begin, second, &counters)));
            listed.push(server.changes.iter().map(|it| it.name.clone()).collect::<Vec<_>>());
        }
        let n_listed = listed.iter().filter(|it| **it == ["total_items"]).count() as u64;
        assert_eq!((n_listed, listed.last().unwrap().len()), (KEPT_SAMPLES, 0));
    }

    #[test]
    fn the_history_is_bounded() {
        let begin = Instant::now();
        let mut server = Server::new("a:1".into(), begin);
        (0..HISTORY + 9).for_each(|_| server.apply(begin, Err("gone".into())));
        assert_eq!(server.history.len(), HISTORY);
    }
}
