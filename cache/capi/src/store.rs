//! Stores: open, sessions, counters, close.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use larder::Store;

use crate::border::{Failure, end, given, guarded, not_null, string, tell};
use crate::code::LARDER_OK;
use crate::session::SessionHandle;
use crate::types::StoreStats;

/// An open store, which threads share.
#[derive(Debug)]
pub struct StoreHandle {
    store: Arc<dyn Store>,
}

impl StoreHandle {
    /// Opens the store of a URL.
    pub(crate) fn open(url: &str) -> Result<Self, Failure> {
        Ok(Self { store: larder::open(url)? })
    }

    /// Opens a session.
    pub(crate) fn session(&self) -> Result<SessionHandle, Failure> {
        Ok(SessionHandle::new(self.store.session()?))
    }

    /// Ends the use of the store in order.
    pub(crate) fn close(self) -> Result<(), Failure> {
        Ok(self.store.close()?)
    }
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn larder_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Opens a store by its URL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_open(
    url: *const c_char,
    store: *mut *mut StoreHandle,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        tell(store, ptr::null_mut());
        let done = guarded(|| {
            let url = string(url, "url")?;
            not_null(store, "store")?;
            tell(store, Box::into_raw(Box::new(StoreHandle::open(url)?)));
            Ok(LARDER_OK)
        });
        end(done, message, message_size)
    }
}

/// Opens a session of a store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_session_open(
    store: *const StoreHandle,
    session: *mut *mut SessionHandle,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        tell(session, ptr::null_mut());
        let done = guarded(|| {
            let store = given(store, "store")?;
            not_null(session, "session")?;
            tell(session, Box::into_raw(Box::new(store.session()?)));
            Ok(LARDER_OK)
        });
        end(done, message, message_size)
    }
}

/// Reads the counters of a store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_store_stats(
    store: *const StoreHandle,
    stats: *mut StoreStats,
    stats_size: usize,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        let done = guarded(|| {
            let store = given(store, "store")?;
            not_null(stats, "stats")?;
            let told = StoreStats::from(store.store.stats()?);
            // A program may have been compiled with an older or a newer header, whose structure is shorter or longer.
            let known = stats_size.min(size_of::<StoreStats>());
            let place = stats.cast::<u8>();
            place.copy_from_nonoverlapping(ptr::from_ref(&told).cast(), known);
            place.add(known).write_bytes(0xFF, stats_size - known);
            Ok(LARDER_OK)
        });
        end(done, message, message_size)
    }
}

/// Ends the use of a store in order, and frees its handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_close(
    store: *mut StoreHandle,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    let done = guarded(|| {
        if store.is_null() {
            return Ok(LARDER_OK);
        }
        // SAFETY: the rules of larder.h: it was opened here, and is not used afterwards.
        let store = unsafe { Box::from_raw(store) };
        store.close()?;
        Ok(LARDER_OK)
    });
    // SAFETY: the rules of larder.h.
    unsafe { end(done, message, message_size) }
}
