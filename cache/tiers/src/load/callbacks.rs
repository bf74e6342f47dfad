//! The callbacks of reads of many keys that load.

use super::{Answer, Loaded};

/// The callback for each key that has an answer: its place, its value, and the rest of the answer.
pub type Answered<'a> = dyn FnMut(usize, &[u8], Answer) + 'a;

/// The callback of a loader for each key: its place, its value, and what to do with it.
pub type Give<'a> = dyn FnMut(usize, &[u8], Loaded) + 'a;

/// A loader of many keys. It gets the places of the keys, and a callback that takes its values.
pub type LoaderOfMany<'a, E> = dyn FnMut(&[usize], &mut Give<'_>) -> Result<(), E> + 'a;
