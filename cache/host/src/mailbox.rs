//! Where an event loop gets what other threads send it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::waker::{self, Waker, Woken};

/// The messages of an event loop.
#[derive(Debug)]
pub struct Mailbox<M> {
    messages: Mutex<Vec<M>>,
    waker: Waker,
    /// Connections that the event loop has, or will have.
    pub n_connections: AtomicUsize,
    is_closed: AtomicBool,
}

impl<M> Mailbox<M> {
    /// A mailbox, and the descriptor that becomes readable when there is something in it.
    ///
    /// # Errors
    ///
    /// No descriptors are left.
    pub fn new() -> io::Result<(Arc<Self>, Woken)> {
        let (waker, woken) = waker::pair()?;
        let mailbox = Self {
            messages: Mutex::default(),
            waker,
            n_connections: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        };
        Ok((Arc::new(mailbox), woken))
    }

    /// Sends a message, and wakes the event loop.
    pub fn send(&self, message: M) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        self.waker.wake();
    }

    /// Takes all messages.
    pub fn take(&self) -> Vec<M> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the event loop that the server ends.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether the server ends.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}
