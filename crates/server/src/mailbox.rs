//! Where a worker gets what other threads send it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::queue::Job;
use crate::stream::Stream;
use crate::waker::{self, Waker, Woken};

/// What other threads send to a worker.
#[derive(Debug)]
pub(crate) enum Message {
    /// A new connection.
    Welcome(Stream),
    /// Requests that an assistant has answered.
    Back(Box<Job>),
}

/// The messages of a worker.
#[derive(Debug)]
pub(crate) struct Mailbox {
    messages: Mutex<Vec<Message>>,
    waker: Waker,
    /// Connections that the worker has, or will have.
    pub(crate) n_connections: AtomicUsize,
    is_closed: AtomicBool,
}

impl Mailbox {
    /// A mailbox, and the descriptor that becomes readable when there is something in it.
    pub(crate) fn new() -> io::Result<(Arc<Self>, Woken)> {
        let (waker, woken) = waker::pair()?;
        let mailbox = Self {
            messages: Mutex::default(),
            waker,
            n_connections: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        };
        Ok((Arc::new(mailbox), woken))
    }

    pub(crate) fn send(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        self.waker.wake();
    }

    /// Takes all messages.
    pub(crate) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the worker that the server ends.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether the server ends.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}
