//! A guard around the decoder, which panics on some damaged pages: a broken file is an error of the file.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use parquet::errors::{ParquetError, Result};

thread_local! {
    /// Whether a panic of this thread is none to tell of.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Decodes, and makes an error of a panic.
pub(super) fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    HOOK.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                tell(panic);
            }
        }));
    });
    EXPECTED.set(true);
    // The caller drops the reader after an error, so its state does not matter.
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    EXPECTED.set(false);
    decoded.unwrap_or_else(|_| Err(ParquetError::General("its pages are damaged".into())))
}
