//! The targets, as typed.

use larder_store::{Catalog, Engine, Medium, StoreUrl};

use crate::error::{Result, usage};
use crate::scenario::{Sizes, Unbounded};

/// A target as planned.
#[derive(Debug, Clone)]
pub struct PlannedTarget {
    /// Its URL.
    pub url: StoreUrl,
    /// The label that reports show.
    pub name: String,
    /// Its engine.
    pub engine: &'static Engine,
    /// Where its entries take room on this machine; for a stack, the media of every tier. External servers take no
    /// room here.
    pub media: Vec<Medium>,
    /// Whether its URL names an external server, which Larder does not start.
    pub external: bool,
    /// Whether the target is a stack with a tier in the memory of the process that measures.
    pub has_tier_here: bool,
    /// The language of the guest program; `None` where this process works with the target.
    pub language: Option<&'static str>,
    /// The capacity at its points, in bytes; `None` where the target has room for everything.
    pub capacity: Option<u64>,
    /// The reason why the target takes no capacity, where some point asks for one; such a target is measured at
    /// every point.
    pub(crate) unbounded: Option<Unbounded>,
    /// Where its capacities come from.
    pub(crate) sizes: Sizes,
    /// Whether the target was typed, not listed by a scenario: a typed target that cannot run is a failure.
    pub typed: bool,
}

impl PlannedTarget {
    /// A target of this engine, which the catalog knows by the scheme of the URL.
    pub(crate) fn new(
        url: StoreUrl,
        name: String,
        engine: &'static Engine,
        typed: bool,
        catalog: &Catalog,
    ) -> Self {
        Self {
            media: catalog.media_here(&url),
            external: catalog.is_external(&url),
            has_tier_here: catalog.has_tier_here(&url),
            language: catalog.guest(engine.scheme).map(|guest| guest.language),
            url,
            name,
            engine,
            capacity: None,
            unbounded: None,
            sizes: Sizes::default(),
            typed,
        }
    }

    /// Whether a program of another language works with the target.
    pub fn is_guest(&self) -> bool {
        self.language.is_some()
    }

    /// Whether its URL names an external server, which Larder does not start.
    pub fn is_external(&self) -> bool {
        self.external
    }
}

/// The targets of these URLs. `typed` says whether a person typed them.
///
/// # Errors
///
/// A URL that cannot be read or names no engine, an empty name, and a target that stands twice.
pub fn plan_targets(urls: &[String], typed: bool, catalog: &Catalog) -> Result<Vec<PlannedTarget>> {
    let mut targets: Vec<PlannedTarget> = Vec::new();
    for text in urls {
        let url = StoreUrl::parse(text)?;
        let engine = catalog.find(url.scheme())?;
        let name = url.name().map_or_else(|| url.to_string(), str::to_owned);
        if name.trim().is_empty() {
            return Err(usage(format!(
                "{text}: its name is empty; write a name, or leave `name=` out"
            )));
        }
        let taken = |target: &&PlannedTarget| {
            target.name == name || target.url.to_string() == url.to_string()
        };
        if let Some(other) = targets.iter().find(taken) {
            return Err(usage(stands_twice(&name, &url, other)));
        }
        targets.push(PlannedTarget::new(url, name, engine, typed, catalog));
    }
    Ok(targets)
}

/// The error for two targets of the same name, or of the same URL.
fn stands_twice(name: &str, url: &StoreUrl, other: &PlannedTarget) -> String {
    if other.url.to_string() == url.to_string() {
        let fix = match url.name() {
            Some(_) => "give one of them another `name=`".into(),
            None => format!("label one of them: `{}`", labelled(url)),
        };
        return format!("target `{name}` stands twice; {fix}");
    }
    format!(
        "the name `{name}` stands twice, of {} and of {url}; give one of them another `name=`",
        other.url
    )
}

fn labelled(url: &StoreUrl) -> String {
    let text = url.to_string();
    // The options of a stack stand at its end.
    let last = text.rsplit('|').next().unwrap_or_default();
    format!("{text}{}name=other", if last.contains('?') { '&' } else { '?' })
}
