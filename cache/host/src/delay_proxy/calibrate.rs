//! The time that a relay adds to a round trip, from round trips through it and past it.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The length of a request and of its answer.
const LEN: usize = 64;

/// The time of the round trips that measure the relay's cost, and the number of measurements. The least cost counts:
/// other work of the machine can only add to it, and the relay must not make up for that.
const SEARCH: Duration = Duration::from_millis(40);
const N_SEARCHES: usize = 3;

/// The time of the round trips that measure the delay that the relay then adds.
const PROOF: Duration = Duration::from_millis(210);

/// The longest delay for measuring the relay's cost: the cost does not grow with the delay, and more round trips make
/// it surer.
const LONGEST_SEARCHED: Duration = Duration::from_millis(2);

/// The least number of round trips through the relay, and the number past it. Round trips past it take next to no time,
/// and run both before and after the others.
const FEWEST: usize = 5;
const N_PAST: usize = 100;

/// A 99th percentile takes this many round trips.
const FEWEST_FOR_P99: usize = 100;

/// The median may be off by this many per cent before reports mention it.
const TOLERABLE: f64 = 5.0;

/// The time that a relay adds to a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    /// The requested time.
    pub asked: Duration,
    /// At the median.
    pub median: Duration,
    /// At the 99th percentile; with less than 100 round trips, at most.
    pub p99: Duration,
    /// The number of round trips.
    pub n_round_trips: usize,
    /// Whether the relay preempts all other work of the machine, client and servers included, which only some users may
    /// allow. On a machine with few processors the same work then takes a different time.
    pub is_realtime: bool,
}

impl Added {
    /// The excess of the median over the requested delay in percent, where the difference matters; below 0 it is
    /// shorter.
    pub fn percent_off(&self) -> Option<f64> {
        let off = (self.median.as_secs_f64() / self.asked.as_secs_f64() - 1.0) * 100.0;
        (off.is_finite() && off.abs() > TOLERABLE).then_some(off)
    }
}

impl fmt::Display for Added {
    /// `2.01 ms at the median, 2.14 ms at p99; at ordinary priority`, and in between the error of the median, if it
    /// matters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let p99 = if self.n_round_trips < FEWEST_FOR_P99 { "most" } else { "p99" };
        write!(f, "{} at the median, {} at {p99}", Shown(self.median), Shown(self.p99))?;
        if let Some(off) = self.percent_off() {
            let than = if off > 0.0 { "longer" } else { "shorter" };
            write!(f, "; {:.0} % {than} than asked for", off.abs())?;
        }
        let priority = if self.is_realtime { "real-time" } else { "ordinary" };
        write!(f, "; at {priority} priority")
    }
}

