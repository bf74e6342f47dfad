//! The page of a difference in a browser: it reads well everywhere, requests nothing, draws pairs of bars and runs no
//! foreign code.

use larder_report::{Diff, Format, Style, render_diff};

use crate::Case;
use crate::looks::reads_well;
use crate::made_up::diffs::{difference, hostile_difference, one_cell};
use crate::page::{Page, View};
use crate::probes::{GARBLED, OVERFLOW};

pub(crate) const CASES: &[Case] = &[
    ("the_page_of_a_difference_reads_well_everywhere", || {
        reads_well("diff", &page(&difference()));
    }),
    ("the_page_of_one_changed_cell_reads_well_everywhere", || {
        reads_well("diff-one-cell", &page(&one_cell()));
    }),
    ("a_long_name_covers_no_table_of_a_difference", covered),
    ("the_page_of_a_difference_loads_in_silence_with_and_without_scripts", in_silence),
    ("each_target_has_its_old_bar_above_its_new_one", pairs),
    ("a_measure_and_a_point_of_a_difference_are_chosen", chosen),
];

fn page(diff: &Diff) -> String {
    let style = Style { colour: false, width: 100 };
    render_diff(diff, Format::HTML, style).expect("a difference has a page")
}

fn in_silence() {
    for (html, scripts) in [
        (page(&difference()), true),
        (page(&difference()), false),
        (page(&hostile_difference()), true),
    ] {
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
        assert_eq!(seen, if scripts { 0 } else { 4 }, "scripts: {scripts}");
    }
}

/// A target with a long name, as URLs of several nodes are.
fn long_name() -> Diff {
    let mut diff = difference();
    for change in &mut diff.changes {
        if change.cell.name == "memcached:" {
            change.cell.name =
                "memcached://cache-1.eu-central.example.com:11211,cache-2.eu-central.example.com:11211"
                    .into();
        }
    }
    diff
}

fn covered() {
    let page = Page::open(&page(&long_name()), View::PHONE);
    page.until_drawn();
    assert_eq!(page.value::<Vec<String>>(OVERFLOW), [""; 0]);
    // A name that stays in its place leaves half of the table in sight.
    let widest: f64 = page.value(
        "Math.max(...[...document.querySelectorAll('.plain th[scope=row]')].map((it) => it.offsetWidth))",
    );
    assert!(widest <= 390.0 / 2.0, "{widest}");
    assert_eq!(page.complaints(), [""; 0]);
}

fn pairs() {
    let page = Page::open(&page(&difference()), View::DESK);
    page.until_drawn();
    let rows = "[...document.querySelectorAll('.bars .bar-row:not(.scale)')]";
    let texts: Vec<String> = page.value(&format!(
        "{rows}.map((row) => [...row.querySelectorAll('span')].map((it) => it.textContent.trim()).join('|'))"
    ));
    let figures = [
        "moka:|old 640 k/s [627–659]",
        "|new 651 k/s [638–671]",
        "memcached:|old 112 k/s [110–115]",
        "|new 132 k/s [129–136]",
        "file:|no figures in new: lost in the first round",
    ];
    assert_eq!(texts, figures);
    let whiskers: usize = page.value("document.querySelectorAll('.bars .whisker').length");
    assert_eq!(whiskers, 4);
    page.run("document.querySelector('.legend [data-target=\"0\"]').click()");
    assert_eq!(page.value::<usize>(&format!("{rows}.length")), 3);
    assert_eq!(page.complaints(), [""; 0]);
}

fn chosen() {
    let page = Page::open(&page(&difference()), View::DESK);
    page.until_drawn();
    let figure = "document.querySelector('#charts-changes figure').dataset.chart";
    assert_eq!(page.value::<String>(figure), "changes-get-1-KiB-rate");
    page.run("document.querySelector('.controls [data-switch=point][value=\"1\"]').click()");
    assert_eq!(page.value::<String>(figure), "changes-get-4-KiB-rate");
    page.run("document.querySelector('#charts-changes input[value=p99]').click()");
    assert_eq!(page.value::<String>(figure), "changes-get-4-KiB-p99");
    let name: String = page.value("document.getElementById('run-json').download");
    assert_eq!(name, "diff.json");
    assert_eq!(page.complaints(), [""; 0]);
}
