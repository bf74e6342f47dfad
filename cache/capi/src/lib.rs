//! Larder for C: the functions of `include/larder.h`.
//!
//! Each function checks its arguments, calls the library, and turns the result into a code. A panic does not cross the border
//! ([`border`]). There is no thread and no callback, and no global state but what [`kept`] keeps: results are written
//! to the caller's memory, or stay in the session until its next call. The header has the comments for users, and a test holds it against this code.

#![expect(
    clippy::missing_safety_doc,
    reason = "the rules for all pointers stand at the top of larder.h"
)]

pub mod border;
pub mod code;
pub mod kept;
pub mod lease;
pub mod read;
pub mod session;
pub mod store;
pub mod types;
pub mod write;
