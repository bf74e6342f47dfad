//! The page of a trace in a browser: it reads well everywhere, requests nothing, draws its charts and runs no foreign code.

use larder_report::{Format, Style, TraceInfo, render_info};

use crate::Case;
use crate::looks::reads_well;
use crate::made_up::info::{hostile_trace, keys_alone, recording};
use crate::page::{Page, View};
use crate::probes::{GARBLED, OVERFLOW};

pub(crate) const CASES: &[Case] = &[
    ("the_page_of_a_recording_reads_well_everywhere", || {
        reads_well("trace-recording", &page(&recording()));
    }),
    ("the_page_of_keys_alone_reads_well_everywhere", || {
        reads_well("trace-keys-alone", &page(&keys_alone()));
    }),
    ("the_page_of_a_trace_loads_in_silence_with_and_without_scripts", in_silence),
    ("a_simulated_cache_is_hidden_and_shown_and_units_are_switched", switched),
    ("the_data_of_a_trace_are_a_plain_file", data),
];

fn page(info: &TraceInfo) -> String {
    let style = Style { colour: false, width: 100 };
    render_info(info, Format::HTML, style).expect("a trace has a page")
}

fn in_silence() {
    for (html, scripts) in
        [(page(&recording()), true), (page(&recording()), false), (page(&hostile_trace()), true)]
    {
        let page = Page::open(&html, View { scripts, ..View::PHONE });
        if scripts {
            page.until_drawn();
        }
        assert_eq!(page.requests(), [page.address()]);
        assert_eq!(page.complaints(), [""; 0]);
        assert_ne!(page.value::<String>("document.title"), "taken");
        assert_eq!(page.value::<Vec<String>>(OVERFLOW), [""; 0]);
        assert_eq!(page.value::<Vec<String>>(GARBLED), [""; 0]);
        let stills = "[...document.querySelectorAll('.still svg')]";
        let seen: usize =
            page.value(&format!("{stills}.filter((one) => one.checkVisibility()).length"));
        let all: usize = page.value(&format!("{stills}.length"));
        assert!(all > 7);
        assert_eq!(seen, if scripts { 0 } else { all }, "scripts: {scripts}");
    }
}

fn switched() {
    let page = Page::open(&page(&recording()), View::DESK);
    page.until_drawn();
    let figure = "document.querySelector('#charts-cache_hits figure').dataset";
    assert_eq!(page.value::<String>(&format!("{figure}.chart")), "cache_hits-bytes");
    page.run("document.querySelector('#charts-cache_hits input[value=entries]').click()");
    assert_eq!(page.value::<String>(&format!("{figure}.chart")), "cache_hits-entries");
    assert_eq!(page.value::<String>(&format!("{figure}.shown")), "0 1 2 3 4");
    page.run("document.querySelector('.legend [data-target=\"1\"]').click()");
    assert_eq!(page.value::<String>(&format!("{figure}.shown")), "0 2 3 4");
    assert_eq!(page.complaints(), [""; 0]);
}

fn data() {
    let page = Page::open(&page(&recording()), View::DESK);
    page.until_drawn();
    let name: String = page.value("document.getElementById('run-json').download");
    assert_eq!(name, "trace-info.json");
    assert_eq!(page.complaints(), [""; 0]);
}
