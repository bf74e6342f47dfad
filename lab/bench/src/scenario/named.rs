//! The meaning of a name: a scenario or a set of them, built in, made of an argument, or in a file.

use std::borrow::Cow;
use std::path::Path;

use super::{BUILT_IN, BUILT_IN_SETS, GeneratedScenario, Scenario, Set, hit_ratio, twitter, web};
use crate::error::{Error, Result, usage};

/// The scenarios that are generated from an argument. A new one is a file and a line here.
pub const GENERATED: &[GeneratedScenario] = &[web::WEB, twitter::TWITTER, hit_ratio::HIT_RATIO];

/// The scenario or set that a user named.
#[derive(Debug, Clone, PartialEq)]
pub enum Named {
    /// One comparison.
    Scenario(Box<Scenario>),
    /// Several comparisons.
    Set(Set),
}

impl Named {
    /// The scenario or the set with a name, or in a file. A file that lists `scenarios` is a set.
    pub fn find(name: &str) -> Result<Self> {
        Self::find_from(Path::new(""), name)
    }

    /// Finds a name; relative files are looked up in `folder`, not in the working directory.
    pub(super) fn find_from(folder: &Path, name: &str) -> Result<Self> {
        let text = Self::text_from(folder, name)?;
        let is_ours = generated(name).is_some() || built_in(name).is_some();
        let stem = Path::new(name).file_stem().filter(|_| !is_ours);
        let stem = stem.map_or_else(|| name.into(), |stem| stem.to_string_lossy());
        let is_set = |table: toml::Table| table.contains_key("scenarios");
        if toml::from_str(&text).is_ok_and(is_set) {
            let folder = folder.join(name);
            let folder = folder.parent().filter(|_| !is_ours).unwrap_or(Path::new(""));
            return Ok(Self::Set(Set::parse(&stem, &text, folder)?));
        }
        Ok(Self::Scenario(Box::new(Scenario::parse(&stem, &text)?)))
    }

    /// The text behind a name, or in a file.
    pub fn text(name: &str) -> Result<Cow<'static, str>> {
        Self::text_from(Path::new(""), name)
    }

    fn text_from(folder: &Path, name: &str) -> Result<Cow<'static, str>> {
        if let Some(text) = built_in(name) {
            return Ok(text.into());
        }
        if let Some((scenario, argument)) = generated(name) {
            return scenario.text(argument, folder).map(Cow::Owned);
        }
        let path = &folder.join(name);
        if !name.contains('/') && path.extension().is_none() && !path.exists() {
            let known = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
            let generated = GENERATED
                .iter()
                .map(|GeneratedScenario { name, argument, .. }| format!("{name}:{argument}"));
            let sets = BUILT_IN_SETS.iter().map(|(name, _)| (*name).to_owned());
            let known: Vec<_> = known.chain(generated).chain(sets).collect();
            let known = known.join(", ");
            return Err(usage(format!(
                "no scenario `{name}`; built in: {known}; or name a .toml file"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            what: "the scenario",
            path: path.into(),
            source,
        })?;
        Ok(text.into())
    }
}

/// The text under a name inside the binary.
fn built_in(name: &str) -> Option<&'static str> {
    let mut all = BUILT_IN.iter().chain(BUILT_IN_SETS);
    all.find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The generated scenario that a name with or without an argument means; `None` for other names.
fn generated(name: &str) -> Option<(&'static GeneratedScenario, Option<&str>)> {
    let (name, argument) = match name.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (name, None),
    };
    Some((GENERATED.iter().find(|scenario| scenario.name == name)?, argument))
}
