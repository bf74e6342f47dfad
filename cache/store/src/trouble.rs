//! Troubles that no caller learns from an error, because a thread of a store's own meets them.

use std::sync::OnceLock;

type Listener = Box<dyn Fn(&str) + Send + Sync>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Calls `listener` with each trouble of any store of this process, in one line. The first listener stays.
pub fn hear_of_troubles(listener: impl Fn(&str) + Send + Sync + 'static) {
    // A second listener has nothing to do.
    let _ = LISTENER.set(Box::new(listener));
}

/// Tells of a trouble, if anybody listens.
pub fn tell_of_trouble(line: &str) {
    if let Some(listener) = LISTENER.get() {
        listener(line);
    }
}
