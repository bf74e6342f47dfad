//! Reports made of one realistic run, and of small runs that each show one thing.

mod charts;
mod claims;
mod edges;
mod files;
mod small;
mod snapshots;
