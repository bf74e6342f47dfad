//! The shared part of the engines that speak SQL: one table, one set of statements with a dialect each, one session.
//!
//! An engine brings a [`Connection`](connection::Connection) over its driver, and whatever its server or its file needs.
//! The statements are made once a store by [`Statements`](statements::Statements) from what a [`Dialect`](dialect::Dialect)
//! says; no other text of SQL is sent for an entry. Each operation is one statement, and so one round trip and one
//! transaction (`incr` is two); another one follows only where the first did not apply and the caller is to be told why.

pub mod connection;
pub mod dialect;
pub mod expiry;
mod groups;
mod many;
pub mod places;
pub mod session;
pub mod statements;
pub mod table;
mod versions;