/// A time as reports show it, with three digits.
struct Shown(Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let (value, unit) = match seconds {
            seconds if seconds >= 0.999_5 => (seconds, "s"),
            seconds if seconds >= 0.999_5e-3 => (seconds * 1e3, "ms"),
            seconds => (seconds * 1e6, "µs"),
        };
        let decimals = match value {
            value if value < 9.995 => 2,
            value if value < 99.95 => 1,
            _ => 0,
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

/// Makes the relay add `delay` at the median, and returns the time that it really adds.
///
/// `through` is the address of the relay to `echo`; `hold` sends the relay its order. The caller sets `is_realtime`.
pub(super) fn calibrate(
    delay: Duration,
    echo: &TcpListener,
    through: SocketAddr,
    hold: &mut dyn FnMut(Duration, Duration) -> io::Result<()>,
) -> io::Result<Added> {
    let patience = delay * 2 + Duration::from_secs(5);
    let mut past = connect(echo.local_addr()?, echo, patience)?;
    let mut through = connect(through, echo, patience)?;
    settle(delay, &mut |delay, held, time| {
        hold(delay, held)?;
        measure(&mut through, &mut past, delay, time)
    })
}

/// As [`calibrate`], where `measure` gives the relay its order (the delay, and how long to hold a request), and measures
/// it for a time.
fn settle(
    delay: Duration,
    measure: &mut dyn FnMut(Duration, Duration, Duration) -> io::Result<Added>,
) -> io::Result<Added> {
    let searched = delay.min(LONGEST_SEARCHED);
    let mut cost = None;
    for _ in 0..N_SEARCHES {
        let held = searched.saturating_sub(cost.unwrap_or_default());
        let beyond = measure(searched, held, SEARCH)?.median.saturating_sub(held);
        cost = Some(cost.map_or(beyond, |cost: Duration| cost.min(beyond)));
    }
    measure(delay, delay.saturating_sub(cost.unwrap_or_default()), PROOF)
}

/// Makes round trips for this long, and returns by how much those through the relay are longer than the others.
fn measure(
    through: &mut TcpStream,
    past: &mut TcpStream,
    delay: Duration,
    time: Duration,
) -> io::Result<Added> {
    // The first round trip may arrive before the order does.
    round_trip(through)?;
    let mut base = round_trips(past, N_PAST)?;
    let n_within = time.as_nanos() / delay.as_nanos().max(1);
    let n_through = usize::try_from(n_within).unwrap_or(FEWEST).max(FEWEST);
    let mut times = round_trips(through, n_through)?;
    base.extend(round_trips(past, N_PAST)?);
    let base = percentile(&mut base, 50);
    let beyond = |time: Duration| time.saturating_sub(base);
    Ok(Added {
        asked: delay,
        median: beyond(percentile(&mut times, 50)),
        p99: beyond(percentile(&mut times, 99)),
        n_round_trips: times.len(),
        is_realtime: false,
    })
}

fn round_trips(stream: &mut TcpStream, n: usize) -> io::Result<Vec<Duration>> {
    (0..n).map(|_| round_trip(stream)).collect()
}

fn round_trip(stream: &mut TcpStream) -> io::Result<Duration> {
    let mut buffer = [0; LEN];
    let start = Instant::now();
    stream.write_all(&buffer)?;
    stream.read_exact(&mut buffer)?;
    Ok(start.elapsed())
}

/// The smallest of these times that at least `per_cent` per cent do not exceed; sorts the times.
fn percentile(times: &mut [Duration], per_cent: usize) -> Duration {
    times.sort_unstable();
    let rank = (times.len() * per_cent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// A connection to `echo`, directly or through a relay, whose other end sends everything back.
fn connect(address: SocketAddr, echo: &TcpListener, patience: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    let mut other_end = accept(echo, patience)?;
    other_end.set_nodelay(true)?;
    // The thread ends when this end or the relay closes the connection.
    thread::Builder::new().name("echo".into()).spawn(move || {
        let mut buffer = [0; LEN];
        while other_end.read_exact(&mut buffer).is_ok() && other_end.write_all(&buffer).is_ok() {}
    })?;
    Ok(stream)
}

/// Waits up to `patience` for a connection.
fn accept(listener: &TcpListener, patience: Duration) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + patience;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                thread::sleep(Duration::from_micros(100));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_added_delay_is_shown_with_three_digits() {
        for (micros, p99, n_round_trips, shown) in [
            (2014, 2136, 100, "2.01 ms at the median, 2.14 ms at p99"),
            (503, 999, 320, "503 µs at the median, 999 µs at p99"),
            (49_960, 1_004_000, 5, "50.0 ms at the median, 1.00 s at most"),
            (12, 1000, 1000, "12.0 µs at the median, 1.00 ms at p99"),
        ] {
            let (median, p99) = (Duration::from_micros(micros), Duration::from_micros(p99));
            let added = Added { asked: median, median, p99, n_round_trips, is_realtime: false };
            assert_eq!(added.to_string(), format!("{shown}; at ordinary priority"));
        }
    }

    #[test]
    fn a_median_that_is_off_is_told_with_how_far() {
        for (micros, off) in [
            (94, "; 6 % shorter than asked for"),
            (96, ""),
            (104, ""),
            (106, "; 6 % longer than asked for"),
            (310, "; 210 % longer than asked for"),
        ] {
            let median = Duration::from_micros(micros);
            let asked = Duration::from_micros(100);
            let added =
                Added { asked, median, p99: median, n_round_trips: 1000, is_realtime: true };
            let text = added.to_string();
            assert!(text.ends_with(&format!("at p99{off}; at real-time priority")), "{text}");
        }
    }

    /// The median delay that a relay adds when it costs this much at each measurement.
    fn settled(delay: Duration, costs: [Duration; N_SEARCHES + 1]) -> Duration {
        let mut costs = costs.into_iter();
        let measure = &mut |asked, held, _| {
            let median = held + costs.next().unwrap();
            Ok(Added { asked, median, p99: median, n_round_trips: 100, is_realtime: false })
        };
        let added = settle(delay, measure).unwrap();
        assert_eq!((added.asked, costs.next()), (delay, None));
        added.median
    }

    #[test]
    fn the_median_of_the_added_delay_is_the_delay_asked_for() {
        let micros = Duration::from_micros;
        for delay in [micros(500), micros(2000), micros(50_000)] {
            assert_eq!(settled(delay, [micros(120); 4]), delay);
            // Other work of the machine slows two of the searches down.
            let busy = [micros(900), micros(120), micros(3000), micros(120)];
            assert_eq!(settled(delay, busy), delay);
        }
        // The relay cannot take off more than it holds.
        assert_eq!(settled(micros(100), [micros(120); 4]), micros(120));
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let mut times: Vec<Duration> = (1..=200).rev().map(Duration::from_micros).collect();
        assert_eq!(percentile(&mut times, 50), Duration::from_micros(100));
        assert_eq!(percentile(&mut times, 99), Duration::from_micros(198));
        assert_eq!(percentile(&mut [], 50), Duration::ZERO);
    }
}
