//! The data behind the page, within the page: compressed, as links that work without a script. The script turns them
//! into plain files.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, html};

use crate::csv::samples_csv;
use crate::model::Run;

pub(super) fn section(run: &Run) -> Markup {
    html! {
        section #data {
            h2 { "Data" }
            p.prose { "All that this page shows is made from one file, which lies in it." }
            ul.downloads {
                li { (link("run.json", &run.to_json())) " everything that was found out, for other programs" }
                li { (link("samples.csv", &samples_csv(run))) " a line for each round of each cell" }
            }
        }
    }
}

fn link(name: &str, text: &str) -> Markup {
    html! {
        a download={ (name) ".gz" } href={ "data:application/gzip;base64," (packed(text)) } data-plain=(name) {
            (name) ".gz"
        }
    }
}

/// Text as the page carries it: compressed, then in the 64 characters that mean nothing to HTML.
pub(super) fn packed(text: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text.as_bytes()).expect("memory takes it");
    STANDARD.encode(packer.finish().expect("memory takes it"))
}
