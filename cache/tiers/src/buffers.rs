//! The buffers of a session, kept to reuse their memory.

use std::mem::{replace, take};

use crate::fill_token::FillToken;
use crate::lookup::Found;

/// The buffers of a batch, kept to reuse their memory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Whether each key has an answer from some tier.
    pub(crate) answered: Vec<bool>,
    /// The places of the keys that the tier is asked for.
    pub(crate) asked: Vec<usize>,
    /// The tokens to fill these keys above.
    pub(crate) fill_tokens: Vec<FillToken>,
    /// The expired entries of upper tiers: the places of their keys, and their values.
    pub(crate) fallbacks: Vec<(usize, Found, Vec<u8>)>,
}

impl Batch {
    /// The expired entries of upper tiers, each once, of keys that no tier has answered: the places of their keys, and
    /// their values.
    pub(crate) fn take_fallbacks(&mut self) -> Vec<(usize, Found, Vec<u8>)> {
        let mut fallbacks = take(&mut self.fallbacks);
        fallbacks.retain(|(i, ..)| !replace(&mut self.answered[*i], true));
        fallbacks
    }
}

/// The buffers of a session for tags, kept to reuse their memory.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    pub(crate) key: Vec<u8>,
    pub(crate) text: Vec<u8>,
    pub(crate) batch: Box<Batch>,
    /// The stored form of a value that is written.
    pub(crate) stored: Vec<u8>,
}
