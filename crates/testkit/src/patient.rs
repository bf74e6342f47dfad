//! Time for servers that share the processors with other tests.

use larder_store::{Catalog, Engine, StoreUrl};

/// How long an answer may take that is not to fail for what else the machine does.
const PATIENCE: &str = "60s";

/// The URL with a timeout that is never waited for in vain, where the engine has one and the URL does not say it.
#[must_use]
pub fn patient(catalog: &Catalog, url: StoreUrl) -> StoreUrl {
    let docs = catalog.find(url.scheme()).map(Engine::option_docs).unwrap_or_default();
    if docs.iter().any(|option| option.name == "timeout") {
        url.or_option("timeout", PATIENCE)
    } else {
        url
    }
}
