//! Stores that a thread keeps, for languages whose variables end with each request.
//!
//! A worker of php-fpm serves many requests, and no variable of PHP outlives one. Without these stores each request would
//! open its tiers and connect to its servers anew. A store is kept for one thread, so its session needs no lock.

use std::cell::RefCell;
use std::ffi::c_char;
use std::mem::forget;
use std::process;
use std::ptr;

use crate::border::{Failure, end, guarded, not_null, string, tell};
use crate::code::LARDER_OK;
use crate::session::SessionHandle;
use crate::store::StoreHandle;

thread_local! {
    /// The stores of this thread: few, so a list is searched as fast as a table.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// A store with its session. C has pointers to both, so they stay in their boxes.
struct Kept {
    url: String,
    /// The process that opened it.
    process: u32,
    /// `None` only while this is dropped.
    handles: Option<(Box<SessionHandle>, Box<StoreHandle>)>,
}

impl Kept {
    fn open(url: &str) -> Result<Self, Failure> {
        let store = StoreHandle::open(url)?;
        let session = store.session()?;
        let handles = Some((Box::new(session), Box::new(store)));
        Ok(Self { url: url.to_owned(), process: process::id(), handles })
    }

    /// Whether this thread can go on with it: neither a fork nor a fault came between.
    fn is_usable(&self) -> bool {
        let ended = self.handles.as_ref().is_none_or(|(session, _)| session.has_ended());
        self.process == process::id() && !ended
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some((session, store)) = self.handles.take() else { return };
        if self.process != process::id() {
            // The parent uses its connections, and a child that ends them in order would disturb the parent.
            forget((session, store));
            return;
        }
        // A thread that ends has nobody left to tell of a fault.
        let _ = guarded(|| {
            drop(session);
            store.close()
        });
    }
}

/// The pointers to the store of a URL and to its session, which is opened where this thread has none.
fn kept(url: &str) -> Result<(*mut StoreHandle, *mut SessionHandle), Failure> {
    KEPT.with_borrow_mut(|all| {
        all.retain(|kept| kept.url != url || kept.is_usable());
        if !all.iter().any(|kept| kept.url == url) {
            all.push(Kept::open(url)?);
        }
        let kept = all.iter_mut().find(|kept| kept.url == url);
        let (session, store) = kept.and_then(|kept| kept.handles.as_mut()).ok_or_else(|| {
            Failure::argument("the thread ends, and its stores have been closed".into())
        })?;
        Ok((&raw mut **store, &raw mut **session))
    })
}

/// The store of a URL that this thread keeps, and its session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_open_kept(
    url: *const c_char,
    store: *mut *mut StoreHandle,
    session: *mut *mut SessionHandle,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    // SAFETY: the rules of larder.h.
    unsafe {
        tell(store, ptr::null_mut());
        tell(session, ptr::null_mut());
        let done = guarded(|| {
            let url = string(url, "url")?;
            not_null(session, "session")?;
            let (its_store, its_session) = kept(url)?;
            tell(store, its_store);
            tell(session, its_session);
            Ok(LARDER_OK)
        });
        end(done, message, message_size)
    }
}
