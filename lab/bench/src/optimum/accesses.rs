//! The accesses of a phase to a cache, as the models see them: the key, and its use.

use larder_insight::{Step, Steps, Use};
use larder_workload::{Access, Condition};

use crate::measure::{Block, Dataset, Draw, DrawPlan, KeyState};
use crate::plan::{PlannedPhase, PlannedPoint, phase_seed};

/// Operations that are drawn at once.
const BLOCK: usize = 4096;

/// The operations of a phase, in order.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    keys: Vec<u32>,
    uses: Vec<Use>,
    /// By key: bytes of the key and its largest value.
    sizes: Vec<u32>,
}

impl Accesses {
    /// Draws the operations of a round of this phase again.
    pub(super) fn of(
        point: &PlannedPoint,
        number: usize,
        phase: &PlannedPhase,
        seed: u64,
        round: u32,
    ) -> Self {
        let count = point.keys.count();
        let state = KeyState::new(count, 0);
        let (source, requests) = point.modelled(phase);
        let plan = DrawPlan {
            work: &phase.work,
            source,
            dataset: Dataset { keys: &point.keys, values: &point.values, state: &state },
            order: point.order(),
            tagged: None,
            threads: point.threads,
            writers: point.sessions(),
            at_once: point.at_once(),
            seed: phase_seed(seed, round, number),
            requests,
            sent_only: false,
        };
        let size = |key| {
            let bytes = point.keys.len_of(key) + point.values.largest_of(key);
            u32::try_from(bytes).expect("a value has at most a gibibyte")
        };
        let mut accesses = Self { sizes: (0..count).map(size).collect(), ..Self::default() };
        let mut draws: Vec<Draw<'_>> =
            (0..point.threads).map(|thread| Draw::new(plan, thread)).collect();
        let mut blocks: Vec<Block> = draws.iter().map(|_| Block::default()).collect();
        while draws.iter().any(|draw| !draw.is_over()) {
            for (draw, block) in draws.iter_mut().zip(&mut blocks) {
                draw.fill(block, BLOCK);
            }
            accesses.deal(&blocks);
        }
        accesses
    }

    /// Takes one operation of each block, then the next of each.
    fn deal(&mut self, blocks: &[Block]) {
        let longest = blocks.iter().map(|block| block.ops.len()).max().unwrap_or(0);
        for at in 0..longest {
            for op in blocks.iter().filter_map(|block| block.ops.get(at)) {
                let usage = match op.kind {
                    Access::GetOrSet => Use::Read,
                    Access::Get if op.is_unfilled => Use::Look,
                    Access::Set | Access::Incr | Access::Decr => match op.condition {
                        Some(Condition::Absent) => Use::Add,
                        Some(Condition::Present) => Use::Change,
                        None => Use::Write,
                    },
                    Access::Delete => Use::Drop,
                    // Gets and touches store nothing.
                    Access::Get | Access::Touch => continue,
                };
                self.keys.push(op.key);
                self.uses.push(usage);
            }
        }
    }

    /// The number of reads.
    pub(super) fn reads(&self) -> u64 {
        self.uses.iter().filter(|usage| matches!(usage, Use::Read | Use::Look)).count() as u64
    }
}

impl Steps for Accesses {
    fn n_keys(&self) -> usize {
        self.sizes.len()
    }

    fn n_steps(&self) -> usize {
        self.keys.len()
    }

    #[inline]
    fn step(&self, at: usize) -> Step {
        let key = self.keys[at];
        Step { key, size: self.sizes[key as usize], usage: self.uses[at], ..Step::default() }
    }
}
