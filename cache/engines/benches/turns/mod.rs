//! Two ways to do the same, in many short slices that take turns, so that other work of the machine meets both.

use std::time::Instant;

const SLICES: usize = 500;
const OPERATIONS_PER_SLICE: u32 = 400;

/// Prints the heads of the columns.
pub(crate) fn heading(operation: &str) {
    let (ours, bare, ratio) = ("ours ns", "bare ns", "ratio");
    println!("{operation:<26} {ours:>10} {bare:>10} {ratio:>8}   middle half");
}

/// Measures both, each beginning every other pair, and prints a line.
pub(crate) fn take_turns(name: &str, ours: impl FnMut(), bare: impl FnMut()) {
    take_turns_of(OPERATIONS_PER_SLICE, name, ours, bare);
}

/// As above, with slices of this many operations.
pub(crate) fn take_turns_of(n: u32, name: &str, mut ours: impl FnMut(), mut bare: impl FnMut()) {
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
    let ours = quantile(pairs.iter().map(|pair| pair.0), 0.5);
    let bare = quantile(pairs.iter().map(|pair| pair.1), 0.5);
    let ratio = |q| quantile(pairs.iter().map(|pair| pair.0 / pair.1), q);
    let (low, middle, high) = (ratio(0.25), ratio(0.5), ratio(0.75));
    println!("{name:<26} {ours:>10.0} {bare:>10.0} {middle:>8.3}   {low:.3} to {high:.3}");
}

/// Nanoseconds an operation.
fn slice(n: u32, operation: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    (0..n).for_each(|_| operation());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(n)
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
