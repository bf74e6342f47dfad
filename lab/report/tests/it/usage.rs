//! The use of the machine by a run, as charts and as a table for other programs.

#![expect(clippy::cast_precision_loss, reason = "a few seconds")]

use larder_report::{Chart, Run, Usage, UsageOf, charts, is_chart_id, usage_csv};

use super::charts::sweep;

fn usage(of: UsageOf, target: Option<&str>, cpu_s: &[f64]) -> Usage {
    let none = || vec![None; cpu_s.len()];
    Usage {
        of,
        target: target.map(str::to_owned),
        at_s: (0..cpu_s.len()).map(|second| 10.0 + second as f64).collect(),
        cpu_user_s: cpu_s.iter().copied().map(Some).collect(),
        cpu_system_s: vec![Some(0.0); cpu_s.len()],
        rss_bytes: vec![Some(4096); cpu_s.len()],
        wire_received_bytes: none(),
        wire_sent_bytes: none(),
        ..Usage::default()
    }
}

/// A run in which two targets had two turns of a second each; the server of the second is on another machine.
fn run() -> Run {
    let mut run = sweep();
    let (one, other) = (run.targets[0].url.clone(), run.targets[1].url.clone());
    let mut client = usage(UsageOf::Client, None, &[0.0, 0.5, 1.5, 2.25, 2.25]);
    client.turn_target = [None, Some(0), Some(1), Some(0), Some(1)].to_vec();
    let elsewhere = Usage {
        of: UsageOf::Servers,
        target: Some(other),
        unknown_reason: Some("h1:11211 is not on this machine".into()),
        ..Usage::default()
    };
    let servers = usage(UsageOf::Servers, Some(&one), &[0.0, 0.25, 0.25, 1.0, 1.0]);
    run.usage = vec![client, servers, elsewhere];
    run
}

fn chart(run: &Run, id: &str) -> Chart {
    let mut found = charts(run).into_iter().filter(|chart| chart.id == id);
    found.next().unwrap_or_else(|| panic!("no chart {id}"))
}

#[test]
fn the_client_is_drawn_in_the_turns_of_each_target() {
    let cpu = chart(&run(), "usage-client-CPU");
    assert!(is_chart_id(&cpu.id) && !is_chart_id("usages"));
    let lines: Vec<_> = cpu.series.iter().map(|line| (line.target, line.y.clone())).collect();
    assert_eq!(
        lines,
        [(Some(0), vec![Some(0.5), Some(0.75)]), (Some(1), vec![Some(1.0), Some(0.0)]),]
    );
    assert_eq!((&*cpu.series[0].x, &*cpu.series[1].x), (&[0.5, 2.5][..], &[1.5, 3.5][..]));
}

#[test]
fn servers_are_drawn_where_they_are_known() {
    let run = run();
    let cpu = chart(&run, "usage-servers-and-guests-CPU");
    assert_eq!(cpu.series.len(), 1);
    assert_eq!(cpu.series[0].y, [Some(0.25), Some(0.0), Some(0.75), Some(0.0)]);
    assert_eq!(
        (cpu.absent[0].target, &*cpu.absent[0].reason),
        (1, "h1:11211 is not on this machine")
    );
    // This name tells the page how to draw the chart.
    assert_eq!(serde_json::to_value(cpu.family).unwrap(), cpu.family.as_str());
    // Unknown figures have no chart.
    assert!(charts(&run).iter().all(|chart| chart.id != "usage-servers-and-guests-wire"));
    assert!(charts(&sweep()).iter().all(|chart| !chart.id.starts_with("usage-")));
}

#[test]
fn a_long_run_is_drawn_with_as_many_places_as_a_screen_has() {
    let mut run = run();
    let cpu_s: Vec<f64> = (0..1201).map(|second| f64::from(second) * 0.5).collect();
    run.usage[0] =
        Usage { turn_target: vec![Some(0); 1201], ..usage(UsageOf::Client, None, &cpu_s) };
    let cpu = chart(&run, "usage-client-CPU");
    assert!((40..=240).contains(&cpu.series[0].x.len()), "{}", cpu.series[0].x.len());
    assert!(cpu.series[0].y.iter().all(|figure| *figure == Some(0.5)));
}

#[test]
fn each_sample_has_a_line_for_other_programs() {
    let run = run();
    let text = usage_csv(&run);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("of,target,name,turn_target,at_s,cpu_user_s,cpu_system_s,rss_bytes,"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 1 + 2 * 5);
    let [one, other] = [0, 1].map(|n| &run.targets[n]);
    assert!(lines[2].starts_with(&format!("client,,,{},11,0.5,0,4096,", one.url)), "{}", lines[2]);
    let of_server = format!("servers,{},{},{},12,0.25,0,4096,", one.url, one.name, other.url);
    assert!(lines[8].starts_with(&of_server), "{}", lines[8]);
    let columns = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
}
