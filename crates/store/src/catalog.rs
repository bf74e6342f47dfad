//! Engines, and the list of them that a program has.

use std::sync::Arc;

use schemars::Schema;

use crate::{Error, Result, Store, StoreUrl};

/// A kind of cache: what `larder engines` lists and what a URL's scheme names.
#[derive(Debug, Clone, Copy)]
pub struct Engine {
    /// The scheme of its URLs.
    pub scheme: &'static str,
    /// Other schemes that mean it: people write `rediss://`. It sees in its URL which one was written.
    pub aliases: &'static [&'static str],
    /// What it is, in one line.
    pub summary: &'static str,
    /// A URL that shows its most useful options.
    pub example: &'static str,
    /// Where its entries take room.
    pub medium: Medium,
    /// The option that bounds its size in bytes; a plan sets it to hold the working set when the user did not.
    pub capacity_option: Option<&'static str>,
    /// The real server that stands behind it when its URL names no host.
    pub recipe: Option<Recipe>,
    /// The schema of its options struct, from which documentation is made.
    pub options: fn() -> Schema,
    /// Opens a store. The catalog is for engines that are built from others.
    pub open: fn(&StoreUrl, &Catalog) -> Result<Arc<dyn Store>>,
}

impl Engine {
    /// Whether a scheme is this engine's own, or one of its aliases.
    pub fn means(&self, scheme: &str) -> bool {
        self.scheme == scheme || self.aliases.contains(&scheme)
    }

    /// The URL that opens this engine with its defaults: a temporary store, or a managed server. A stack has no default, and
    /// is opened as its example.
    pub fn default_url(&self) -> String {
        match self.medium {
            Medium::Tiers => self.example.into(),
            _ => format!("{}:", self.scheme),
        }
    }

    /// Its options, for help and documentation.
    pub fn option_docs(&self) -> Vec<OptionDoc> {
        option_docs(&(self.options)())
    }
}

/// Where the entries of an engine take room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Nowhere: it keeps nothing.
    Nothing,
    /// In the memory of a process.
    Memory,
    /// In files; under a path on tmpfs or ramfs that is memory too.
    Files,
    /// Wherever its tiers take theirs; see [`Catalog::media`].
    Tiers,
}

/// The real server that an engine can start for itself.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// The program, looked for on `PATH`.
    pub program: &'static str,
    /// The Debian package that brings it.
    pub package: &'static str,
}

/// One option of an engine, as documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionDoc {
    /// Its name in the URL.
    pub name: String,
    /// What it does, in one paragraph.
    pub text: String,
    /// Its value when it is not given; empty where there is none.
    pub default: String,
}

/// The options that a schema of an options struct describes, in the order of its fields.
pub fn option_docs(schema: &Schema) -> Vec<OptionDoc> {
    let Some(properties) = schema.get("properties").and_then(|properties| properties.as_object())
    else {
        return Vec::new();
    };
    let doc = |(name, field): (&String, &serde_json::Value)| OptionDoc {
        name: name.clone(),
        text: field
            .get("description")
            .and_then(|text| text.as_str())
            .unwrap_or_default()
            .replace('\n', " "),
        default: match field.get("default") {
            None => String::new(),
            Some(value) => match (value.as_str(), value.as_bool()) {
                (Some(text), _) => text.into(),
                (_, Some(true)) => "on".into(),
                (_, Some(false)) => "off".into(),
                _ if value.is_null() => String::new(),
                _ => value.to_string(),
            },
        },
    };
    properties.iter().map(doc).collect()
}

/// The engines that a program has, in the order of the documentation: those that work in this process, and behind them
/// its guests, caches that live inside another language and are reached through a program in it.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    engines: &'static [Engine],
    guests: &'static [Engine],
}

impl Catalog {
    /// A catalog of these engines. Their schemes and aliases must differ.
    pub const fn new(engines: &'static [Engine]) -> Self {
        Self { engines, guests: &[] }
    }

    /// The same catalog with these guests. Their schemes must differ from all others.
    #[must_use]
    pub const fn with_guests(self, guests: &'static [Engine]) -> Self {
        Self { engines: self.engines, guests }
    }

    /// The engines and then the guests, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = &'static Engine> + use<> {
        self.engines.iter().chain(self.guests)
    }

    /// The engines that work in this process, in the order of the documentation.
    pub fn natives(&self) -> impl Iterator<Item = &'static Engine> + use<> {
        self.engines.iter()
    }

    /// The engine with this scheme or alias.
    pub fn find(&self, scheme: &str) -> Result<&'static Engine> {
        self.iter().find(|engine| engine.means(scheme)).ok_or_else(|| Error::UnknownScheme {
            scheme: scheme.into(),
            known: self
                .iter()
                .map(|engine| format!("{}:", engine.scheme))
                .collect::<Vec<_>>()
                .join(" "),
        })
    }

    /// Whether a URL names a server that Larder does not start: somebody's. Of a stack, whether any tier does.
    pub fn is_external(&self, url: &StoreUrl) -> bool {
        let names_a_server = || {
            let is_named = !(url.hosts().is_empty() && url.path().is_empty());
            // What keeps files has its own behind a path, also where a program must be installed for it.
            let has_server =
                |engine: &Engine| engine.recipe.is_some() && engine.medium != Medium::Files;
            is_named && self.find(url.scheme()).is_ok_and(has_server)
        };
        match url.tiers() {
            [] => names_a_server(),
            tiers => tiers.iter().any(|tier| self.is_external(tier)),
        }
    }

    /// Where the entries of a URL take room; of a stack, those of each tier.
    pub fn media(&self, url: &StoreUrl) -> Vec<Medium> {
        match url.tiers() {
            [] => self.find(url.scheme()).map(|engine| engine.medium).into_iter().collect(),
            tiers => tiers.iter().flat_map(|tier| self.media(tier)).collect(),
        }
    }

    /// Opens the store behind a URL.
    pub fn open(&self, url: &StoreUrl) -> Result<Arc<dyn Store>> {
        (self.find(url.scheme())?.open)(url, self)
    }
}
