//! The orders that a delay proxy reads from its standard input.

use std::time::Duration;

/// The treatment of the bytes that pass a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Order {
    /// The additional wait of a new connection.
    pub(super) delay: Duration,
    /// The time for which every chunk on its way to a server is held.
    pub(super) held: Duration,
    /// The most bytes a second to a client on one connection; 0 is any number.
    pub(super) rate: u64,
}

pub(super) fn to_order(order: Order) -> String {
    let Order { delay, held, rate } = order;
    format!("hold {} {} {rate}\n", delay.as_nanos(), held.as_nanos())
}

/// An order, from a line of standard input.
pub(super) fn read_order(line: &str) -> Option<Order> {
    let mut words = line.strip_prefix("hold ")?.split(' ').map(|word| word.parse::<u64>().ok());
    let mut word = || words.next().flatten();
    let [delay, held] = [word()?, word()?].map(Duration::from_nanos);
    Some(Order { delay, held, rate: word()? })
}
