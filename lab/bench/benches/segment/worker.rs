//! A process that reads and writes, and reports how much it has done: this program, started by itself.
//!
//! `work KIND FILE LENGTH KEYS SEED`. The worker first answers `ready`. To each line with a number of milliseconds it
//! answers with four numbers. These are the operations in about that time, their nanoseconds, the absent keys, and the
//! part of the time spent waiting for a processor.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use larder_segment::Cache;

use crate::caches::{Cache as _, Own, Sets, filled, options};
use crate::keys::{Key, Random, key, write_value};
use crate::memcpy::Records;
use crate::{Result, share, waited};

/// The first argument of a worker.
pub(crate) const COMMAND: &str = "work";

/// Bytes of a region, shared or not.
pub(crate) const SIZE: usize = 256 << 20;

/// One in this many operations is a set, the others are gets.
const SETS: usize = 20;

/// Operations between looks at the clock.
const STRETCH: usize = 512;

/// The caches that workers work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The region in a file.
    Shared,
    /// A region of each worker's own.
    Apart,
    /// No cache: values in each worker's own memory, which are copied.
    Copies,
}

impl Kind {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Shared, "shared"), (Self::Apart, "apart"), (Self::Copies, "copies")];
}

/// The length of the values, and the number of keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) len: usize,
    pub(crate) keys: usize,
}

/// The work of a worker in its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// Operations a second.
    pub(crate) rate: f64,
    /// The part of the operations that found no value.
    pub(crate) misses: f64,
    /// The part of the time for which the worker waited for a processor.
    pub(crate) waited: f64,
}

/// A worker, for the process that has started it. The worker ends when this is dropped.
pub(crate) struct Worker {
    child: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start(kind: Kind, file: &Path, load: Load, seed: usize) -> Result<Self> {
        let kind = Kind::ALL.iter().find(|(of, _)| *of == kind).map_or("", |(_, name)| name);
        let mut child = Command::new(std::env::current_exe()?)
            .args([COMMAND, kind])
            .arg(file)
            .args([load.len, load.keys, seed].map(|number| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let asks = child.stdin.take();
        let answers = child.stdout.take().ok_or("a worker without an output")?;
        let mut worker = Self { child, asks, answers: BufReader::new(answers) };
        match worker.answer()?.as_str() {
            "ready" => Ok(worker),
            other => Err(format!("a worker said `{other}` in place of `ready`").into()),
        }
    }

    /// Makes the worker begin.
    pub(crate) fn begin(&mut self, time: Duration) -> Result<()> {
        let asks = self.asks.as_mut().ok_or("a worker that has ended")?;
        Ok(writeln!(asks, "{}", time.as_millis())?)
    }

    /// The work of the worker, once its time has ended.
    pub(crate) fn end(&mut self) -> Result<Done> {
        let answer = self.answer()?;
        let numbers: Vec<f64> =
            answer.split(' ').map(str::parse).collect::<std::result::Result<_, _>>()?;
        let [operations, ns, misses, waited] = numbers[..] else {
            return Err(format!("a worker said `{answer}`").into());
        };
        Ok(Done { rate: operations * 1e9 / ns, misses: misses / operations, waited })
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker ends at the end of its input.
        self.asks = None;
        let _ = self.child.wait();
    }
}

/// The life of a worker.
pub(crate) fn serve(arguments: &[String]) -> Result<()> {
    let [kind, file, len, keys, seed] = arguments else {
        return Err("a worker takes five arguments, and is started by the benchmark alone".into());
    };
    let kind = Kind::ALL.iter().find(|(_, name)| name == kind).ok_or("an unknown kind")?.0;
    let load = Load { len: len.parse()?, keys: keys.parse()? };
    let draws = Draws {
        random: Random::of_seed(seed.parse()?),
        keys: (0..load.keys).map(key).collect(),
        load,
    };
    match kind {
        Kind::Shared => {
            let cache = Cache::existing(Path::new(file))?.ok_or("there is no such region")?;
            draws.serve(Own(cache.session()))
        }
        Kind::Apart => {
            let cache = Cache::private(&options(SIZE, load.len))?;
            draws.serve(filled(Own(cache.session()), load.keys, load.len)?)
        }
        Kind::Copies => draws.serve(Copies(Records::new(load.keys, load.len, false))),
    }
}

/// The shared part of the workers: it draws a key, and whether the key is read or written.
struct Draws {
    random: Random,
    keys: Vec<Key>,
    load: Load,
}

/// The cache that a worker works on.
trait Works {
    fn read(&mut self, key: &Key, number: usize, value: &mut Vec<u8>) -> bool;
    fn write(&mut self, key: &Key, number: usize, value: &[u8]);
}

impl Works for Own {
    #[inline]
    fn read(&mut self, key: &Key, number: usize, value: &mut Vec<u8>) -> bool {
        self.get(key, number, value)
    }

    #[inline]
    fn write(&mut self, key: &Key, _: usize, value: &[u8]) {
        self.set(key, value);
    }
}

/// The bare copies.
struct Copies(Records);

impl Works for Copies {
    #[inline]
    fn read(&mut self, key: &Key, number: usize, value: &mut Vec<u8>) -> bool {
        self.0.get(key, number, value)
    }

    #[inline]
    fn write(&mut self, _: &Key, number: usize, value: &[u8]) {
        self.0.of(number).copy_from_slice(value);
    }
}

impl Draws {
    fn serve(mut self, mut on: impl Works) -> Result<()> {
        println!("ready");
        for line in std::io::stdin().lines() {
            let time = Duration::from_millis(line?.parse()?);
            let (mut operations, mut misses) = (0, 0);
            let (before, began) = (waited(), Instant::now());
            while began.elapsed() < time {
                misses += self.stretch(&mut on)?;
                operations += STRETCH;
            }
            let took = began.elapsed();
            println!("{operations} {} {misses} {}", took.as_nanos(), share(before, took));
        }
        Ok(())
    }

    /// Carries out some operations; returns how many keys were absent.
    fn stretch(&mut self, on: &mut impl Works) -> Result<usize> {
        let (mut misses, mut got) = (0, Vec::with_capacity(self.load.len));
        let mut new = vec![0; self.load.len];
        write_value(0, &mut new);
        for _ in 0..STRETCH {
            let number = self.random.below(self.load.keys);
            let key = black_box(&self.keys[number]);
            if self.random.below(SETS) == 0 {
                new[..8].copy_from_slice(&number.to_le_bytes());
                on.write(key, number, black_box(&new));
            } else if on.read(key, number, &mut got) {
                if black_box(&got)[..8] != number.to_le_bytes() {
                    return Err(format!("key {number} has another's value").into());
                }
            } else {
                misses += 1;
            }
        }
        Ok(misses)
    }
}
