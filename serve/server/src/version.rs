//! The versions in answers: of memcached, whose protocols the server speaks, and of this program.

/// The version of memcached whose protocols the server speaks, as clients read it.
pub const MEMCACHED_VERSION: &str = "1.6.39";

/// The version of memcached whose protocols are spoken, and this program's.
pub(crate) fn own_version() -> String {
    format!("{MEMCACHED_VERSION}-larder-{}", env!("CARGO_PKG_VERSION"))
}
