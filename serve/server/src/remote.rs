//! The orders that a running server takes, and the handle that gives them: to signal handlers, and to a client's `shutdown`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use larder_host::waker::Waker;

/// An order to a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To end. Requests that have arrived are answered, and the paths of its sockets vanish.
    End,
    /// To end as with [`Order::End`], and to leave its sockets to another process that has them too.
    Leave,
    /// To read its certificates and its users again.
    Reload,
}

/// Gives orders to a server.
#[derive(Debug, Clone)]
pub struct Remote {
    orders: Sender<Order>,
    waker: Arc<Waker>,
}

impl Remote {
    /// A handle whose orders arrive at the receiver, and wake its thread by the waker.
    pub(crate) fn new(waker: Waker) -> (Self, Receiver<Order>) {
        let (sender, orders) = channel();
        (Self { orders: sender, waker: Arc::new(waker) }, orders)
    }

    /// Gives an order. A server that has ended already does nothing.
    pub fn give(&self, order: Order) {
        let _ = self.orders.send(order);
        self.waker.wake();
    }
}
