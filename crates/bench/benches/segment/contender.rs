//! Those who are compared, and the rounds in which they take turns.

use std::time::Instant;

use crate::keys::{Block, Draw};

/// One of those who are compared.
pub(crate) struct Contender<'a> {
    pub(crate) name: String,
    /// Does its work on every key of a block.
    work: Box<dyn FnMut(&Block) + 'a>,
    /// Nanoseconds a key, a figure for each round.
    pub(crate) rounds: Vec<f64>,
}

/// How much is done in a turn, in blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Before the clock starts: what the others have left in the processor's caches goes.
    pub(crate) warm: usize,
    pub(crate) timed: usize,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, work: impl FnMut(&Block) + 'a) -> Self {
        Self { name: name.into(), work: Box::new(work), rounds: Vec::new() }
    }

    fn take(&mut self, mut draw: Draw, turn: Turn, block: &mut Block) {
        let mut seconds = 0.0;
        for n in 0..turn.warm + turn.timed {
            draw.fill(block);
            let began = Instant::now();
            (self.work)(block);
            if n >= turn.warm {
                seconds += began.elapsed().as_secs_f64();
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        self.rounds.push(seconds * 1e9 / (turn.timed * block.len()) as f64);
    }
}

/// One round: everybody's turn, on the same keys. `A B C`, then `C A B`, then `B C A`, then the same backwards.
pub(crate) fn round(contenders: &mut [Contender<'_>], round: usize, draw: &Draw, turn: Turn) {
    let mut block = Block::new();
    let draw = draw.of_round(round, (turn.warm + turn.timed) * block.len());
    for at in order(round, contenders.len()) {
        contenders[at].take(draw.clone(), turn, &mut block);
    }
}

/// In which order so many take their turns.
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
