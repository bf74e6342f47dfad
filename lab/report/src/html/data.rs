//! The data behind the page, within the page: compressed, as a link that works without a script. The script makes plain
//! files of it.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, html};

use crate::csv::sample_heads;
use crate::model::{Cell, Run, Sample, Usage};

/// The most samples of the machine's use in the page, over all series: all samples of a long run would be half of the
/// page.
const SAMPLES: usize = 600;

/// The most bins in the page, over the timelines of all rounds: many cells' bins would be a good part of the page.
const BINS: usize = 16_384;

pub(super) fn section(run: &Run) -> Markup {
    let (thinned, coarsened) = (thinned(run), coarsened(run));
    let (is_thinned, is_coarsened) = (thinned.is_some(), coarsened.is_some());
    let usage = thinned.unwrap_or_else(|| run.usage.clone());
    let cells = coarsened.unwrap_or_else(|| run.cells.clone());
    let json = serde_json::to_string(&Run { cells, usage, ..run.clone() })
        .expect("the model has no keys but texts, and memory takes it");
    let heads = serde_json::to_string(&sample_heads(run)).expect("texts, and memory takes them");
    html! {
        section #data {
            h2 { "Data" }
            p.prose { "This page is made from one file, which the page contains." }
            ul.downloads {
                li {
                    a #run-json download="run.json.gz" href={ "data:application/gzip;base64," (packed(&json)) } { "run.json.gz" }
                    " all results, for other programs"
                    @if is_coarsened { "; the course of each round in longer stretches than in the file beside this page" }
                    @if is_thinned { "; fewer samples of the machine's use than in the file beside this page" }
                }
                li.live {
                    a #samples-csv download="samples.csv" href="#data" data-heads=(heads) { "samples.csv" }
                    " a line for each round of each cell"
                }
            }
        }
    }
}

/// The section of a page that contains one file in JSON, packed under this name.
pub(crate) fn of_file(name: &str, json: &str) -> Markup {
    html! {
        section #data {
            h2 { "Data" }
            p.prose { "This page is made from one file, which the page contains." }
            ul.downloads { li {
                a #run-json download=(name) href={ "data:application/gzip;base64," (packed(json)) } { (name) }
                " all figures, for other programs"
            } }
        }
    }
}

/// Whether a text is a page of Larder's that contains a file of this name.
pub(crate) fn is_page(text: &str, name: &str) -> bool {
    text.contains("<meta name=\"generator\" content=\"larder ")
        && text.contains(&format!("download=\"{name}\""))
}

/// The use of the machine in fewer samples, where the run has many.
fn thinned(run: &Run) -> Option<Vec<Usage>> {
    let most = SAMPLES / run.usage.len().max(1);
    let samples = run.usage.iter().map(|usage| usage.at_s.len()).max().unwrap_or(0);
    let step = samples.div_ceil(most.max(1));
    (step > 1).then(|| run.usage.iter().map(|usage| usage.thinned(step)).collect())
}

/// The cells with coarser timelines of their rounds, where these have many bins.
fn coarsened(run: &Run) -> Option<Vec<Cell>> {
    let samples = run.cells.iter().flat_map(|cell| &cell.samples);
    let timelines = samples.filter_map(|sample| sample.timeline.as_ref());
    let times = timelines.map(|timeline| timeline.ops.len()).sum::<usize>().div_ceil(BINS);
    let of_sample = |sample: &Sample| {
        let timeline = sample.timeline.as_ref().map(|timeline| timeline.coarsened(times));
        Sample { timeline, ..sample.clone() }
    };
    let of_cell = |cell: &Cell| Cell {
        samples: cell.samples.iter().map(of_sample).collect(),
        ..cell.clone()
    };
    (times > 1).then(|| run.cells.iter().map(of_cell).collect())
}

/// Text as the page carries it: compressed, then in 64 characters without a meaning in HTML.
pub(crate) fn packed(text: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text.as_bytes()).expect("memory takes it");
    STANDARD.encode(packer.finish().expect("memory takes it"))
}
