//! Requests that store many keys: one time for all keys of a request, and an outcome for each key.

use larder_store::{Error, Put, SetDone, SetOptions};

use super::block::Block;
use super::clock::now_ns;
use super::pace::{Begun, Pace};
use super::tally::Tally;
use super::worker::{Worker, is_lost, is_unanswered, stored};

/// The bytes of the values that are made together, unless one request has more.
const MADE_BYTES: usize = 4 << 20;

impl<P: Pace> Worker<'_, P> {
    /// Runs a block as sets of many keys; the latency is the request's, the counts are keys.
    ///
    /// The values are made when the block is drawn, because those of a request are needed at once. So a set of one key
    /// has the time of making its value, and a set of many keys has not.
    pub(super) fn stores(
        &mut self,
        block: &mut Block,
        tally: &mut Tally,
        left: Option<u64>,
    ) -> u64 {
        let values = std::mem::take(&mut self.made);
        let puts: Vec<Put<'_>> = puts(block, &values, self.orders.set_options);
        let mut failed = Vec::new();
        let start = self.start();
        let end = left.map_or(u64::MAX, |left| start + left);
        let mut then = start;
        let batch = self.orders.keys_a_request;
        for (puts, first) in puts.chunks(batch).zip((0..).step_by(batch)) {
            let free = if first == 0 { self.free } else { then };
            let (place, ops) = (block.place(first), puts.len() as u64);
            let Some(begun) = self.pace.begin(free, then, ops, place) else { break };
            let asked = &block.ops[first..first + puts.len()];
            for op in asked {
                self.state.note_renewal(op.key, begun.at());
            }
            let (mut n_stored, mut unanswered) = (0, false);
            self.found.fill(false);
            let told_of = &mut self.found;
            let engine = self.session.engine();
            let mut told: &mut SetDone<'_> = &mut |i, outcome| {
                told_of[i] = true;
                match stored(outcome, || engine) {
                    Ok(()) => {
                        n_stored += 1;
                        self.state.acknowledge(asked[i].key, asked[i].version);
                        tally.bytes += u64::from(asked[i].len);
                    }
                    Err(error) => {
                        tally.note_error(&error);
                        unanswered |= is_unanswered(&error);
                        failed.push((first + i, is_lost(&error)));
                    }
                }
            };
            let answer = self.session.set_many(puts, &mut told);
            let now = now_ns();
            for op in asked {
                self.state.note_renewal(op.key, now);
            }
            tally.attempted(ops, now - self.origin, begun.took(now));
            if let Some(late) = begun.late() {
                tally.late(late, ops);
            }
            tally.succeeded += n_stored;
            tally.counts.errors += ops - n_stored;
            let silence = answer.and_then(|()| {
                let is_told = self.found[..puts.len()].iter().all(|told| *told);
                let message = "no outcome for some keys of a batch".to_owned();
                let silence = Error::Protocol { engine, peer: "the store".into(), message };
                if is_told { Ok(()) } else { Err(silence) }
            });
            if let Err(error) = &silence {
                // It is not known whether the keys without an outcome are stored.
                tally.note_error(error);
                unanswered |= is_unanswered(error);
                let untold = (0..puts.len()).filter(|i| !self.found[*i]);
                failed.extend(untold.map(|i| (first + i, true)));
            }
            if n_stored == ops {
                tally.record(begun.took(now));
            }
            // A store that stores some keys of each request is at work.
            if n_stored > 0 {
                self.failures.end();
            } else {
                self.failures.count(begun.at(), now, unanswered);
            }
            then = now;
            if then >= end || self.failures.gave_up() {
                break;
            }
        }
        drop(puts);
        for (i, lost) in failed {
            self.draw.write_failed(block, i, !lost);
        }
        self.made = values;
        self.free = then;
        then - start
    }

    /// Makes the values of a block, one behind the other.
    pub(super) fn make(&mut self, block: &Block) {
        self.made.clear();
        for op in &block.ops {
            self.made.extend_from_slice(self.composer.compose(op.key, op.version, op.len));
        }
    }

    /// The most operations of a block whose values are made together.
    pub(super) fn most_made(&self) -> usize {
        (MADE_BYTES / self.composer.values().longest().max(1)).max(1)
    }
}

/// The entries of a block.
fn puts<'b>(block: &'b Block, values: &'b [u8], options: SetOptions) -> Vec<Put<'b>> {
    let mut rest = values;
    let put = |i: usize| {
        let (value, behind) = rest.split_at(block.ops[i].len as usize);
        rest = behind;
        Put { key: block.key(i), value, options }
    };
    (0..block.ops.len()).map(put).collect()
}
