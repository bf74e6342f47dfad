//! Engines, and the list of them that a program has.

use std::sync::Arc;

use schemars::Schema;

use crate::guarded::guarded;
use crate::layer::{StoreLayer, take_layers};
use crate::{Error, Guest, Result, Store, StoreUrl};

/// From this similarity on, by Jaro and Winkler, a wrong scheme is taken for a mistyped one.
const SIMILAR: f64 = 0.85;

/// A kind of cache, as `larder engines` lists it and a URL's scheme names it.
#[derive(Debug, Clone, Copy)]
pub struct Engine {
    /// The scheme of its URLs.
    pub scheme: &'static str,
    /// Other schemes of the engine: people write `rediss://`. The engine reads the written scheme from its URL.
    pub aliases: &'static [&'static str],
    /// A description, in one line.
    pub summary: &'static str,
    /// A URL that shows its most useful options.
    pub example: &'static str,
    /// The medium that holds the entries.
    pub medium: Medium,
    /// The option that limits the size in bytes; a plan sets it to hold the working set, unless the user did.
    pub capacity_option: Option<&'static str>,
    /// The option for the connections that a server which is started takes at once; a plan with many connections sets it,
    /// unless the user did. `None` where there is no such server, or it takes any number.
    pub connections_option: Option<&'static str>,
    /// The programs that must be installed for the engine: servers, an interpreter or a library. Of the servers, the
    /// engine starts the first when its URL names none, or the one that its option `server` names. Empty where it needs
    /// no program.
    pub recipes: &'static [Recipe],
    /// The schema of its options struct, from which documentation is made.
    pub options: fn() -> Schema,
    /// Opens a store. The catalog is for engines that are built from other engines. Callers use
    /// [`Engine::open_store`].
    pub open: fn(&StoreUrl, &Catalog) -> Result<Arc<dyn Store>>,
}

impl Engine {
    /// Whether a scheme is this engine's own, or one of its aliases.
    pub fn means(&self, scheme: &str) -> bool {
        self.scheme == scheme || self.aliases.contains(&scheme)
    }

    /// Whether the engine has servers, so that a host or a path in its URL names a server that Larder does not start.
    pub fn has_servers(&self) -> bool {
        self.recipes.iter().any(|recipe| recipe.role == Role::Server)
    }

    /// Whether this build has the engine.
    pub fn is_built(&self) -> bool {
        !self.recipes.iter().any(|recipe| matches!(recipe.source, Source::Feature(_)))
    }

    /// The URL that opens this engine with its defaults: a temporary store, or a managed server. A stack has no
    /// default, and is opened as its example.
    pub fn default_url(&self) -> String {
        match self.medium {
            Medium::Tiers => self.example.into(),
            _ => format!("{}:", self.scheme),
        }
    }

    /// Opens a store of this engine with the layers around it that the URL asks for. It refuses in a forked child unless it
    /// can work there.
    pub fn open_store(&self, url: &StoreUrl, catalog: &Catalog) -> Result<Arc<dyn Store>> {
        let is_asked = |layer: &&StoreLayer| url.option(layer.option).is_some();
        if catalog.guest(self.scheme).is_some()
            && let Some(layer) = catalog.layers.iter().find(is_asked)
        {
            let reason = format!(
                "option `{}` is for stores of this process, and this cache is in another program; leave it out",
                layer.option
            );
            return Err(Error::InvalidOptions { engine: self.scheme, reason });
        }
        // Which of them the engine has itself is only looked up for a URL that asks for one.
        let is_layered = catalog.layers.iter().any(|layer| is_asked(&layer));
        let layers: Vec<_> = if is_layered { self.layers(catalog).collect() } else { Vec::new() };
        let (url, wraps) = take_layers(self.scheme, url, &layers)?;
        let store = (self.open)(&url, catalog)?;
        let layered = wraps.into_iter().fold(store, |store, wrap| wrap.wrap(store));
        Ok(guarded(layered, self.scheme))
    }

    /// The options of the engine, for help and documentation.
    pub fn option_docs(&self) -> Vec<OptionDoc> {
        option_docs(&(self.options)())
    }

    /// The layers that a store of this engine can have. An option that the engine has itself is no layer: a stack of tiers
    /// makes its spans itself, and has its tiers make theirs.
    pub fn layers(&self, catalog: &Catalog) -> impl Iterator<Item = StoreLayer> {
        let own = self.option_docs();
        let is_own = move |layer: &StoreLayer| own.iter().any(|own| own.name == layer.option);
        catalog.layers.iter().copied().filter(move |layer| !is_own(layer))
    }
}

