//! The shared part of `memory:` and `mmap:`: a segment cache as a store, and sessions on it.

mod config;
mod leases;
mod session;
mod store;

pub(crate) use config::{SegmentConfig, refused};
pub(crate) use store::SegmentStore;
