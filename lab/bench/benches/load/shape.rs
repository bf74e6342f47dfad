//! The shapes of load that are measured, and the goal of each.

/// What each request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Get,
    Set,
}

/// A shape of load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    pub(crate) connections: usize,
    pub(crate) pipeline: usize,
    pub(crate) keys_a_request: usize,
    pub(crate) value_bytes: usize,
    pub(crate) keys: usize,
    /// The most client CPU an operation, as a multiple of the floor's; `None` without a goal.
    pub(crate) goal: Option<f64>,
}

/// The shapes, in the order of the report.
pub(crate) const SHAPES: [Shape; 5] = [
    Shape { name: "get, 40 connections", connections: 40, goal: Some(1.15), ..GET },
    Shape { name: "get, 4 connections, pipeline 16", pipeline: 16, goal: Some(1.4), ..GET },
    Shape { name: "multi-get of 100, 4 connections", keys_a_request: 100, goal: Some(1.3), ..GET },
    Shape { name: "set, 40 connections", access: Access::Set, connections: 40, ..GET },
    Shape { name: "set, 4 connections, pipeline 16", access: Access::Set, pipeline: 16, ..GET },
];

/// Reads of 100 bytes, on four connections.
const GET: Shape = Shape {
    name: "get, 4 connections",
    access: Access::Get,
    connections: 4,
    pipeline: 1,
    keys_a_request: 1,
    value_bytes: 100,
    keys: 20_000,
    goal: None,
};
