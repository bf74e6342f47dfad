//! The data behind the page, within the page: compressed, as a link that works without a script. The script makes
//! plain files of it.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, html};

use crate::csv::sample_heads;
use crate::model::Run;

/// So many samples of the machine's use the page has in all series together: those of a long run alone would be half of it.
const SAMPLES: usize = 600;

pub(super) fn section(run: &Run) -> Markup {
    let thinned = thinned(run);
    let is_thinned = thinned.is_some();
    let json = serde_json::to_string(thinned.as_ref().unwrap_or(run))
        .expect("the model has no keys but texts, and memory takes it");
    let heads = serde_json::to_string(&sample_heads(run)).expect("texts, and memory takes them");
    html! {
        section #data {
            h2 { "Data" }
            p.prose { "All that this page shows is made from one file, which lies in it." }
            ul.downloads {
                li {
                    a #run-json download="run.json.gz" href={ "data:application/gzip;base64," (packed(&json)) } { "run.json.gz" }
                    " everything that was found out, for other programs"
                    @if is_thinned { "; of the machine's use over the run fewer samples than in the file beside this page" }
                }
                li.live {
                    a #samples-csv download="samples.csv" href="#data" data-heads=(heads) { "samples.csv" }
                    " a line for each round of each cell"
                }
            }
        }
    }
}

/// The run with fewer samples of its use of the machine, where it has many.
fn thinned(run: &Run) -> Option<Run> {
    let most = SAMPLES / run.usage.len().max(1);
    let samples = run.usage.iter().map(|usage| usage.at_s.len()).max().unwrap_or(0);
    let step = samples.div_ceil(most.max(1));
    let thinned = || run.usage.iter().map(|usage| usage.thinned(step)).collect();
    (step > 1).then(|| Run { usage: thinned(), ..run.clone() })
}

/// Text as the page carries it: compressed, then in the 64 characters that mean nothing to HTML.
pub(super) fn packed(text: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text.as_bytes()).expect("memory takes it");
    STANDARD.encode(packer.finish().expect("memory takes it"))
}
