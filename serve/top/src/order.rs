//! The orders of the rows, which the user goes through with one key.

use crate::server::Server;

/// An order of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As the user named them.
    Given,
    Address,
    Requests,
    HitRate,
    Latency,
    Connections,
    Fill,
    Evictions,
    Cpu,
}

/// Every order, in the order of the key.
const ORDERS: [Order; 9] = [
    Order::Given,
    Order::Address,
    Order::Requests,
    Order::HitRate,
    Order::Latency,
    Order::Connections,
    Order::Fill,
    Order::Evictions,
    Order::Cpu,
];

impl Order {
    /// The next order, and the first after the last.
    pub(crate) fn next(self) -> Self {
        let at = ORDERS.iter().position(|order| *order == self).unwrap_or(0);
        ORDERS[(at + 1) % ORDERS.len()]
    }

    /// The order in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Given => "as named",
            Self::Address => "by server",
            Self::Requests => "by requests",
            Self::HitRate => "by lowest hit rate",
            Self::Latency => "by p99",
            Self::Connections => "by connections",
            Self::Fill => "by fill",
            Self::Evictions => "by evictions",
            Self::Cpu => "by CPU",
        }
    }

    /// The numbers of the servers in this order: the server that needs attention comes first. A server with an unknown
    /// figure comes last, and so does one that is down.
    pub(crate) fn sorted(self, servers: &[Server]) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..servers.len()).collect();
        match self {
            Self::Given => {}
            Self::Address => sorted.sort_by_key(|server| &servers[*server].address),
            _ => sorted.sort_by(|one, other| {
                let [one, other] = [one, other].map(|server| self.weight(&servers[*server]));
                other.total_cmp(&one)
            }),
        }
        sorted
    }

    /// The weight that brings a server forward.
    fn weight(self, server: &Server) -> f64 {
        let figures = &server.figures;
        let weight = match self {
            Self::Given | Self::Address => None,
            Self::Requests => figures.requests(),
            Self::HitRate => figures.hit_rate().map(|rate| -rate),
            Self::Latency => figures.p99_us,
            Self::Connections => figures.connections,
            Self::Fill => figures.fill(),
            Self::Evictions => figures.evictions,
            Self::Cpu => figures.cpu,
        };
        weight.unwrap_or(f64::NEG_INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::sample::Figures;

    fn servers() -> Vec<Server> {
        let of = |(address, gets, misses): (&str, Option<f64>, f64)| {
            let mut server = Server::new(address.to_owned(), Instant::now());
            let hits = gets.map(|gets| gets - misses);
            server.figures = Figures { gets, hits, misses: Some(misses), ..Figures::default() };
            server
        };
        [("c", Some(10.0), 1.0), ("a", None, 0.0), ("b", Some(20.0), 0.0)].map(of).to_vec()
    }

    #[test]
    fn the_server_that_needs_attention_comes_first_and_the_unknown_last() {
        let servers = servers();
        assert_eq!(Order::Given.sorted(&servers), [0, 1, 2]);
        assert_eq!(Order::Address.sorted(&servers), [1, 2, 0]);
        assert_eq!(Order::Requests.sorted(&servers), [2, 0, 1]);
        assert_eq!(Order::HitRate.sorted(&servers), [0, 2, 1]);
        assert_eq!(Order::Cpu.sorted(&servers), [0, 1, 2]);
    }

    #[test]
    fn the_key_goes_through_every_order() {
        let mut order = Order::Given;
        for next in ORDERS.iter().cycle().skip(1).take(ORDERS.len()) {
            order = order.next();
            assert_eq!(order, *next);
        }
        assert_eq!(order, Order::Given);
    }
}
