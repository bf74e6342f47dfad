//! Resources that Larder takes of the machine for a while, and gives back however it ends.
//!
//! [`scratch`] makes directories that vanish with the process and [`mount`] file systems that do, [`managed`] starts real
//! servers and stops them again, [`relay`] puts a longer wire before them, [`cgroup`] limits the memory of all of it, and
//! [`disk`] asks about file systems. A watchdog process cleans up after one that is killed.

pub mod cgroup;
pub mod disk;
pub mod managed;
pub mod mount;
pub mod relay;
pub mod scratch;
