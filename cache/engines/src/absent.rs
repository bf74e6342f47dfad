//! Engines that this build was made without. The catalog lists them, so that a scenario that names such an engine goes
//! on and reports the reason.

#![cfg_attr(
    all(
        feature = "embedded",
        feature = "bdb",
        feature = "fjall",
        feature = "memcached",
        feature = "redis",
        feature = "postgresql",
        feature = "mysql",
        feature = "mongodb",
        not(test)
    ),
    expect(dead_code, reason = "this build has every engine")
)]

use std::sync::Arc;

use larder_store::{Catalog, Engine, Error, Medium, Recipe, Result, Role, Source, Store, StoreUrl};
use schemars::{Schema, json_schema};

/// An engine that only a build with its feature has. `needs` names the feature.
pub(crate) const fn engine(
    scheme: &'static str,
    aliases: &'static [&'static str],
    needs: &'static [Recipe],
) -> Engine {
    Engine {
        scheme,
        aliases,
        summary: "not in this build",
        example: "",
        medium: Medium::Nothing,
        capacity_option: None,
        connections_option: None,
        recipes: needs,
        options: no_options,
        open,
    }
}

/// The feature that adds an engine: the feature has the engine's name.
pub(crate) const fn needs(scheme: &'static str) -> Recipe {
    let source = Source::Feature(scheme);
    Recipe { role: Role::Library, server: "", program: scheme, folders: &[], source }
}

fn no_options() -> Schema {
    json_schema!({})
}

fn open(url: &StoreUrl, catalog: &Catalog) -> Result<Arc<dyn Store>> {
    let Engine { scheme, recipes, .. } = catalog.find(url.scheme())?;
    let commands: Vec<String> = recipes.iter().map(|recipe| recipe.source.command()).collect();
    Err(Error::Unavailable {
        engine: scheme,
        what: format!("this build has no {scheme}:; {}", commands.join(" ")),
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_this_build_lacks_names_the_feature_that_brings_it() {
        const CATALOG: Catalog =
            Catalog::new(&[engine("lacking", &["lackings"], &[needs("lacking")])]);
        for url in ["lacking:?size=4", "lackings://host:1/"] {
            let url = StoreUrl::parse(url).unwrap();
            assert!(!CATALOG.find(url.scheme()).unwrap().is_built());
            assert_eq!(
                CATALOG.open(&url).unwrap_err().to_string(),
                "lacking: this build has no lacking:; cargo build --release --features larder-engines/lacking"
            );
        }
    }
}
