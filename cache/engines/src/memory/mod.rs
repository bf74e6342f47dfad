//! `memory:`: the segment cache of `mmap:`, in the memory of one process and for its threads only. A forked child works on
//! with a copy of its own, which the kernel makes page by page as the two processes write.

use std::sync::Arc;

use larder_segment::Cache;
use larder_store::{Catalog, Engine, Error, Medium, Result, Store, StoreUrl};

use crate::segment::{SegmentConfig, SegmentStore, refused};

/// The scheme, and the name in messages.
const SCHEME: &str = "memory";

/// The engine `memory:`.
pub(crate) const ENGINE: Engine = Engine {
    scheme: SCHEME,
    aliases: &[],
    summary: "Larder's segment cache, in the memory of the process",
    example: "memory:?size=256m",
    medium: Medium::Memory,
    capacity_option: Some("size"),
    connections_option: None,
    recipes: &[],
    options: || schemars::schema_for!(SegmentConfig),
    open,
};

fn open(url: &StoreUrl, _: &Catalog) -> Result<Arc<dyn Store>> {
    let config = SegmentConfig::read(SCHEME, url)?;
    if !url.path().is_empty() || !url.hosts().is_empty() {
        let reason = "it is in memory and nowhere else; write `memory:?size=256m`".into();
        return Err(Error::InvalidUrl { url: url.to_string(), reason });
    }
    let cache = Cache::private(&config.options()).map_err(|what| refused(SCHEME, None, what))?;
    Ok(Arc::new(SegmentStore::new(SCHEME, url.to_string(), cache, config, None)))
}
