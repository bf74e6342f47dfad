//! Tags: entries that end together, in one step, however many they are.
//!
//! The name of a tag is the key of a counter, an entry of the stack itself. An entry with tags has a tag version of each: the
//! number of its counter when the write of the entry began (`form.rs`). It holds while all counters still have these numbers
//! (`read/tag_state.rs`). So the end of a tag is one step of its counter, and no clock is asked. An absent counter ends its entries
//! too. A counter that is made anew begins at a random number, so no older entry comes back with it (`number.rs`).
//!
//! Writers read the counters in the lowest tier, because a tag version from an older copy would invalidate the new entry at once.
//! Readers take the copies above, and hear of steps as of any write: by `l1_ttl`, or by the channel.
//!
//! With `write=behind` this holds as well. A counter is never written behind; a value that waits has its tag versions already.

mod form;
mod label;
mod number;

pub(crate) use self::form::{PLAIN_LEN, TagVersions, split, write};
pub use self::label::MAX_TAGS;
pub(crate) use self::label::{Label, MAX_COUNTER_KEY_LEN, PREFIX, is_counter, key_of};
pub(crate) use self::number::{
    DELETES, EXPIRES, Number, TagState, draw_number, is_later, read_number, tag_state,
};

/// A tag of an entry, and the number of its counter as of the start of the entry's write.
#[derive(Debug, Clone)]
pub(crate) struct TagVersion {
    pub(crate) label: Label,
    pub(crate) number: u64,
}
