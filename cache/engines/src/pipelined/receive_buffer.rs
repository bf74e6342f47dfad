//! The buffer of a link for the received beginning of an answer that is not whole.

use std::cell::RefCell;

/// Up to this size a buffer stays with its link, and its bytes are copied before those that follow.
pub(super) const SMALL: usize = 16 * 1024;

/// The largest buffer that a thread keeps for the next large answer.
const LARGEST_SPARE: usize = 4 << 20;

/// The most buffers that a thread keeps.
const SPARES: usize = 16;

thread_local! {
    /// Buffers for large answers. A thread that drives thousands of links has only a few large answers at a time, and
    /// the system takes its time to give memory that is given back after each.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for `len` bytes in all.
pub(super) fn make_room(kept: &mut Vec<u8>, len: usize) {
    if kept.capacity() >= len {
        return;
    }
    // In steps, so that answers of slowly growing lengths do not each allocate.
    let len = if len <= SMALL { len.next_power_of_two() } else { len };
    if len > SMALL
        && let Some(mut spare) = SPARE.with_borrow_mut(Vec::pop)
    {
        spare.extend_from_slice(kept);
        give_back(std::mem::replace(kept, spare));
    }
    kept.reserve_exact(len - kept.len());
}

/// Takes the memory of a large answer away from its link, once it has no bytes.
pub(super) fn let_go(kept: &mut Vec<u8>) {
    if kept.is_empty() && kept.capacity() > SMALL {
        give_back(std::mem::take(kept));
    }
}

fn give_back(mut buffer: Vec<u8>) {
    if (SMALL..=LARGEST_SPARE).contains(&buffer.capacity()) {
        buffer.clear();
        SPARE.with_borrow_mut(|spares| {
            if spares.len() < SPARES {
                spares.push(buffer);
            }
        });
    }
}
