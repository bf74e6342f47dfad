//! The report as one page, `report.html`, to look at and to pass on.
//!
//! The page is one file without any network request: style, script and data are within it, and its policy forbids the
//! network. All sentences and tables work without a script. The script adds interaction: charts to point at, switches,
//! downloads as plain files. Each section of the page has its file here.

mod answer;
mod article;
pub(crate) mod assets;
pub(crate) mod charts;
mod checks;
pub(crate) mod data;
mod environment;
mod grid;
mod head;
pub(crate) mod index;
mod marks;
mod podium;
pub(crate) mod switches;
mod tables;
pub(crate) mod text;
mod view;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::format::Format;
use crate::limits::{NOT_SHOWN, not_shown};
use crate::model::Run;
use assets::Assets;
use charts::Charts;
pub(crate) use data::is_page;
use view::View;

/// The format `html`.
pub(crate) const FORMAT: Format = Format { name: "html", render: |run, _| render(run) };

/// The sections that a reader can jump to: their anchors and names. Only a run that repeats an article has the first, and only
/// that of an advice the second.
const SECTIONS: [(&str, &str); 8] = [
    ("article", "Article"),
    ("advice", "Advice"),
    ("answer", "Answer"),
    ("charts", "Charts"),
    ("checks", "Checks"),
    ("tables", "Tables"),
    ("environment", "Environment"),
    ("data", "Data"),
];

/// The whole page.
fn render(run: &Run) -> String {
    let view = View::new(run);
    let charts = Charts::new(&view);
    let body = html! {
        (head::section(&view))
        @if run.article.is_none() { (answer::in_short(&view)) }
        (navigation(run))
        main {
            @if let Some(article) = &run.article { (article::section(&view, article)) }
            // The part that the switches at its top control.
            div.pictured {
                @if charts.has_main() { (charts.switches()) }
                @if run.advice.is_empty() { (answer::section(&view, &charts.main())) }
                @else {
                    (advice_section(run, &charts))
                    (answer::section(&view, &html! {}))
                }
                (charts.section())
            }
            (checks::section(&view))
            (tables::section(&view))
            (environment::section(&view))
            (data::section(run))
            (not_shown_section(&not_shown(run)))
        }
    };
    page(&head::title(run), &run.larder, &assets::REPORT, &body)
}

/// A page with this title, written by this version of Larder.
pub(crate) fn page(title: &str, larder: &str, assets: &Assets, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets.policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "larder " (larder) };
                title { (title) }
                style { (PreEscaped(&assets.style)) }
                script { (PreEscaped(assets::early_script())) }
            }
            body {
                a.skip href="#answer" { "Skip to the answer" }
                (marks::sprites())
                (body)
                script { (PreEscaped(&assets.script)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// The picture of an advice, and its sentences.
fn advice_section(run: &Run, charts: &Charts<'_, '_>) -> Markup {
    html! {
        section #advice {
            h2 { "The advice" }
            (charts.main())
            ol.prose { @for sentence in &run.advice { li { (sentence) } } }
        }
    }
}

fn navigation(run: &Run) -> Markup {
    let there = |(anchor, _): &&(&str, &str)| match *anchor {
        "article" => run.article.is_some(),
        "advice" => !run.advice.is_empty(),
        _ => true,
    };
    contents(SECTIONS.iter().filter(there).copied())
}

/// Links to anchors by their names, and the switch of the colours.
pub(crate) fn contents<'a>(sections: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul { @for (anchor, name) in sections { li { a href={ "#" (anchor) } { (name) } } } }
            button.theme type="button" hidden { "Dark" }
        }
    }
}

fn not_shown_section(sentences: &[String]) -> Markup {
    html! {
        section #not-shown {
            h2 { (NOT_SHOWN) }
            ul.prose { @for sentence in sentences { li { (sentence) } } }
        }
    }
}
