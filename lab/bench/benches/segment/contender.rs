//! The contenders of a comparison, and the rounds in which they take turns.

use larder_bench::measure::thread_cpu_ns;

use crate::keys::{Block, Draw, Keys};

/// A contender of a comparison.
pub(crate) struct Contender<'a> {
    pub(crate) name: String,
    /// The work on every key of a block.
    work: Box<dyn FnMut(&Block) + 'a>,
    /// Nanoseconds a key, a figure for each round.
    pub(crate) rounds: Vec<f64>,
}

/// The length of a turn, in blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Blocks before the clock starts, which drive the data of other contenders out of the processor's caches.
    pub(crate) warm: usize,
    pub(crate) timed: usize,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, work: impl FnMut(&Block) + 'a) -> Self {
        Self { name: name.into(), work: Box::new(work), rounds: Vec::new() }
    }

    fn take(&mut self, mut draw: Draw, turn: Turn) {
        let mut block = Block::new();
        let mut ns = 0;
        for n in 0..turn.warm + turn.timed {
            draw.fill(&mut block);
            let began = thread_cpu_ns();
            (self.work)(&block);
            if n >= turn.warm {
                ns += thread_cpu_ns() - began;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        self.rounds.push(ns as f64 / (turn.timed * block.len()) as f64);
    }
}

/// One round: a turn of each contender. `A B C`, then `C A B`, then `B C A`, then the same backwards.
pub(crate) fn round(contenders: &mut [Contender<'_>], round: usize, keys: Keys, turn: Turn) {
    let n = contenders.len();
    for (place, at) in order(round, n).into_iter().enumerate() {
        contenders[at].take(keys.draw(round, round * n + place, turn.warm + turn.timed), turn);
    }
}

/// The order in which this many contenders take their turns.
pub(crate) fn order(round: usize, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).map(|at| (at + n - round % n) % n).collect();
    if (round / n) % 2 == 1 {
        order.reverse();
    }
    order
}

/// The figures of the contender of this name.
pub(crate) fn of<'a>(contenders: &'a [Contender<'_>], name: &str) -> &'a [f64] {
    let found = contenders.iter().find(|contender| contender.name == name);
    found.map_or(&[], |contender| &contender.rounds)
}
