//! Requests of many keys whose misses are filled: one time for all keys of a request and their fills, and a count for each
//! key.

use std::ops::Range;

use larder_report::Operation;

use super::block::{Block, recycled};
use super::clock::now_ns;
use super::outcomes::is_unanswered;
use super::pace::{Begun, Pace};
use super::requests::{Answers, Counted};
use super::worker::Worker;

impl<P: Pace> Worker<'_, P> {
    /// Asks in one request for the keys of these get-or-sets of a block, and stores those that were missed one by one;
    /// returns when all that was over.
    pub(super) fn filled_request(
        &mut self,
        block: &mut Block,
        range: Range<usize>,
        begun: P::Begun,
    ) -> u64 {
        let mut keys: Vec<&[u8]> = recycled(std::mem::take(&mut self.keys));
        keys.extend(range.clone().map(|i| block.key(i)));
        let ops = &block.ops[range.clone()];
        let mut found = std::mem::take(&mut self.found);
        found.fill(false);
        let (request, counted) = (Operation::GetOrSet, Counted::default());
        let mut answers =
            Answers::new(&mut self.judge, request, ops, begun.at(), &mut found, counted);
        let answer = self.session.get_many(&keys, &mut |i, value, _| answers.at(i, value));
        if answer.is_ok() {
            answers.note_misses();
        }
        let counted = answers.n;
        self.keys = recycled(keys);
        let is_answered = answer.is_ok();
        let mut n_filled = 0;
        let mut last_failed = None;
        for i in range.clone().filter(|i| !found[i - range.start]) {
            let op = block.ops[i];
            if op.is_unfilled && is_answered {
                continue;
            }
            let done = is_answered.then(|| {
                let fill = self.fill(block, i, op, begun.at());
                self.judge.filled(op, now_ns(), fill)
            });
            match done {
                Some(done) if !done.failed => n_filled += 1,
                other => {
                    self.judge.draw.write_failed(block, i, other.is_some_and(|done| !done.lost));
                    last_failed = other.or(last_failed);
                }
            }
        }
        let now = now_ns();
        let unanswered = answer.as_ref().is_err_and(is_unanswered);
        let ops = &block.ops[range];
        Answers::new(&mut self.judge, request, ops, begun.at(), &mut found, counted)
            .end(begun, now, answer);
        if counted.right == 0 && n_filled > 0 {
            self.judge.tallies.of(request).record(begun.took(now));
        }
        match last_failed {
            Some(done) => self.failures.count(begun.at(), now, done.unanswered),
            None if !is_answered => self.failures.count(begun.at(), now, unanswered),
            None => self.failures.end(),
        }
        self.found = found;
        now
    }
}
