//! The operations of a recording, in their order.

use larder_workload::Access;
use larder_workload::trace::TraceOp;

use super::super::block::Block;
use super::Draw;

impl Draw<'_> {
    /// Draws the next request of the trace, with the sizes and TTLs that were recorded.
    pub(super) fn replay(&mut self, block: &mut Block, read: Access, writes: bool) {
        let recording = self.source.recording.expect("only a plan with a trace replays");
        let (place, places) = recording.request(self.next);
        let first = block.ops.len();
        for op in places.map(|at| recording.trace.op(at)) {
            let is_read = op.kind == Access::Get;
            if !writes && !is_read {
                continue;
            }
            if op.kind.counts() && recording.has_counters {
                self.count(block, op);
            } else {
                self.push(block, op.key, drawn_as(op, read));
            }
            if let Some(drawn) = block.ops.last_mut() {
                drawn.is_unfilled = is_read && drawn.kind != read;
                let stores = matches!(drawn.kind, Access::Set | Access::GetOrSet);
                let size = op.value_size.filter(|_| stores && self.values.are_recorded());
                drawn.len = size.unwrap_or(drawn.len);
                drawn.ttl_ms = recording.ttl_ms(op.ttl);
                if !drawn.kind.counts() {
                    drawn.is_count = op.kind.counts();
                    drawn.condition = op.condition.filter(|_| recording.has_conditions);
                    if drawn.condition.is_some() {
                        // Whether the value is stored is known only later.
                        self.set.set(op.key, false);
                    }
                }
            }
            block.places.push(place);
        }
        let n_keys = block.ops.len() - first;
        if recording.starts.is_some() && n_keys > 0 {
            block.together.resize(block.ops.len(), 1);
            block.together[first] = u32::try_from(n_keys).unwrap_or(u32::MAX);
        }
    }

    /// Draws a count. Without a condition it stores a number under an absent key. That number has the oldest version that
    /// may be there, or one that no value had before.
    fn count(&mut self, block: &mut Block, op: TraceOp) {
        let key = op.key;
        self.push(block, key, op.kind);
        self.state.numbers.note_drawn(key, op.kind);
        let Some(drawn) = block.ops.last_mut() else { return };
        drawn.condition = op.condition;
        if op.condition.is_none() {
            // Where nothing is, the version is above all others.
            if drawn.version > self.state.issued(key) {
                drawn.version = self.state.next_version(key);
            }
            self.set.set(key, self.set.has(key) || self.gone.has(key));
            self.gone.set(key, false);
        }
    }
}

/// The use as which an operation of a trace is drawn. A store that cannot count gets a set. A read that nobody filled is a
/// get, whatever the others are.
fn drawn_as(op: TraceOp, read: Access) -> Access {
    match op.kind {
        Access::Get if op.is_unfilled => Access::Get,
        Access::Get => read,
        Access::Incr | Access::Decr => Access::Set,
        kind => kind,
    }
}
