//! A document as one page: its sections with their anchors, its tables, its charts, and the data behind it.
//!
//! The page is made of the same parts as `report.html`: its style, its charts with their script, its light and dark
//! mode. What it says needs no script.

use maud::{Markup, PreEscaped, html};

use super::table::{Row, Table};
use super::text::{Meaning, Span, Text};
use super::{Block, Document, Figure, Item};
use crate::chart::Chart;
use crate::html::assets::REPORT;
use crate::html::charts::{drawn_of, has_pairs, panel, reserved};
use crate::html::data::{of_file, packed};
use crate::html::switches::{row, toggles, values};
use crate::html::text::unbroken;
use crate::html::{contents, page};
use crate::text::{capital, clean};

/// The name of the column of places.
const AT: &str = "at";

/// A section: its anchor, its name in the contents, its heading, and its blocks.
struct Section<'a> {
    anchor: &'static str,
    name: &'static str,
    heading: &'a str,
    blocks: &'a [Block],
}

impl Document {
    /// The whole document as a page. Warnings and facts before the first section stand at its head.
    pub(crate) fn to_page(&self) -> String {
        let sections = self.sections();
        let first = self.blocks.iter().position(is_section).unwrap_or(self.blocks.len());
        let is_head = |block: &&Block| matches!(block, Block::Warning(_) | Block::Facts(_));
        let (head, below): (Vec<&Block>, Vec<&Block>) =
            self.blocks[..first].iter().partition(is_head);
        let data = self.page.data.iter().map(|_| ("data", "Data"));
        let names = sections.iter().map(|section| (section.anchor, section.name)).chain(data);
        // The switches at the top stay in sight up to the last figure.
        let pictured = sections.iter().rposition(Section::has_figure).map_or(0, |last| last + 1);
        let (pictured, others) = sections.split_at(pictured);
        let body = html! {
            header.masthead {
                div.titled { h1 { (self.title) } p.when { "larder " (self.page.larder) } }
                @for block in head { (self.head_block(block)) }
            }
            @for block in below { (self.draw(block)) }
            (contents(names))
            main {
                @if !pictured.is_empty() { (self.pictured(pictured)) }
                @for section in others { (self.section_of(section)) }
                @if let Some((name, json)) = &self.page.data { (of_file(name, json)) }
            }
        };
        // Names and reasons are of others, and none of them may control the text around it.
        let body = PreEscaped(clean(&body.into_string()).into_owned());
        page(&clean(&self.title), &self.page.larder, &REPORT, &body)
    }

    fn sections(&self) -> Vec<Section<'_>> {
        let mut sections = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let Block::Section(heading, Some((anchor, name))) = block else { continue };
            let (anchor, name) = (*anchor, *name);
            let rest = &self.blocks[at + 1..];
            let ends = rest.iter().position(is_section).unwrap_or(rest.len());
            sections.push(Section { anchor, name, heading, blocks: &rest[..ends] });
        }
        sections
    }

    fn section_of(&self, section: &Section<'_>) -> Markup {
        html! {
            section id=(section.anchor) {
                h2 { (section.heading) }
                @for block in section.blocks { (self.draw(block)) }
            }
        }
    }

    /// The sections with figures, their common switches, and the data that the script draws from.
    fn pictured(&self, sections: &[Section<'_>]) -> Markup {
        let blocks = sections.iter().flat_map(|section| section.blocks);
        let charts: Vec<Chart> = blocks.flat_map(charts).cloned().collect();
        let has_colours = !has_pairs(&charts);
        let points = values(&charts, "point");
        let numbered = points.iter().enumerate();
        let numbered = numbered.map(|(number, point)| (number.to_string(), (*point).to_owned()));
        let numbered: Vec<(String, String)> = numbered.collect();
        let looks = self.page.targets.iter().map(|target| (&*target.name, &*target.rounds));
        let legend = toggles(self.page.legend, self.names(), has_colours);
        html! {
            div.pictured {
                (row(&legend, &numbered, &charts))
                @for section in sections { (self.section_of(section)) }
                data #drawn hidden value=(packed(&drawn_of(looks, &charts, &points))) {}
            }
        }
    }

    /// A block of the masthead, whose facts stand side by side.
    fn head_block(&self, block: &Block) -> Markup {
        let Block::Facts(facts) = block else { return self.draw(block) };
        html! { dl.tiles { @for (label, text) in facts {
            div { dt { (capital(label)) } dd { strong { (of_text(text)) } } }
        } } }
    }

    fn draw(&self, block: &Block) -> Markup {
        html! { @match block {
            Block::Section(text, _) => { h2 { (text) } }
            Block::Part(text, anchor) => { h3 id=[anchor] { (text) } }
            Block::Place(text) => { h3 { (text) } }
            Block::Paragraph(texts) => { @for text in texts { p.prose { (of_text(text)) } } }
            Block::Note(text) => { p.key { (of_text(text)) } }
            Block::Warning(text) => { p.alarm role="note" { (capital(text)) } }
            Block::List(items) => { ul.prose { @for Item { text, details, advice } in items { li {
                (of_text(text))
                @for detail in details { br; (of_text(detail)) }
                @for advice in advice { br; span.advice { "→ " (advice) } }
            } } } }
            Block::Facts(facts) => { dl.facts { @for (label, text) in facts {
                div { dt { (capital(label)) } dd { (of_text(text)) } }
            } } }
            Block::Sayings(sayings) => { dl.sayings.columned { @for (subject, text) in sayings {
                div { dt { (capital(subject)) } dd { (of_spans(text, unbroken)) } }
            } } }
            Block::Table(table) => { (of_table(table)) }
            Block::Remarks(remarks) => { @for text in remarks { p.key { (of_text(text)) } } }
            Block::Beside(tables) => { div.clocks { @for table in tables { div {
                h4 { (capital(&table.caption)) } (of_table(table))
            } } } }
            Block::Details(heading, blocks) => { details {
                summary { (heading) } @for block in blocks { (self.draw(block)) }
            } }
            Block::Figure(figure) => { (self.draw_figure(figure)) }
        } }
    }

    fn draw_figure(&self, Figure { charts, key, is_main, stills }: &Figure) -> Markup {
        let Some(first) = charts.first() else { return html! {} };
        panel(charts, *is_main, key, &reserved(first, self.names()), None, stills.as_ref())
    }

    /// The names of the lines or bars in all figures.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.page.targets.iter().map(|target| &*target.name)
    }
}

