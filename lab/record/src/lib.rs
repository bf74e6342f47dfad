//! A proxy between an application and its cache, which records requests and answers.
//!
//! [`follow`] reads the two directions of a connection beside the traffic, and notes each operation on a key in a [`Recorder`].
//! [`Proxy`] passes the bytes on, or a [`CaptureFile`] has the packets; a [`Writer`] writes the rows to [`Files`].

mod batch;
mod capture;
mod clock;
pub mod follow;
mod keys;
mod notice;
mod proxy;
mod recorder;
mod salt;
mod upstream;
mod write;

pub use batch::Batch;
pub use capture::{CaptureFile, Captured, Tunnel};
pub use keys::{Keys, SALT_LEN};
pub use notice::{Notify, Severity};
pub use proxy::{Proxy, Remote, Settings, Totals, Watch};
pub use recorder::{Counts, Recorder};
pub use salt::{random_salt, salt_of_file};
pub use upstream::Upstream;
pub use write::{Files, Limits, RowSender, RowSink, Writer, Written};