/// The medium that holds the entries of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Nowhere: the engine keeps nothing.
    Nothing,
    /// In the memory of a process.
    Memory,
    /// In files; under a path on tmpfs or ramfs these are in memory too.
    Files,
    /// In the media of its tiers; see [`Catalog::media_here`].
    Tiers,
}

/// A program that an engine needs and that is not part of Larder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// The purpose of the program.
    pub role: Role,
    /// The program's name in the option `server`; empty for the server that is started by default.
    pub server: &'static str,
    /// The program, looked for on `PATH` and among the daemons; for [`Source::Setup`], a file in its folder; for
    /// [`Source::Own`], first the program of this process.
    pub program: &'static str,
    /// Folders beyond `PATH` in which the program may lie. A `*` stands for a version, and the newest is taken.
    pub folders: &'static [&'static str],
    /// The package that has the program.
    pub source: Source,
}

/// The purpose of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The program is started as a server, unless the URL names a running server.
    Server,
    /// The program runs the program of a guest.
    Interpreter,
    /// The program is a library that is loaded into this process.
    Library,
}

/// The package that has a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The Debian package of this name.
    Debian(&'static str),
    /// `./setup.sh --with` this name, into a folder of this name of the user's data.
    Setup(&'static str),
    /// A build of Larder with this feature of `larder-engines`.
    Feature(&'static str),
    /// No registry: a person follows the instructions on this page.
    Page(&'static str),
    /// Larder itself: the program `larder`, which this process may be.
    Own,
}

impl Source {
    /// The command that installs the program, or the address of the instructions.
    pub fn command(self) -> String {
        match self {
            Self::Debian(package) => format!("apt-get install {package}"),
            Self::Setup(name) => format!("./setup.sh --with {name}"),
            Self::Feature(name) => {
                format!("cargo build --release --features larder-engines/{name}")
            }
            Self::Page(address) => format!("see {address}"),
            Self::Own => {
                "cargo build --release; then put target/release/larder on PATH or name it by LARDER_PROGRAM".into()
            }
        }
    }
}

impl Recipe {
    /// A program of a Debian package.
    pub const fn new(role: Role, program: &'static str, package: &'static str) -> Self {
        Self { role, server: "", program, folders: &[], source: Source::Debian(package) }
    }

    /// A server from a Debian package.
    pub const fn server(program: &'static str, package: &'static str) -> Self {
        Self::new(Role::Server, program, package)
    }
}

/// One option of an engine, as documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionDoc {
    /// Its name in the URL.
    pub name: String,
    /// A description, in one paragraph.
    pub text: String,
    /// The default value; empty where there is no default.
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

/// The engines that a program has, in the order of the documentation: first the engines that work in this process, then
/// the guests. A guest is a cache inside another language, reached through a program in that language.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    engines: &'static [Engine],
    guests: &'static [Guest],
    layers: &'static [StoreLayer],
}

impl Catalog {
    /// A catalog of these engines. Their schemes and aliases must differ.
    pub const fn new(engines: &'static [Engine]) -> Self {
        Self { engines, guests: &[], layers: &[] }
    }

    /// The same catalog with these guests. Their schemes must differ from all others.
    #[must_use]
    pub const fn with_guests(self, guests: &'static [Guest]) -> Self {
        Self { guests, ..self }
    }

    /// The same catalog, whose native stores can have these layers around them: the innermost first, whatever the order of
    /// the options in a URL. No engine may have an option of the same name.
    #[must_use]
    pub const fn with_layers(self, layers: &'static [StoreLayer]) -> Self {
        Self { layers, ..self }
    }

    /// The layers that a native store can have around it, the innermost first.
    pub fn layers(&self) -> &'static [StoreLayer] {
        self.layers
    }

    /// The engines and then the guests, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = &'static Engine> + use<> {
        self.engines.iter().chain(self.guests.iter().map(|guest| &guest.engine))
    }

    /// The engines that work in this process, in the order of the documentation.
    pub fn natives(&self) -> impl Iterator<Item = &'static Engine> + use<> {
        self.engines.iter()
    }

    /// The guest with this scheme; `None` where its engine works in this process.
    pub fn guest(&self, scheme: &str) -> Option<&'static Guest> {
        self.guests.iter().find(|guest| guest.engine.means(scheme))
    }

    /// The engine with this scheme or alias.
    pub fn find(&self, scheme: &str) -> Result<&'static Engine> {
        self.iter().find(|engine| engine.means(scheme)).ok_or_else(|| Error::UnknownScheme {
            scheme: scheme.into(),
            fix: self.similar(scheme).map_or_else(
                || {
                    let known = self.iter().map(|engine| format!("{}:", engine.scheme));
                    format!("known: {}", known.collect::<Vec<_>>().join(" "))
                },
                |similar| format!("write `{similar}:`"),
            ),
        })
    }

    /// The scheme that is most like this one, if any is: that of a guest without its language, or else a mistyped one.
    fn similar(&self, scheme: &str) -> Option<&'static str> {
        let schemes = || self.guests.iter().map(|guest| guest.engine.scheme);
        let is_cache = |whole: &&str| whole.split_once('+').is_some_and(|(_, own)| own == scheme);
        if let Some(guest) = schemes().find(is_cache) {
            return Some(guest);
        }
        let alike =
            |engine: &'static Engine| (strsim::jaro_winkler(engine.scheme, scheme), engine.scheme);
        let best = self.iter().map(alike).max_by(|one, other| one.0.total_cmp(&other.0));
        best.filter(|(alike, _)| *alike > SIMILAR).map(|(_, scheme)| scheme)
    }

    /// The engine that keeps nothing, as the baseline of this scheme's measurements: for a guest that of its language.
    pub fn keeps_nothing(&self, scheme: &str) -> Option<&'static Engine> {
        let Some(guest) = self.guest(scheme) else {
            return self.natives().find(|engine| engine.medium == Medium::Nothing);
        };
        let of_language = self.guests.iter().filter(|other| other.language == guest.language);
        of_language.map(|other| &other.engine).find(|engine| engine.medium == Medium::Nothing)
    }

    /// The option that limits the size of an engine in bytes, whether or not a plan sets it by itself. A guest with
    /// servers has the option of their engine.
    pub fn size_option(&self, engine: &Engine) -> Option<&'static str> {
        match self.guest(engine.scheme) {
            None => engine.capacity_option,
            Some(Guest { servers: Some(servers), .. }) => self.find(servers).ok()?.capacity_option,
            Some(guest) => guest.size_option,
        }
    }

    /// Whether a URL names a server that Larder does not start: an external one. For a stack, whether any tier does.
    pub fn is_external(&self, url: &StoreUrl) -> bool {
        self.tiers(url).iter().any(|tier| self.is_external_tier(tier))
    }

    /// The media that hold the entries of a URL here; for a stack, those of each tier. An external server has no medium
    /// here.
    pub fn media_here(&self, url: &StoreUrl) -> Vec<Medium> {
        let mut tiers = self.tiers(url);
        tiers.retain(|tier| !self.is_external_tier(tier));
        tiers.iter().map(|(engine, _)| engine.medium).collect()
    }

    /// Whether a URL is a stack, and some tier of it lives in the memory of the process that measures.
    pub fn has_tier_here(&self, url: &StoreUrl) -> bool {
        let is_here = |engine: &Engine| match self.guest(engine.scheme) {
            Some(guest) => guest.in_memory,
            None => !engine.has_servers(),
        };
        !url.tiers().is_empty() && self.tiers(url).iter().any(|(engine, _)| is_here(engine))
    }

    /// The tiers of a URL, or the URL itself where it is no stack, each with its engine. A tier of a guest's stack may
    /// leave out the language, which is that of the whole stack. Tiers of unknown engines are left out.
    fn tiers<'a>(&self, url: &'a StoreUrl) -> Vec<(&'static Engine, &'a StoreUrl)> {
        if url.tiers().is_empty() {
            return self.find(url.scheme()).map(|engine| (engine, url)).into_iter().collect();
        }
        let guest = self.guest(url.scheme());
        let engine = |tier: &StoreUrl| match guest {
            Some(guest) => self.find(&guest.scheme_of(tier.scheme())),
            None => self.find(tier.scheme()),
        };
        url.tiers().iter().filter_map(|tier| Some((engine(tier).ok()?, tier))).collect()
    }

    fn is_external_tier(&self, (engine, url): &(&'static Engine, &StoreUrl)) -> bool {
        let of_guest = self.guest(engine.scheme).is_some_and(|guest| guest.servers.is_some());
        let is_named = !(url.hosts().is_empty() && url.path().is_empty());
        is_named && (of_guest || engine.has_servers())
    }

    /// Opens the store behind a URL.
    pub fn open(&self, url: &StoreUrl) -> Result<Arc<dyn Store>> {
        self.find(url.scheme())?.open_store(url, self)
    }
}
