//! Two ways to do the same, in many short slices that take turns, so that other work of the machine meets both.

use std::time::Instant;

const SLICES: usize = 500;

/// Prints the heads of the columns.
pub(crate) fn heading(operation: &str) {
    let (ours, bare, ratio) = ("ours ns", "bare ns", "ratio");
    println!(
        "{operation:<30} {ours:>10} {bare:>10} {ratio:>8}   middle half      CPU ns    bare    ratio"
    );
}

/// The time of an operation, in nanoseconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    /// The processor time of this thread.
    processor: f64,
}

/// Measures both in slices of this many operations, each beginning every other pair, and prints a line.
pub(crate) fn take_turns(n: u32, name: &str, mut ours: impl FnMut(), mut bare: impl FnMut()) {
    let slice = |operation: &mut dyn FnMut()| slice(n, operation);
    // Warm both up.
    slice(&mut ours);
    slice(&mut bare);
    let mut pairs = Vec::new();
    for n in 0..SLICES {
        pairs.push(if n % 2 == 0 {
            (slice(&mut ours), slice(&mut bare))
        } else {
            let first = slice(&mut bare);
            (slice(&mut ours), first)
        });
    }
    let wall = Column::of(&pairs, |cost| cost.wall);
    let processor = Column::of(&pairs, |cost| cost.processor);
    let Column { ours, bare, low, middle, high } = wall;
    println!(
        "{name:<30} {ours:>10.0} {bare:>10.0} {middle:>8.3}   {low:.3} to {high:.3}   {:>6.0} {:>7.0} {:>8.3}",
        processor.ours, processor.bare, processor.middle
    );
}

/// The medians of one kind of time, and the quartiles of its ratio.
struct Column {
    ours: f64,
    bare: f64,
    low: f64,
    middle: f64,
    high: f64,
}

impl Column {
    fn of(pairs: &[(Cost, Cost)], time: impl Fn(&Cost) -> f64) -> Self {
        let ratio = |q| quantile(pairs.iter().map(|pair| time(&pair.0) / time(&pair.1)), q);
        Self {
            ours: quantile(pairs.iter().map(|pair| time(&pair.0)), 0.5),
            bare: quantile(pairs.iter().map(|pair| time(&pair.1)), 0.5),
            low: ratio(0.25),
            middle: ratio(0.5),
            high: ratio(0.75),
        }
    }
}

fn slice(n: u32, operation: &mut dyn FnMut()) -> Cost {
    let (start, before) = (Instant::now(), processor_ns());
    (0..n).for_each(|_| operation());
    Cost {
        wall: start.elapsed().as_secs_f64() * 1e9 / f64::from(n),
        processor: (processor_ns() - before) / f64::from(n),
    }
}

/// The processor time that this thread has taken.
#[expect(
    clippy::cast_precision_loss,
    reason = "a double counts nanoseconds exactly for a hundred days"
)]
fn processor_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of one time, borrowed exclusively during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The value below which this part of the values lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place in a short list"
)]
fn quantile(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}
