use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::order::Order;
use crate::sample::tests::sample;

const THEME: Theme = Theme { colours: true, unicode: true };

/// Two servers that answer and one that is down, after four samples.
fn view() -> View {
    let begin = Instant::now();
    let addresses = ["10.0.0.1:11211", "10.0.0.2:11211", "/run/mc.sock"].map(str::to_owned);
    let mut view = View::new(addresses.to_vec(), Duration::from_secs(1), begin);
    for second in 0..4 {
        let at = begin + Duration::from_secs(second);
        for (server, per_second) in [1000, 20].into_iter().enumerate() {
            let [gets, hits, misses] =
                [10, 9, 1].map(|part| (second * per_second * part / 10).to_string());
            let uptime = (100 + second).to_string();
            let counters = [
                ("pid", "7"),
                ("uptime", &uptime),
                ("version", "1.6.18"),
                ("curr_connections", "5"),
                ("max_connections", "1024"),
                ("cmd_get", &gets),
                ("cmd_set", "0"),
                ("get_hits", &hits),
                ("get_misses", &misses),
                ("curr_items", "12"),
                ("bytes", "1048576"),
                ("limit_maxbytes", "67108864"),
            ];
            view.live[server].apply(at, Ok(sample(begin, second, &counters)));
        }
        view.live[2].apply(at, Err("connection refused".to_owned()));
    }
    view
}

fn drawn(view: &View, theme: Theme, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view, theme)).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| row(y).trim_end().to_owned()).collect()
}

fn screen(view: &View, width: u16, height: u16) -> Vec<String> {
    lines(&drawn(view, THEME, width, height))
}

#[test]
fn a_usual_terminal_has_the_table_the_details_and_the_keys() {
    let lines = screen(&view(), 100, 24);
    assert_eq!(lines[0], "larder top  1 down  2 of 3 up  every 1s  as named");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&lines[1])[..4], ["server", "state", "req/s", "get/s"]);
    assert_eq!(words(&lines[2])[..4], ["10.0.0.1:11211", "up", "1000", "1000"]);
    assert_eq!(words(&lines[3])[..4], ["10.0.0.2:11211", "up", "20", "20"]);
    assert_eq!(lines[4], "/run/mc.sock    down   connection refused");
    assert_eq!(words(&lines[5])[..4], ["total", "2/3", "1020", "1020"]);
    assert!(lines[5].contains("90.0%"), "{}", lines[5]);
    assert!(lines[6].starts_with("── 10.0.0.1:11211 version 1.6.18 up 1m43s ──"), "{}", lines[6]);
    assert_eq!(lines[7], "requests/s: 1000, most 1000, last 3s");
    assert!(lines[8].ends_with("███"), "{}", lines[8]);
    assert!(lines.iter().any(|line| line.starts_with("hit rate: 90.0%, least 90.0%")));
    assert!(lines.iter().any(|line| line.starts_with("counter  ") && line.contains("per s")));
    let counter = lines.iter().find(|line| line.starts_with("get_hits ")).unwrap();
    assert_eq!(words(counter)[..3], ["get_hits", "2700", "900"]);
    assert_eq!(lines[23], "q ends  ? shows the keys");
}

#[test]
fn the_details_are_those_of_the_selected_server() {
    let mut view = view();
    view.selected = 2;
    let buffer = drawn(&view, THEME, 80, 24);
    let lines = lines(&buffer);
    assert!(lines[6].starts_with("── /run/mc.sock ──"), "{}", lines[6]);
    assert_eq!(lines[7], "down for 3s: connection refused");
    // The selected row is seen without colours, and red tells of the outage.
    let cell = &buffer[(79, 4)];
    assert!(cell.modifier.contains(Modifier::REVERSED) && cell.fg == Color::Red);
}

#[test]
fn latencies_are_shown_where_the_server_tells_them() {
    let mut view = view();
    assert!(!screen(&view, 80, 24).join("\n").contains("latency"));
    view.live[0].figures.p50_us = Some(12.0);
    view.live[0].figures.p99_us = Some(1234.0);
    let lines = screen(&view, 80, 24);
    assert!(lines[1].contains("p99") && lines[2].contains("1.2ms"), "{lines:#?}");
    assert_eq!(lines[7], "latency: p50 12us, p99 1.2ms");
}

#[test]
fn no_colour_is_used_where_none_is_wanted() {
    let theme = Theme { colours: false, unicode: false };
    let mut view = view();
    view.paused = Some(view.live.clone());
    let buffer = drawn(&view, theme, 80, 24);
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
    assert!(lines(&buffer).iter().any(|line| line.ends_with("###")));
    let coloured = drawn(&view, THEME, 80, 24);
    assert!(coloured.content.iter().any(|cell| cell.fg != Color::Reset));
}

#[test]
fn the_title_of_the_deciding_column_is_marked() {
    let mut view = view();
    view.order = Order::Requests;
    let buffer = drawn(&view, THEME, 80, 24);
    let marked: String = (0..80)
        .filter(|x| buffer[(*x, 1)].modifier.contains(Modifier::UNDERLINED))
        .map(|x| buffer[(x, 1)].symbol())
        .collect();
    assert_eq!(marked, "req/s");
    assert!(lines(&buffer)[0].ends_with("by requests"));
}

#[test]
fn forty_columns_keep_the_most_important_figures() {
    let mut view = view();
    view.paused = Some(view.live.clone());
    let lines = screen(&view, 40, 12);
    assert_eq!(lines[0], "larder top  paused  1 down  2 of 3 up");
    assert_eq!(lines[1], "server         state req/s get/s    hit");
    assert_eq!(lines[2], "10.0.0.1:11211 up     1000  1000  90.0%");
    // A low terminal has no details.
    assert!(!lines.iter().any(|line| line.contains("requests/s")));
}

#[test]
fn the_selected_row_stays_in_sight_of_a_low_terminal() {
    let addresses = (0..50).map(|server| format!("10.0.0.{server}:11211")).collect();
    let mut view = View::new(addresses, Duration::from_secs(1), Instant::now());
    for selected in [0, 7, 25, 49] {
        view.selected = selected;
        let lines = screen(&view, 80, 10);
        let shown = format!("10.0.0.{selected}:11211");
        assert!(lines.iter().any(|line| line.starts_with(&shown)), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("total")), "{lines:#?}");
    }
}

#[test]
fn the_help_names_the_keys() {
    let mut view = view();
    view.shows_help = true;
    for width in [40, 80] {
        let lines = screen(&view, width, 24).join("\n");
        for key in ["q or Esc ends", "s sorts", "p pauses", "+ and -"] {
            assert!(lines.contains(key), "{lines}");
        }
    }
}

#[test]
fn every_size_of_terminal_can_be_drawn() {
    let mut view = view();
    for shows_help in [false, true] {
        view.shows_help = shows_help;
        for width in (0..60).chain([200]) {
            for height in (0..30).chain([100]) {
                drawn(&view, THEME, width, height);
            }
        }
    }
}
