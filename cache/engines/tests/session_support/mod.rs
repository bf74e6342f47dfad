//! Helpers for stores and sessions in tests of real servers.

use std::sync::Arc;

use larder_engines::ENGINES;
use larder_store::{Error, Session, Store, StoreUrl};

pub(crate) fn open(url: &str) -> Arc<dyn Store> {
    try_open(url).unwrap()
}

/// A URL with a timeout keeps it, for tests of silence; any other URL gets the time that a busy machine needs.
pub(crate) fn try_open(url: &str) -> Result<Arc<dyn Store>, Error> {
    ENGINES.open(&larder_testkit::patient(&ENGINES, StoreUrl::parse(url)?))
}

/// The message of an error, which must be of this kind and one line.
pub(crate) fn failure<T>(result: Result<T, Error>, kind: &str) -> String {
    let error = result.err().unwrap_or_else(|| panic!("no error; `{kind}` was to come"));
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    assert!(!message.contains('\n'), "{message}");
    message
}

pub(crate) fn set(session: &mut dyn Session, key: &str, value: &[u8]) {
    larder_testkit::set(session, key, value, None);
}

pub(crate) fn get(session: &mut dyn Session, key: &str) -> Option<Vec<u8>> {
    larder_testkit::get(session, key)
}
