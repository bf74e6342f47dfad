//! Whether a sample tells the hit ratios of a whole trace, and how long that takes.
//!
//! ```console
//! $ cargo run --release -p larder-insight --example curves -- make zipf.trace 100m 1m 1.0
//! $ cargo run --release -p larder-insight --example curves -- time zipf.trace
//! $ cargo run --release -p larder-insight --example curves -- compare zipf.trace 1% 5
//! ```
//!
//! `make` writes reads of keys under a law of Zipf, 4 bytes each. `compare` follows every use once, which takes minutes for
//! each ten million, and then the sample with several choices of keys.

#![expect(clippy::print_stdout, reason = "an example for people")]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use larder_insight::{Insight, Settings};
use larder_report::{MeasuredIn, TraceInfo};
use larder_workload::trace::{TraceSource, read_rows};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["make", path, requests, keys, exponent] => {
            make(path, number(requests)?, number(keys)?, exponent.parse()?)
        }
        ["time", path] => time(path),
        ["compare", path, keys, choices] => {
            let percent: f64 = keys.trim_end_matches('%').parse()?;
            compare(path, percent / 100.0, choices.parse()?)
        }
        _ => Err(
            "write `make FILE REQUESTS KEYS EXPONENT`, `time FILE` or `compare FILE 1% CHOICES`"
                .into(),
        ),
    }
}

/// `100m` is a hundred million.
fn number(text: &str) -> Result<u64> {
    let (digits, unit) = match text.strip_suffix('m') {
        Some(digits) => (digits, 1_000_000),
        None => (text.trim_end_matches('k'), if text.ends_with('k') { 1000 } else { 1 }),
    };
    Ok(digits.parse::<u64>()? * unit)
}

fn read(path: &str, settings: Settings) -> Result<TraceInfo> {
    let mut insight = Insight::new(settings);
    let about = read_rows(&path.parse::<TraceSource>()?, &mut insight)?;
    Ok(insight.finish(path, &about, false))
}

fn time(path: &str) -> Result<()> {
    let began = Instant::now();
    let mut n_rows = 0_u64;
    read_rows(&path.parse::<TraceSource>()?, &mut |_: &larder_workload::trace::Row<'_>| {
        n_rows += 1;
        std::ops::ControlFlow::Continue(())
    })?;
    println!("reading alone: {n_rows} rows in {:.1?}", began.elapsed());
    let began = Instant::now();
    let info = read(path, Settings::default())?;
    println!("in all: {} rows in {:.1?} on one thread", info.rows, began.elapsed());
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
    println!("{:#?}", info.popularity);
    Ok(())
}

fn compare(path: &str, keys: f64, choices: u64) -> Result<()> {
    let threads = std::thread::available_parallelism()?.get();
    let all = Settings { most_uses: 1 << 31, threads, ..Settings::default() };
    let began = Instant::now();
    let exact = read(path, all)?;
    println!(
        "{} rows on {} keys, exactly in {:.1?}",
        exact.rows,
        exact.keys.value,
        began.elapsed()
    );
    let (mut worst, mut outside, mut figures) = (0.0_f64, 0, 0);
    for seed in 1..=choices {
        let settings = Settings { keys, seed, ..Settings::default() };
        let began = Instant::now();
        let info = read(path, settings)?;
        println!(
            "choice {seed}: {:.2} % of the keys in {:.1?}",
            info.sampling.keys * 100.0,
            began.elapsed()
        );
        for measure in [MeasuredIn::Entries, MeasuredIn::Bytes] {
            let (Some(exact), Some(curve)) = (exact.curve(measure), info.curve(measure)) else {
                continue;
            };
            for at in &curve.capacities {
                let Some(exact) = exact.capacities.iter().find(|it| it.capacity == at.capacity)
                else {
                    continue;
                };
                print!(
                    "{:>11} {:5.1} % of keys {:5.1} % of time",
                    at.capacity,
                    at.keys * 100.0,
                    at.time * 100.0
                );
                for (ratio, exact) in at.ratios.iter().zip(&exact.ratios) {
                    let error = (ratio.hit_ratio - exact.hit_ratio) * 100.0;
                    let half_width = ratio.half_width.unwrap_or(0.0) * 100.0;
                    print!("  {:5.2} {error:+.2} ±{half_width:.2}", exact.hit_ratio * 100.0);
                    worst = worst.max(error.abs());
                    outside += usize::from(error.abs() > half_width);
                    figures += 1;
                }
                println!();
            }
        }
    }
    println!(
        "the largest error is {worst:.2} points; {outside} of {figures} are outside their 95 % intervals"
    );
    Ok(())
}

fn make(path: &str, n_requests: u64, n_keys: u64, exponent: f64) -> Result<()> {
    let law = Law::new(u32::try_from(n_keys)?, exponent);
    let mut out = BufWriter::new(File::create(path)?);
    let mut state = 1;
    for _ in 0..n_requests {
        out.write_all(&law.draw(next(&mut state)).to_be_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// The next number of a generator by its state (`SplitMix64`).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A law of Zipf, drawn from by one look at a table (Walker's aliases).
struct Law {
    own: Vec<u32>,
    alias: Vec<u32>,
}

impl Law {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 2^32")]
    fn new(n_keys: u32, exponent: f64) -> Self {
        let weights: Vec<f64> = (1..=n_keys).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let mean = weights.iter().sum::<f64>() / f64::from(n_keys);
        let mut left: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..n_keys).partition(|key| left[*key as usize] < 1.0);
        let mut law = Self { own: vec![u32::MAX; left.len()], alias: (0..n_keys).collect() };
        while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
            let share = left[poor as usize];
            law.own[poor as usize] = (share * f64::from(u32::MAX)) as u32;
            law.alias[poor as usize] = rich;
            left[rich as usize] -= 1.0 - share;
            if left[rich as usize] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        law
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves of a number")]
    fn draw(&self, random: u64) -> u32 {
        let key = (((random >> 32) * self.own.len() as u64) >> 32) as usize;
        if random as u32 <= self.own[key] { key as u32 } else { self.alias[key] }
    }
}
