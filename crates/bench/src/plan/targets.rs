//! The targets, as typed.

use larder_store::{Catalog, Engine, Medium, StoreUrl};

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
    /// Where its entries take room here; of a stack, those of each tier. External servers take none.
    pub media: Vec<Medium>,
    /// Its URL names a server that Larder does not start: an external one.
    pub external: bool,
    /// It is a stack, and some tier of it lives in the memory of the process that measures.
    pub has_tier_here: bool,
    /// The language of the program that works with it; `None` where this process does.
    pub language: Option<&'static str>,
    /// The most that it may hold, in bytes, at the points that it is for; `None` where it has room for everything.
    pub capacity: Option<u64>,
    /// Why no capacity can be asked of it, where some point asks for one; it is for every point then.
    pub unbounded: Option<&'static str>,
    /// It was typed, not listed by a scenario: that it cannot run is then a failure.
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
            typed,
        }
    }

    /// Whether a program of another language works with it.
    pub fn is_guest(&self) -> bool {
        self.language.is_some()
    }

    /// Whether its URL names a server that Larder does not start: an external one.
    pub fn is_external(&self) -> bool {
        self.external
    }
}

/// The targets of these URLs.
pub(crate) fn plan_targets(
    urls: &[String],
    typed: bool,
    catalog: &Catalog,
) -> Result<Vec<PlannedTarget>> {
    let mut targets: Vec<PlannedTarget> = Vec::new();
    for text in urls {
        let url = StoreUrl::parse(text)?;
        let engine = catalog.find(url.scheme())?;
        let name = url.name().map_or_else(|| url.to_string(), str::to_owned);
        if name.trim().is_empty() {
            return Err(usage(format!(
                "{text}: its name is empty; give it one, or leave `name=` out"
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

/// Two targets that nobody could tell apart, by their name or by all that they are.
fn stands_twice(name: &str, url: &StoreUrl, other: &PlannedTarget) -> String {
    if other.url.to_string() == url.to_string() {
        let fix = match url.name() {
            Some(_) => "give one another `name=`".into(),
            None => format!("label one: `{}`", labelled(url)),
        };
        return format!("target `{name}` stands twice; {fix}");
    }
    format!(
        "the name `{name}` stands twice, of {} and of {url}; give one another `name=`",
        other.url
    )
}

fn labelled(url: &StoreUrl) -> String {
    let text = url.to_string();
    // The options of a stack stand at its end.
    let last = text.rsplit('|').next().unwrap_or_default();
    format!("{text}{}name=other", if last.contains('?') { '&' } else { '?' })
}
