//! The shared part of the engines that speak SQL: one table, one set of statements with a dialect each, one session.
//!
//! An engine adds a [`Connection`](connection::Connection) over its driver, and the needs of its server or file.
//! [`Statements`](statements::Statements) makes the statements once for each store, from the texts of a
//! [`Dialect`](dialect::Dialect); no other SQL is sent for an entry. Each operation is one statement, and so one round
//! trip and one transaction. `incr` and `get_and_touch` are two, of which the second requires that the first still
//! holds. Another statement follows only where the first did not apply and the caller needs the reason. A batch of
//! writes is one transaction.

#[cfg(any(feature = "mysql", feature = "postgresql"))]
pub mod attempts;
mod batch;
pub mod connection;
pub mod dialect;
pub mod expiry;
mod groups;
mod many;
mod operations;
pub mod places;
pub mod session;
pub mod statements;
pub mod table;
mod versions;
