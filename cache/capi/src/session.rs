//! The session as C has it: the store's session, the value of its last read, and the message of its last call.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::mem::forget;

use larder::Session;

use crate::border::{Done, Failure, guarded, tell};
use crate::code::{LARDER_E_ARGUMENT, LARDER_E_PANIC};

/// One thread's handle on a store.
pub struct SessionHandle {
    /// `None` after a panic, which may have left it in disorder.
    session: Option<Box<dyn Session>>,
    /// The values of the last read, for which a pointer may have been given out.
    values: Vec<u8>,
    /// The message of the last call, with a zero at its end.
    message: Vec<u8>,
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHandle").finish_non_exhaustive()
    }
}

/// The parts of a session that a call works with.
pub(crate) struct Open<'a> {
    pub(crate) session: &'a mut dyn Session,
    pub(crate) values: &'a mut Vec<u8>,
}

impl SessionHandle {
    /// A handle on an open session.
    pub(crate) fn new(session: Box<dyn Session>) -> Self {
        Self { session: Some(session), values: Vec::new(), message: vec![0] }
    }

    /// Whether a panic has ended it.
    pub(crate) fn has_ended(&self) -> bool {
        self.session.is_none()
    }

    /// Does the work of a call, and keeps the message of its failure.
    fn run(&mut self, work: impl FnOnce(&mut Open<'_>) -> Done) -> i32 {
        let done = match &mut self.session {
            Some(session) => {
                let mut open = Open { session: &mut **session, values: &mut self.values };
                guarded(|| work(&mut open))
            }
            None => Err(Failure {
                code: LARDER_E_PANIC,
                message: "an earlier call of this session met a fault; open another session".into(),
            }),
        };
        self.message.clear();
        let code = match done {
            Ok(code) => code,
            Err(failure) => {
                if failure.code == LARDER_E_PANIC {
                    // Its destructor might meet the same disorder.
                    forget(self.session.take());
                }
                self.message.extend(failure.message.bytes().filter(|byte| *byte != 0));
                failure.code
            }
        };
        self.message.push(0);
        code
    }
}

/// Does the work of a call of a session.
///
/// # Safety
///
/// `session` is null, or an open session that no other call is using.
pub(crate) unsafe fn call(
    session: *mut SessionHandle,
    work: impl FnOnce(&mut Open<'_>) -> Done,
) -> i32 {
    // SAFETY: the caller's promise.
    match unsafe { session.as_mut() } {
        Some(session) => session.run(work),
        None => LARDER_E_ARGUMENT,
    }
}

/// The message of the session's last call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_message(session: *const SessionHandle) -> *const c_char {
    // SAFETY: the rules of larder.h; the handle keeps the message until its next call.
    match unsafe { session.as_ref() } {
        Some(session) => session.message.as_ptr().cast(),
        None => c"the session is null".as_ptr(),
    }
}

/// The value of the session's last `larder_get` or `larder_get_and_touch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_value(
    session: *const SessionHandle,
    value_len: *mut usize,
) -> *const c_void {
    // SAFETY: the rules of larder.h; the handle keeps the value until its next call.
    unsafe {
        let session = session.as_ref();
        tell(value_len, session.map_or(0, |session| session.values.len()));
        session.map_or(std::ptr::null(), |session| session.values.as_ptr().cast())
    }
}

/// Ends a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_session_close(session: *mut SessionHandle) {
    if session.is_null() {
        return;
    }
    // SAFETY: the rules of larder.h: it was opened here, and is not used afterwards.
    let session = unsafe { Box::from_raw(session) };
    // A session that meets a fault while it ends has nobody left to tell.
    let _ = guarded(|| {
        drop(session);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use larder::{Meta, Result, SetOptions, SetOutcome};

    use super::*;

    /// A session with a fault in its `get`.
    struct Faulty;

    impl Session for Faulty {
        fn engine(&self) -> &'static str {
            "faulty"
        }

        fn get(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<Option<Meta>> {
            panic!("as a fault would")
        }

        fn set(&mut self, _: &[u8], _: &[u8], _: &SetOptions) -> Result<SetOutcome> {
            Ok(SetOutcome::Stored(None))
        }

        fn delete(&mut self, _: &[u8]) -> Result<bool> {
            Ok(true)
        }
    }

    impl Drop for Faulty {
        fn drop(&mut self) {
            panic!("a session after a fault is not dropped");
        }
    }

    #[test]
    fn a_panic_ends_the_session_and_does_not_cross_the_border() {
        let session = Box::into_raw(Box::new(SessionHandle::new(Box::new(Faulty))));
        // SAFETY: the session is open, and only this thread uses it.
        unsafe {
            let message = || CStr::from_ptr(larder_message(session)).to_str().unwrap();
            let get = |open: &mut Open<'_>| {
                open.session.get(b"key", open.values)?;
                Ok(0)
            };
            assert_eq!(call(session, |open| Ok(i32::from(open.session.delete(b"key")?))), 1);
            assert_eq!(message(), "");
            assert_eq!(call(session, get), LARDER_E_PANIC);
            assert!(message().ends_with("as a fault would"), "{}", message());
            assert_eq!(call(session, |_| Ok(0)), LARDER_E_PANIC);
            assert!(message().ends_with("open another session"), "{}", message());
            larder_session_close(session);
        }
    }
}
