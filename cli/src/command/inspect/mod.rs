//! `larder inspect`: the fill and the age of the segments of a region in a file.
//!
//! `larder-segment` itself reads the file, not a store: opening a store makes the process one of the region's users. A
//! lone user reinitialises its locks, and empties the region where it was lost with the machine.

mod ages;
mod facts;
mod json;
mod map;
mod page_style;
mod queues;
#[cfg(test)]
mod tests;
mod users;

use std::path::Path;

use anyhow::anyhow;
use clap::Args;
use larder_segment::{Refused, Survey};
use larder_store::StoreUrl;

use self::page_style::PageStyle;
use self::users::{Holder, Users};
use super::print;
use crate::catalog::CATALOG;
use crate::exit::{Exit, Usage};

/// Draws the fill and the age of the segments of a segment cache in a file. It only reads, while other processes work
/// with the file.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The region, for example `mmap:/dev/shm/cache`
    url: String,
    /// As text, or as JSON with every segment
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

/// The scheme of regions in files.
const SCHEME: &str = "mmap";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let url = StoreUrl::parse(&arguments.url)?;
    let path = file_of(&url)?;
    let survey = Survey::of_file(path).map_err(|refused| refusal_error(&url, refused))?;
    let survey = survey.ok_or_else(|| anyhow!("{url}: there is nothing at {}", path.display()))?;
    let (users, holders) = (Users::of_file(path), Holder::all(&survey));
    let seen = Seen { url: url.to_string(), users, holders, survey };
    let text = if arguments.format == "json" {
        format!("{:#}\n", json::of(&seen))
    } else {
        page(&seen, PageStyle::of_stdout())
    };
    print(text.as_bytes())?;
    Ok(Exit::Done)
}

/// The file of a region that can be inspected.
fn file_of(url: &StoreUrl) -> anyhow::Result<&Path> {
    CATALOG.find(url.scheme())?;
    let why = if url.scheme() != SCHEME {
        "cannot be inspected: only a segment cache in a file can"
    } else if url.path().is_empty() {
        "names no file"
    } else {
        return Ok(Path::new(url.path()));
    };
    Err(Usage(format!("{url} {why}; write mmap:PATH")).into())
}

fn refusal_error(url: &StoreUrl, refused: Refused) -> anyhow::Error {
    match refused {
        // This error already names the file.
        Refused::Io { .. } => refused.into(),
        _ => anyhow!("{url}: {refused}"),
    }
}

/// The survey of a region.
#[derive(Debug)]
struct Seen {
    url: String,
    users: Users,
    holders: Vec<Holder>,
    survey: Survey,
}

fn page(seen: &Seen, look: PageStyle) -> String {
    let survey = &seen.survey;
    let parts = [
        facts::text(seen, look),
        queues::text(survey, look),
        map::text(survey, look),
        ages::text(survey, look),
        queues::lives(survey, look),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}
