//! The published figures of an article beside the figures of this machine: the figures, the matrices, the conclusions.

use maud::{Markup, html};

use super::text::with_names;
use super::view::View;
use crate::article::{
    Clocks, FigureBlock, HEADS, Here, JudgedClaim, Matrix, WAITING, blocks, conclusions, facts,
    heading, how_decided, judged_claims, matrices,
};
use crate::figures;
use crate::model::{Article, ClaimVerdict};
use crate::percentiles::{Percentiles, heads, percentiles};
use crate::text::capital;

pub(super) fn section(view: &View<'_>, article: &Article) -> Markup {
    let said = judged_claims(article);
    html! {
        section #article {
            h2 { (heading(article)) }
            @if !said.is_empty() {
                h3 { (conclusions(article)) }
                p.prose { (how_decided()) }
                div.claims { @for said in &said { (conclusion(view, said)) } }
            }
            dl.facts { @for (label, text) in facts(article) {
                div { dt { (capital(label)) } dd { (text) } }
            } }
            @for block in blocks(article) { (figures_of(&block)) }
            @let clocks = matrices(article);
            @for clocks in &clocks { (matrices_of(clocks)) }
            @if !clocks.is_empty() { p.prose { (WAITING) } }
            @for table in percentiles(view.run) { (up_to_percentiles(&table)) }
        }
    }
}

fn conclusion(view: &View<'_>, said: &JudgedClaim<'_>) -> Markup {
    html! {
        article.claim.(class(said.claim.verdict)) {
            p.says {
                span.said { span aria-hidden="true" { (said.mark) } " " (said.verdict) }
                " " (said.says())
            }
            @for evidence in &said.evidence {
                p.evidence { (with_names(view.run, evidence, |name| html! { b { (name) } })) }
            }
            @if !said.fired.is_empty() {
                p.explained { span aria-hidden="true" { "→ " } "see" @for id in &said.fired { " " (check(view, id)) } }
            }
            @if !said.silent.is_empty() {
                p.explained { "a check for this mistake found nothing here:" @for id in &said.silent { " " code { (id) } } }
            }
        }
    }
}

/// A check that fired, with a link to its finding.
fn check(view: &View<'_>, id: &str) -> Markup {
    let severity = view.run.checks.iter().find(|check| check.id == id).map(|check| check.severity);
    let anchor = severity.map(|severity| format!("#{}", View::finding_anchor(severity, id)));
    html! { a href=[anchor] { code { (id) } } }
}

pub(super) fn class(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "holds",
        ClaimVerdict::TurnsRound | ClaimVerdict::DoesNotHold => "fails",
        ClaimVerdict::CannotBeTold => "open",
    }
}

fn figures_of(block: &FigureBlock) -> Markup {
    html! {
        h3 { (capital(&block.caption)) }
        div.scroll tabindex="0" role="region" aria-label=(block.caption) {
            table.published {
                thead { tr {
                    th scope="col" { "target" }
                    @for head in HEADS { th scope="col" { (head) } }
                } }
                tbody { @for row in &block.rows { tr {
                    th scope="row" { (row.target) @if let Some(remark) = &row.remark { small { (remark) } } }
                    td { (row.published) }
                    td { @if let Some(figure) = &row.here { (here(figure, row.doubtful)) } }
                    td { (row.ratio) }
                } } }
            }
        }
    }
}

fn up_to_percentiles(table: &Percentiles) -> Markup {
    html! {
        h3 { (capital(&table.caption)) }
        div.scroll tabindex="0" role="region" aria-label=(table.caption) {
            table.published {
                thead { tr {
                    th scope="col" { "target" }
                    @for head in heads() { th scope="col" { (head) } }
                } }
                tbody { @for row in &table.rows { tr {
                    th scope="row" { (row.target) @if let Some(remark) = &row.remark { small { (remark) } } }
                    @for text in row.figures() { td { @if row.doubtful { s { (text) } } @else { (text) } } }
                } } }
            }
        }
    }
}

/// A figure, with its interval below.
fn here(here: &Here, doubtful: bool) -> Markup {
    html! {
        @if doubtful { s { (here.figure) } } @else { (here.figure) }
        @if let Some(interval) = &here.interval { small { "[" (interval) "]" } }
    }
}

/// The matrices of both clocks side by side, or one below the other on a narrow page.
fn matrices_of(clocks: &Clocks<'_>) -> Markup {
    html! {
        h3 { (capital(&clocks.place)) ", each against each other" }
        div.clocks { @for matrix in &clocks.matrices { (matrix_of(&clocks.place, matrix)) } }
    }
}

fn matrix_of(place: &str, matrix: &Matrix<'_>) -> Markup {
    html! {
        div {
            h4 { (capital(matrix.caption)) }
            div.scroll tabindex="0" role="region" aria-label={ (place) ", " (matrix.caption) } {
                table.published {
                    thead { tr {
                        th scope="col" { "target" }
                        th scope="col" { "rate" }
                        @for rated in &matrix.rated { th scope="col" { (rated.name) } }
                    } }
                    tbody { @for (rated, texts) in matrix.rated.iter().zip(matrix.texts()) { tr {
                        th scope="row" { (rated.name) }
                        td { (figures::rate(rated.rate)) }
                        @for text in texts { td { (text) } }
                    } } }
                }
            }
        }
    }
}
