//! Time for servers that share the processors with other tests.

use std::time::Duration;

use larder_store::{Catalog, Engine, StoreUrl};

/// The longest wait for an event that always comes, though a busy machine may delay it.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// The longest wait for an answer that must not fail because of the machine's other work.
const ANSWER: &str = "60s";

/// The URL with a timeout that no sound answer reaches, where the engine has such an option and the URL does not set
/// it.
#[must_use]
pub fn patient(catalog: &Catalog, url: StoreUrl) -> StoreUrl {
    let docs = catalog.find(url.scheme()).map(Engine::option_docs).unwrap_or_default();
    if docs.iter().any(|option| option.name == "timeout") {
        url.or_option("timeout", ANSWER)
    } else {
        url
    }
}
