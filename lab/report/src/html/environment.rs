//! The reference part: the machine, the targets with their settings and limits, the workload, the cost of measuring,
//! the command.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::marks;
use super::tables::badge;
use super::view::View;
use crate::figures::{bytes, nanoseconds, seconds, significant};
use crate::header::{command, option};
use crate::model::{Environment, Floor, Operation, Run, Target, TtlTrial};
use crate::sentences::floor_languages;

pub(super) fn section(view: &View<'_>) -> Markup {
    let run = view.run;
    html! {
        section #environment {
            h2 { "Environment" }
            div.columns {
                div { h3 { "Machine" } (facts(&machine(&run.environment))) }
                div { h3 { "Workload as understood" } (facts(&workload(run))) }
            }
            @if !run.notes.is_empty() {
                h3 { "Notes" }
                ul.prose { @for note in &run.notes { li { (note) } } }
            }
            h3 { "Targets" }
            (targets(run))
            h3 { "Settings, as read back" }
            dl.settings { @for (number, target) in run.targets.iter().enumerate() { (settings(number, target)) } }
            @if !run.floors.is_empty() { (floors(view)) }
            h3 { "Command" }
            pre.command { code { (command(run)) } }
        }
    }
}

pub(super) fn facts(facts: &[(String, String)]) -> Markup {
    html! { dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } } }
}

pub(super) fn machine(machine: &Environment) -> Vec<(String, String)> {
    let unknown = || "not known".to_owned();
    let text = |text: &Option<String>| text.clone().unwrap_or_else(unknown);
    let size = |size: Option<u64>| size.map_or_else(unknown, bytes);
    let swap = match machine.swap_bytes {
        Some(0) => "none".to_owned(),
        swap => size(swap),
    };
    let facts = [
        ("processor", text(&machine.cpu)),
        ("cores", machine.cores.to_string()),
        ("governor", text(&machine.governor)),
        ("memory", size(machine.memory_bytes)),
        ("limit of memory", machine.memory_limit_bytes.map_or_else(|| "none".to_owned(), bytes)),
        ("swap", swap),
        ("system", text(&machine.os)),
        ("kernel", text(&machine.kernel)),
        ("load before", machine.load.map_or_else(unknown, |load| significant(load, 2))),
        ("one clock reading", nanoseconds(machine.clock_ns)),
        ("build of larder", machine.build.clone()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn workload(run: &Run) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = run
        .workload
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.clone(), option(name, value)))
        .collect();
    facts.push(("seed".to_owned(), run.seed.to_string()));
    facts
}

fn targets(run: &Run) -> Markup {
    // A TTL is tried only where the workload gives one.
    let has_ttl = run.targets.iter().any(|target| target.ttl.is_some());
    html! {
        div.scroll tabindex="0" role="region" aria-label="Targets" {
            table.plain {
                thead { tr {
                    th scope="col" { "target" } th scope="col" { "URL" } th scope="col" { "version" }
                    th scope="col" { "durability" } th scope="col" { "reach" } th scope="col" { "ownership" }
                    th scope="col" { "files on" } th.number scope="col" { "capacity" }
                    th.number scope="col" { "keys up to" } th.number scope="col" { "values up to" }
                    @if has_ttl { th scope="col" { "expired keys" } }
                } }
                tbody { @for (number, target) in run.targets.iter().enumerate() { (target_row(number, target, has_ttl)) } }
            }
        }
    }
}

fn target_row(number: usize, target: &Target, has_ttl: bool) -> Markup {
    let known = |text: &Option<String>| {
        html! {
            @if let Some(text) = text { (text) } @else { span.unknown { "not known" } }
        }
    };
    html! {
        tr id=(View::target_anchor(number)) {
            th scope="row" { (marks::of_target(Some(number))) " " (target.name) }
            td { code { (target.url) } }
            @if let Some(reason) = &target.reason {
                td.reason colspan=(8 + u32::from(has_ttl)) { "did not run: " (reason) }
            } @else {
                td { (target.engine) " " (known(&target.version)) }
                td { (badge(target.durability.as_deref())) }
                td { (known(&target.reach)) }
                td { (known(&target.ownership)) }
                td { @if let Some(kind) = &target.file_system { (kind) } @else { span.unknown { "no files" } } }
                td.number { @if let Some(size) = target.capacity_bytes { (bytes(size)) } @else { span.unknown { "no bound known" } } }
                td.number { (limit(target.limits.max_key_len, target.limits.probed_key_len)) }
                td.number { (limit(target.limits.max_value_len, target.limits.probed_value_len)) }
                @if has_ttl { td { (expired(target)) } }
            }
        }
    }
}

/// The largest stored size, or the largest probed size without a limit.
fn limit(max: Option<u64>, probed: u64) -> Markup {
    html! {
        @match (max, probed) {
            (Some(max), _) => { (bytes(max)) }
            (None, 0) => { span.unknown { "not probed" } }
            (None, probed) => { (bytes(probed)) " and more" }
        }
    }
}

/// The fate of keys whose TTL had passed.
fn expired(target: &Target) -> Markup {
    html! {
        @match &target.ttl {
            None => { span.unknown { "not tried" } }
            Some(TtlTrial { keys, late: 0, last_request_after_s, .. }) => { (keys) " gone after " (seconds(*last_request_after_s)) }
            Some(TtlTrial { keys, late, last_request_after_s, .. }) => {
                (late) " of " (keys) " there after " (seconds(*last_request_after_s))
            }
        }
    }
}

fn settings(number: usize, target: &Target) -> Markup {
    html! {
        div {
            dt { (marks::of_target(Some(number))) " " (target.name) }
            dd {
                @for (name, value) in &target.settings { code { (name) "=" (value) } " " }
                @if target.settings.is_empty() { span.unknown { "none read back" } }
            }
        }
    }
}

fn floors(view: &View<'_>) -> Markup {
    let floors = &view.run.floors;
    let operations: BTreeSet<Operation> = floors.iter().map(|floor| floor.operation).collect();
    let languages = floor_languages(floors);
    let has_guests = languages.iter().any(Option::is_some);
    let at = |point: &_, operation: Operation, language: Option<&str>| {
        floors.iter().find(|floor| {
            floor.point == *point
                && floor.operation == operation
                && floor.language.as_deref() == language
        })
    };
    html! {
        h3 { "What the measuring costs" }
        p.prose { "The same work on a store that keeps nothing: wall clock and client CPU of one operation." }
        div.scroll tabindex="0" role="region" aria-label="What the measuring costs" {
            table.plain {
                thead { tr {
                    @if view.is_sweep() { th scope="col" { (view.swept.join(", ")) } }
                    @if has_guests { th scope="col" { "measured in" } }
                    @for operation in &operations {
                        th.number scope="col" { (operation) } th.number scope="col" { (operation) ", CPU" }
                    }
                } }
                tbody { @for point in &view.points { @for language in &languages { tr {
                    @if view.is_sweep() { th scope="row" { (view.short_label(point)) } }
                    @if has_guests { td { (language.unwrap_or("larder")) } }
                    @for operation in &operations { (floor_cells(at(*point, *operation, *language))) }
                } } } }
            }
        }
    }
}

fn floor_cells(floor: Option<&Floor>) -> Markup {
    html! {
        td.number { @if let Some(floor) = floor { (nanoseconds(floor.ns_per_op)) } @else { span.unknown { "not measured" } } }
        td.number {
            @if let Some(cpu) = floor.and_then(|floor| floor.cpu_ns_per_op) { (nanoseconds(cpu)) }
            @else { span.unknown { "not known" } }
        }
    }
}
