//! The targets, as typed.

use larder_store::{Catalog, Engine, StoreUrl};

use crate::error::{Result, usage};

/// A target as planned.
#[derive(Debug, Clone)]
pub struct PlannedTarget {
    /// Its URL.
    pub url: StoreUrl,
    /// The label that reports show.
    pub name: String,
    /// Its engine.
    pub engine: &'static Engine,
    /// It was typed, not listed by a scenario: that it cannot run is then a failure.
    pub typed: bool,
}

impl PlannedTarget {
    /// Whether its URL names a server that Larder does not start: somebody's.
    pub fn is_external(&self) -> bool {
        let named = !(self.url.hosts().is_empty() && self.url.path().is_empty());
        self.engine.recipe.is_some() && named
    }
}

pub(super) fn plan_targets(
    urls: &[String],
    typed: bool,
    catalog: &Catalog,
) -> Result<Vec<PlannedTarget>> {
    let mut targets: Vec<PlannedTarget> = Vec::new();
    for text in urls {
        let url = StoreUrl::parse(text)?;
        let engine = catalog.find(url.scheme())?;
        let name = url.name().map_or_else(|| url.to_string(), str::to_owned);
        let taken = |target: &PlannedTarget| {
            target.name == name || target.url.to_string() == url.to_string()
        };
        if targets.iter().any(taken) {
            let fix = match url.name() {
                Some(_) => "give one another `name=`".into(),
                None => format!("label one: `{}`", labelled(&url)),
            };
            return Err(usage(format!("target `{name}` stands twice; {fix}")));
        }
        targets.push(PlannedTarget { url, name, engine, typed });
    }
    Ok(targets)
}

fn labelled(url: &StoreUrl) -> String {
    let text = url.to_string();
    format!("{text}{}name=other", if text.contains('?') { '&' } else { '?' })
}
