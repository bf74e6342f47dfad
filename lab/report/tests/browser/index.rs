//! The index of a set in a browser: it reads well, requests nothing, and opens its folded parts.

use larder_report::{Format, Index, Style, render_index};

use crate::Case;
use crate::looks::reads_well;
use crate::made_up::sets::{hostile_set, set};
use crate::page::{Page, View};
use crate::probes::{CONTRAST, GARBLED, OVERFLOW, OVERLAP};

pub(crate) const CASES: &[Case] = &[
    ("an_index_reads_well_everywhere", || reads_well("index", &page(&set()))),
    ("an_index_loads_in_silence_with_and_without_scripts", in_silence),
    ("the_folded_parts_of_an_index_read_well_too", unfolded),
];

/// The HTML of an index.
fn page(index: &Index) -> String {
    let style = Style { colour: false, width: 100 };
    render_index(index, Format::HTML, style).expect("a set has a page")
}

fn in_silence() {
    for (html, scripts) in
        [(page(&set()), true), (page(&set()), false), (page(&hostile_set()), true)]
    {
        let page = Page::open(&html, View { scripts, ..View::PHONE });
        assert_eq!(page.requests(), [page.address()]);
        assert_eq!(page.complaints(), [""; 0]);
        assert_ne!(page.value::<String>("document.title"), "taken");
        assert_eq!(page.value::<Vec<String>>(OVERFLOW), [""; 0]);
        assert_eq!(page.value::<Vec<String>>(GARBLED), [""; 0]);
        let pictures = "[...document.querySelectorAll('.headline svg')]";
        let all: usize = page.value(&format!("{pictures}.length"));
        let seen = format!("{pictures}.filter((one) => one.checkVisibility()).length");
        assert!(all > 0);
        assert_eq!(page.value::<usize>(&seen), all, "scripts: {scripts}");
    }
}

fn unfolded() {
    let page = Page::open(&page(&set()), View::PHONE);
    page.run("document.querySelectorAll('details').forEach((it) => it.open = true)");
    page.settle();
    for probe in [OVERFLOW, OVERLAP, CONTRAST] {
        assert_eq!(page.value::<Vec<String>>(probe), [""; 0]);
    }
}
