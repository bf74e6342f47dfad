//! The sink of the rows that the writer thread takes.

use std::io;
use std::time::Duration;

use crate::batch::Batch;

/// The time after which a sink is flushed: a recording that is killed loses the rows of this time.
pub(super) const FLUSH: Duration = Duration::from_millis(300);

/// Takes rows.
pub trait RowSink: Send {
    /// Takes rows.
    ///
    /// # Errors
    ///
    /// Not one of these rows is taken, and all count as dropped.
    fn write(&mut self, batch: &Batch) -> io::Result<()>;

    /// The number of rows that were taken and are lost all the same, since the last call. They count as dropped.
    fn take_lost(&mut self) -> u64 {
        0
    }

    /// Notes that `n_rows` were dropped.
    fn drop_rows(&mut self, n_rows: u64);

    /// Is called a few times a second. The rows that were taken must survive the death of this process.
    fn tick(&mut self);

    /// Completes the recording.
    fn finish(&mut self);
}
