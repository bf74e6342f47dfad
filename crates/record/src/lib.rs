//! A proxy between an application and its cache, which records what is asked and what is answered.
//!
//! [`follow`] reads the two directions of a connection beside the traffic, and notes each operation on a key at a [`Desk`].

mod batch;
mod desk;
pub mod follow;
mod keys;

pub use batch::Batch;
pub use desk::{Counts, Desk};
pub use keys::{Keys, SALT_LEN};