impl Section<'_> {
    fn has_figure(&self) -> bool {
        self.blocks.iter().any(|block| !charts(block).is_empty())
    }
}

/// The charts of a figure, and of those in a folded part.
fn charts(block: &Block) -> Vec<&Chart> {
    match block {
        Block::Figure(figure) => figure.charts.iter().collect(),
        Block::Details(_, blocks) => blocks.iter().flat_map(charts).collect(),
        Block::Section(..)
        | Block::Part(..)
        | Block::Place(_)
        | Block::Paragraph(_)
        | Block::Note(_)
        | Block::Warning(_)
        | Block::List(_)
        | Block::Facts(_)
        | Block::Sayings(_)
        | Block::Table(_)
        | Block::Remarks(_)
        | Block::Beside(_) => Vec::new(),
    }
}

fn is_section(block: &Block) -> bool {
    matches!(block, Block::Section(_, Some(_)))
}

/// The parts of a text, the plain ones as `plain` writes them.
fn of_spans(text: &Text, plain: fn(&str) -> Markup) -> Markup {
    html! { @for span in &text.spans { @match span {
        Span::Plain(text) => { (plain(text)) }
        Span::Strong(text) => { b { (text) } }
        Span::Emphasis(text) => { em { (text) } }
        Span::Code(text) => { code { (text) } }
        Span::Link(text, address) => { a href=(address) { (text) } }
    } } }
}

fn unchanged(text: &str) -> Markup {
    html! { (text) }
}

fn of_text(text: &Text) -> Markup {
    let spans = of_spans(text, unchanged);
    match class(text.meaning) {
        Some(class) => html! { span class=(class) { (spans) } },
        None => spans,
    }
}

/// The class for a meaning, as the tables of reports have it.
fn class(meaning: Meaning) -> Option<&'static str> {
    match meaning {
        Meaning::Plain | Meaning::Main | Meaning::Place => None,
        Meaning::Faint => Some("unknown"),
        Meaning::Good => Some("leads"),
        Meaning::Bad => Some("bad"),
        Meaning::Doubt => Some("doubtful"),
    }
}

fn of_table(table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(table.caption) {
            table.plain {
                thead { tr {
                    th scope="col" { (of_spans(&table.names, unchanged)) }
                    @if table.is_swept() { th scope="col" { (AT) } }
                    @for column in &table.columns { th.number[!column.words] scope="col" { (column.name) } }
                } }
                tbody { @for row in &table.rows { (of_row(table, row)) } }
            }
        }
    }
}

fn of_row(table: &Table, row: &Row) -> Markup {
    html! { tr class=[row.is_withheld.then_some("withheld")] {
        th scope="row" { (of_text(&row.name)) }
        @if table.is_swept() { td { (row.place) } }
        @for (column, cell) in table.columns.iter().zip(&row.cells) {
            td.number[!column.words] { @if !cell.words().is_empty() { (of_text(cell)) } }
        }
    } }
}

#[cfg(test)]
mod tests {
    use super::super::hostile::{HOSTILE, document};
    use crate::text::steers;

    #[test]
    fn no_name_is_markup_or_controls_the_text_around_it() {
        let page = document(HOSTILE).to_page();
        let (_, body) = page.split_once("</style>").expect("a style in the head");
        let (body, _) = body.rsplit_once("<script>").expect("a script at the end");
        let (_, body) = body.split_once("<header").expect("a masthead");
        assert!(!body.contains(steers), "{body}");
        let harmless = "a|b`c&lt;i&gt; d ";
        let written = |begins: &str, ends: &str| format!("{begins}{harmless}{ends}");
        for (begins, ends) in [
            ("<h1>", "e</h1>"),
            ("<h2>", "e</h2>"),
            ("<h3>", "e</h3>"),
            ("<b>", "e</b>"),
            ("<em>", "e</em>"),
            ("<code>", "e</code>"),
            ("<th scope=\"row\"><b>", "e</b></th>"),
            ("<th scope=\"col\"><em>", "e</em></th>"),
            ("<td class=\"\"><span class=\"bad\"><code>", "e</code></span></td>"),
            ("<summary>", "e</summary>"),
            ("<a href=\"there\">", "e</a>"),
        ] {
            assert!(body.contains(&written(begins, ends)), "{begins}\n{body}");
        }
        assert_eq!(body.matches("a|b`c").count(), body.matches(harmless).count(), "{body}");
        let title = format!("<title>{harmless}e</title>");
        assert!(page.contains(&title), "{page}");
    }
}
