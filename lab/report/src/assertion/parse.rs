//! Parses an assertion. An error takes one line, with the expected form.

use std::str::FromStr;

use larder_store::StoreUrl;

use super::limit::Comparator;
use super::metric::{METRICS, Metric};
use super::{Assertion, Selector};
use crate::model::Operation;

/// The form of an assertion.
pub const EXPECTED: &str =
    "METRIC(OPERATION, TARGET, COORDINATE=VALUE) < LIMIT, such as `p99(get, memcached:) < 1ms`";

impl FromStr for Assertion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let shown = |text: &str| shown(&StoreUrl::mask(text));
        let wrong = |why: &str| format!("`{}`: {why}; expected {EXPECTED}", shown(text));
        let (name, rest) = text.split_once('(').ok_or_else(|| wrong("there is no ("))?;
        // A URL may have brackets of its own; a limit has none.
        let (selector, rest) = rest.rsplit_once(')').ok_or_else(|| wrong("there is no )"))?;
        let metric = Metric::find(name.trim()).ok_or_else(|| {
            let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            let name = shown(name.trim());
            format!(
                "`{}`: there is no metric `{name}`; there are {}",
                shown(text),
                known.join(", ")
            )
        })?;
        let (selector, target) = Selector::parse(selector).map_err(|why| wrong(&why))?;
        let comparison = Comparator::split(rest.trim_start());
        let (comparator, limit) =
            comparison.ok_or_else(|| wrong("after the ) there is no <, <=, > or >="))?;
        let limit = metric.kind.limit(limit).ok_or_else(|| {
            let (limit, expected) = (shown(limit.trim()), metric.kind.expected());
            format!("`{}`: `{limit}` is no limit for {}; give {expected}", shown(text), metric.name)
        })?;
        let text = match &selector.target {
            Some(masked) => text.replacen(&target, masked, 1),
            None => text.to_owned(),
        };
        Ok(Self { text, metric, selector, comparator, limit })
    }
}

impl Selector {
    /// Reads the text between the brackets: an operation or `*`, then a target, then coordinates. Runs name a target by
    /// its URL without the password, and so does the selector. The target as typed is returned too.
    fn parse(text: &str) -> Result<(Self, String), String> {
        let mut pieces: Vec<&str> = text.split(',').collect();
        let first = pieces.remove(0).trim();
        let mut selector = Self { operation: operation(first)?, ..Self::default() };
        while let Some((name, value)) = pieces.last().and_then(|piece| coordinate(piece)) {
            selector.at.insert(0, (name, value));
            pieces.pop();
        }
        // The URL of several servers has commas in it.
        let target = pieces.join(",");
        let target = target.trim();
        if !pieces.is_empty() && target.is_empty() {
            return Err("there is nothing between two commas".to_owned());
        }
        selector.target = Some(StoreUrl::mask(target)).filter(|it| !["", "*"].contains(&&**it));
        Ok((selector, target.to_owned()))
    }
}

/// The operation of this name; `*` and an empty name stand for all.
fn operation(name: &str) -> Result<Option<Operation>, String> {
    if ["", "*"].contains(&name) {
        return Ok(None);
    }
    let known = Operation::ALL.into_iter().find(|known| known.as_str() == name);
    known.map(Some).ok_or_else(|| {
        let known: Vec<&str> = Operation::ALL.iter().map(|known| known.as_str()).collect();
        let name = shown(name);
        format!("there is no operation `{name}`; there are {} and * for all", known.join(", "))
    })
}

/// `threads=4` as name and value; `None` where it is part of a URL, whose options follow a question mark.
fn coordinate(piece: &str) -> Option<(String, String)> {
    let (name, value) = piece.split_once('=')?;
    let name = name.trim().replace('-', "_");
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_name.then(|| (name, value.trim().to_owned()))
}

/// The typed text, short enough for a line and harmless to a terminal.
fn shown(text: &str) -> String {
    crate::text::shorten(&crate::text::clean(text), 60)
}
