//! A proxy between an application and its cache, which records what is asked and what is answered.
//!
//! [`follow`] reads the two directions of a connection beside the traffic, and notes each operation on a key at a [`Desk`].
//! [`Proxy`] passes the bytes on, or a [`CaptureFile`] tells what has passed; a [`Writer`] writes the rows to [`Files`].

mod batch;
mod capture;
mod clock;
mod desk;
pub mod follow;
mod keys;
mod proxy;
mod salt;
mod tell;
mod upstream;
mod write;

pub use batch::Batch;
pub use capture::{CaptureFile, Captured};
pub use desk::{Counts, Desk};
pub use keys::{Keys, SALT_LEN};
pub use proxy::{Proxy, Remote, Seen, Settings, Watch};
pub use salt::{random_salt, salt_of_file};
pub use tell::{Tell, Weight};
pub use upstream::Upstream;
pub use write::{Files, Hand, Limits, RowSink, Writer, Written};
