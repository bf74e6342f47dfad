//! The options by which the URL of any store asks for layers.

use std::fmt;
use std::sync::Arc;

use schemars::Schema;

use crate::{Error, OptionDoc, Result, Store, StoreUrl};

/// A layer as a catalog lists it: an option that the URL of every native store takes.
#[derive(Debug, Clone, Copy)]
pub struct StoreLayer {
    /// The name of the option.
    pub option: &'static str,
    /// The schema of its settings, whose description is the documentation of the option.
    pub schema: fn() -> Schema,
    /// Reads the text of the option; `None` where it says that there is to be no layer. The error is one line for the
    /// person who typed the text.
    pub read: fn(&str) -> Result<Option<Wrap>, String>,
}

/// Puts a layer around a store.
pub struct Wrap(Box<WrapFn>);

type WrapFn = dyn FnOnce(Arc<dyn Store>) -> Arc<dyn Store>;

impl Wrap {
    /// The layer that this function puts around a store.
    pub fn new(wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store> + 'static) -> Self {
        Self(Box::new(wrap))
    }

    /// The store with the layer around it.
    pub fn wrap(self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        (self.0)(store)
    }
}

impl fmt::Debug for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrap").finish_non_exhaustive()
    }
}

impl StoreLayer {
    /// The option, for help and documentation.
    pub fn docs(&self) -> OptionDoc {
        let schema = (self.schema)();
        let text = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
        OptionDoc { name: self.option.into(), text: text.replace('\n', " "), default: "off".into() }
    }
}

/// Takes the options of layers off a URL. The answer is the URL that the engine reads, and the layers that the URL asks
/// for, the innermost first. All options are read before the engine starts anything.
pub(crate) fn take_layers(
    engine: &'static str,
    url: &StoreUrl,
    layers: &[StoreLayer],
) -> Result<(StoreUrl, Vec<Wrap>)> {
    let mut wraps = Vec::new();
    for layer in layers {
        let Some(text) = url.option(layer.option) else { continue };
        let wrap = (layer.read)(text).map_err(|reason| Error::InvalidOptions {
            engine,
            reason: format!("option `{}`: {reason}", layer.option),
        })?;
        wraps.extend(wrap);
    }
    let is_ours = |name: &str| layers.iter().any(|layer| layer.option == name);
    Ok((url.without_options(is_ours), wraps))
}
