//! Resources that Larder borrows from the machine and gives back, however it ends.
//!
//! [`scratch`] makes directories, and [`mount`] file systems, that vanish with the process. [`managed`] starts real
//! servers and stops them again, [`delay_proxy`] puts a longer wire before them, and [`cgroup`] limits the memory of them
//! all. [`disk`] asks about file systems, [`epoll`] waits for many sockets, [`inherit`] gives descriptors to a child, and
//! [`limits`] raises those of open files. [`listen`], [`connect`], [`stream`], [`tls`], [`slots`],
//! [`mailbox`] and [`waker`] are the parts of a server's loop. A watchdog process cleans up after a killed process.

pub mod address;
pub mod cgroup;
pub mod connect;
pub mod delay_proxy;
pub mod destination;
pub mod disk;
pub mod epoll;
pub mod inherit;
pub mod limits;
pub mod listen;
pub mod mailbox;
pub mod managed;
pub mod mount;
pub mod place;
pub mod scratch;
pub mod slots;
pub mod stream;
pub mod tls;
pub mod waker;
mod watchdog;
