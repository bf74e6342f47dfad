//! Style and script of the page, and the policy that lets in these and nothing else.

use std::fmt::Write;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::chart::palette::{COLOURS, on_dark, on_light};

/// Colours on light ground and on dark, as the declarations of a rule.
const LIGHT: &str = include_str!("css/light.css");
const DARK: &str = include_str!("css/dark.css");

/// The rules, in the order of the page.
const STYLES: &[&str] = &[
    include_str!("vendor/uplot/uPlot.min.css"),
    include_str!("css/base.css"),
    include_str!("css/head.css"),
    include_str!("css/answer.css"),
    include_str!("css/article.css"),
    include_str!("css/checks.css"),
    include_str!("css/charts.css"),
    include_str!("css/tables.css"),
    include_str!("css/environment.css"),
    include_str!("css/print.css"),
];

/// What must be known before anything is painted.
const EARLY: &str = include_str!("js/early.js");

/// Each file has one purpose; all of them are one function to the browser.
const SCRIPTS: &[&str] = &[
    include_str!("js/data.js"),
    include_str!("js/format.js"),
    include_str!("js/axis.js"),
    include_str!("js/relative.js"),
    include_str!("js/tooltip.js"),
    include_str!("js/paint.js"),
    include_str!("js/names.js"),
    include_str!("js/pointing.js"),
    include_str!("js/lines.js"),
    include_str!("js/strips.js"),
    include_str!("js/bars.js"),
    include_str!("js/legend.js"),
    include_str!("js/panel.js"),
    include_str!("js/samples.js"),
    include_str!("js/page.js"),
];

const UPLOT: &str = include_str!("vendor/uplot/uPlot.iife.min.js");

/// Every copy of uPlot carries it, so every page does.
const UPLOT_LICENSE: &str = include_str!("vendor/uplot/LICENSE");

static STYLE: LazyLock<String> = LazyLock::new(|| {
    let mut style = themes();
    style.extend(STYLES.iter().copied());
    style
});

static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let ours = SCRIPTS.concat();
    format!("/*\n{UPLOT_LICENSE}\n*/\n{UPLOT}\n(() => {{\n\"use strict\";\n{ours}}})();\n")
});

/// All style of the page.
pub(super) fn style() -> &'static str {
    &STYLE
}

/// The script at the end of the page.
pub(super) fn script() -> &'static str {
    &SCRIPT
}

/// The script before the page.
pub(super) fn early_script() -> &'static str {
    EARLY
}

/// Forbids all but this style and these scripts: nothing is fetched, and no text of others becomes code.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {} {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(style()),
        hash(early_script()),
        hash(script())
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// The colours: as the system has them, as the reader switched them, and light on paper.
fn themes() -> String {
    let declared = |colours: &str, of: fn(usize) -> &'static str| {
        let mut text = colours.to_owned();
        for number in 0..COLOURS {
            let _ = write!(text, "--series-{number}:{};", of(number));
        }
        text
    };
    let (light, dark) = (declared(LIGHT, on_light), declared(DARK, on_dark));
    let mut style = format!(
        ":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n:root[data-theme=light]{{{light}}}\n\
         :root[data-theme=dark]{{{dark}}}\n@media print{{:root:root:root{{{light}}}}}\n"
    );
    for number in 0..COLOURS {
        let _ = writeln!(style, ".s{number}{{color:var(--series-{number})}}");
    }
    style
}
