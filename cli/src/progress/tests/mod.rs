//! Tests of the view's look, and of the plain lines.

mod screen;

use std::time::Duration;

use insta::assert_snapshot;
use larder_bench::{Event, Plan, Scenario};
use larder_report::{Counts, Finding, Operation, Sample, Severity};
use larder_workload::WorkloadSpec;

use super::board::Board;
use super::lines::Lines;
use super::terminal_line::{Line, TerminalAbilities};
use super::view::view;
use crate::catalog::CATALOG;

const WIDE: TerminalAbilities =
    TerminalAbilities { columns: 80, rows: 24, colour: false, unicode: true };
const NARROW: TerminalAbilities = TerminalAbilities { columns: 40, ..WIDE };

/// A comparison whose events go to a board.
struct Watched {
    plan: Plan,
    board: Board,
    seconds: u64,
    done: u64,
}

impl Watched {
    /// A comparison whose targets are open.
    fn new(targets: &[&str], workload: &str) -> Self {
        let workload: WorkloadSpec = toml::from_str(workload).unwrap();
        let targets = targets.iter().map(|target| (*target).to_owned()).collect();
        let scenario = Scenario { name: "test".into(), targets, workload, ..Scenario::default() };
        let plan = Plan::new(&scenario, true, &CATALOG).unwrap();
        let mut told = Self { plan, board: Board::default(), seconds: 0, done: 0 };
        for target in told.names() {
            told.tell(Event::Opening { target: &target });
        }
        told
    }

    fn names(&self) -> Vec<String> {
        self.plan.targets.iter().map(|target| target.name.clone()).collect()
    }

    fn tell(&mut self, event: Event<'_>) {
        self.board.note(event, Duration::from_secs(self.seconds));
    }

    fn start(mut self) -> Self {
        self.board.note(Event::Started { plan: &self.plan }, Duration::ZERO);
        self
    }

    /// Begins the turn of a target at a point.
    fn begin(&mut self, round: u32, target: &str, at: usize) {
        let (point, rounds) = (self.plan.points[at].point.clone(), self.plan.rounds);
        self.tell(Event::Turn { round, rounds, target, point: &point });
    }

    /// A whole turn of two seconds, with the rate of each operation and its misses in a thousand.
    fn turn(&mut self, round: u32, target: &str, at: usize, rates: &[(f64, u64)]) {
        self.begin(round, target, at);
        self.seconds += 2;
        let point = self.plan.points[at].point.clone();
        let operations = self.plan.points[at].measured_operations();
        for (operation, (rate, misses)) in operations.into_iter().zip(rates) {
            let sample = &sample(round, *rate, *misses);
            self.tell(Event::Measured { target, point: &point, operation, sample });
        }
        self.done += 1;
        self.tell(Event::TurnEnded { done: self.done });
    }

    fn shown(&self, look: TerminalAbilities) -> String {
        shown(&self.board, look, self.seconds)
    }
}

fn shown(board: &Board, look: TerminalAbilities, seconds: u64) -> String {
    let lines = view(board, look, Duration::from_secs(seconds));
    assert!(lines.len() < look.rows.max(2), "{lines:#?}");
    lines
        .iter()
        .map(|line| line.text(look, look.columns - 1).trim_end().to_owned() + "\n")
        .collect()
}

fn sample(round: u32, ops_per_s: f64, misses: u64) -> Sample {
    Sample {
        round,
        position: 1,
        complete: true,
        counts: Counts { ops: 1000, hits: 1000 - misses, misses, ..Counts::default() },
        wall_s: 1.0,
        ops_per_s,
        ..Sample::default()
    }
}

fn check(id: &str, severity: Severity, operation: Operation, text: &str) -> Finding {
    let (target, point) = (Some("lmdb:".to_owned()), None);
    let (id, operation) = (id.into(), Some(operation));
    Finding {
        id,
        severity,
        target,
        point,
        operation,
        stored: false,
        text: text.into(),
        advice: String::new(),
    }
}

/// Three targets in their third round, a target that cannot run, and three checks that fired.
fn three() -> Watched {
    let targets = ["moka:", "lmdb:", "memcached:?name=a-cache-with-a-long-name", "redis:"];
    let mut told = Watched::new(&targets, "keys = 1000\nrounds = 8");
    let reason = "redis-server is not installed: apt-get install redis-server";
    told.tell(Event::Unavailable { target: "redis:", reason });
    told = told.start();
    for (round, share) in [(1, 0.5), (2, 1.0), (3, 0.98)] {
        told.turn(round, "moka:", 0, &[(1.24e6 * share, 0), (4.1e6, 0)]);
        told.turn(round, "lmdb:", 0, &[(420e3 / share, 0), (2.1e6 * share, 479)]);
        if round < 3 {
            told.turn(round, "a-cache-with-a-long-name", 0, &[(38e3, 0), (41e3 * share, 0)]);
        }
    }
    told.begin(3, "a-cache-with-a-long-name", 0);
    for (id, severity, operation) in [
        ("CAPACITY", Severity::Warn, Operation::Set),
        ("CAPACITY", Severity::Warn, Operation::Get),
        ("ONE-KEY", Severity::Note, Operation::Get),
        ("SILENT-DROP", Severity::Error, Operation::Set),
    ] {
        let check =
            check(id, severity, operation, "120 of 1000 were not there when they were read");
        told.tell(Event::Fired { target: Some("lmdb:"), check: &check });
    }
    told
}

#[test]
fn eighty_columns() {
    assert_snapshot!(three().shown(WIDE), @r"
    ━━━━━━━───────────────────────  round 3 of 8, 8 of 32 turns, 32 s left
                                set                get
      moka:                     ▄██      1.22 M/s  ███      4.10 M/s
      lmdb:                     █▄▅       429 k/s  ▄██      2.06 M/s    52.1 % hit
    ▸ a-cache-with-a-long-name  ██       38.0 k/s  ▄█       41.0 k/s
      redis:                    cannot run: redis-server is not installed: apt-get…
    checks so far: 1 error, 2 warnings
    ✗ SILENT-DROP lmdb:, set: 120 of 1000 were not there when they were read
    ! CAPACITY (2) lmdb:, get: 120 of 1000 were not there when they were read
    ");
}

#[test]
fn forty_columns() {
    assert_snapshot!(three().shown(NARROW), @r"
    round 3 of 8, 32 s left
                     set       get
      moka:          1.22 M/s  4.10 M/s
      lmdb:           429 k/s  2.06 M/s
    ▸ a-cach…g-name  38.0 k/s  41.0 k/s
      redis:         cannot run: redis-ser…
    checks so far: 1 error, 2 warnings
    ✗ SILENT-DROP lmdb:, set: 120 of 1000 …
    ! CAPACITY (2) lmdb:, get: 120 of 1000…
    ");
}

#[test]
fn more_room_than_it_needs() {
    assert_snapshot!(three().shown(TerminalAbilities { columns: 130, ..WIDE }), @r"
    ━━━━━━━───────────────────────  round 3 of 8, 8 of 32 turns, 32 s left
                                set                get
      moka:                     ▄██      1.22 M/s  ███      4.10 M/s
      lmdb:                     █▄▅       429 k/s  ▄██      2.06 M/s    52.1 % hit
    ▸ a-cache-with-a-long-name  ██       38.0 k/s  ▄█       41.0 k/s
      redis:                    cannot run: redis-server is not installed: apt-get install redis-server
    checks so far: 1 error, 2 warnings
    ✗ SILENT-DROP lmdb:, set: 120 of 1000 were not there when they were read
    ! CAPACITY (2) lmdb:, get: 120 of 1000 were not there when they were read
    ");
}

#[test]
fn nothing_but_ascii() {
    let text = three().shown(TerminalAbilities { unicode: false, ..WIDE });
    assert!(text.is_ascii());
    assert_snapshot!(text, @r"
    #######-----------------------  round 3 of 8, 8 of 32 turns, 32 s left
                                set                get
      moka:                     -##      1.22 M/s  ###      4.10 M/s
      lmdb:                     #-=       429 k/s  -##      2.06 M/s    52.1 % hit
    > a-cache-with-a-long-name  ##       38.0 k/s  -#       41.0 k/s
      redis:                    cannot run: redis-server is not installed: apt-get~
    checks so far: 1 error, 2 warnings
    x SILENT-DROP lmdb:, set: 120 of 1000 were not there when they were read
    ! CAPACITY (2) lmdb:, get: 120 of 1000 were not there when they were read
    ");
}

#[test]
fn colours_are_for_eyes_only() {
    let (plain, coloured) =
        (three().shown(WIDE), three().shown(TerminalAbilities { colour: true, ..WIDE }));
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[31m"), "{coloured:?}");
    let stripped = anstream::adapter::strip_str(&coloured).to_string();
    let stripped: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(stripped, plain.lines().collect::<Vec<_>>());
}

#[test]
fn before_the_rounds_the_view_names_the_current_step() {
    let mut told = Watched::new(&["moka:", "lmdb:"], "keys = 1000");
    told.tell(Event::Unavailable { target: "lmdb:", reason: "no room" });
    told.tell(Event::Floor);
    assert_snapshot!(told.shown(WIDE), @r"
    measuring the floor
      moka:
      lmdb:  cannot run: no room
    ");
}

#[test]
fn a_target_that_cannot_do_a_point_says_why_there_and_only_there() {
    let mut told =
        Watched::new(&["moka:", "lmdb:"], "keys = 1000\nrounds = 2\ndata-size = '100,4m'").start();
    for at in [0, 1] {
        told.turn(1, "moka:", at, &[(1000.0, 0), (1000.0, 0)]);
        let refused = Event::Refused { target: "lmdb:", reason: "value 4 MiB > item limit 1 MiB" };
        if at == 1 {
            told.begin(1, "lmdb:", at);
            told.tell(refused);
        } else {
            told.turn(1, "lmdb:", at, &[(500.0, 0), (500.0, 0)]);
        }
    }
    let text = told.shown(WIDE);
    assert!(text.contains("lmdb:  cannot run: value 4 MiB > item limit 1 MiB"), "{text}");
    told.turn(2, "moka:", 0, &[(1000.0, 0), (1000.0, 0)]);
    let text = told.shown(WIDE);
    assert!(!text.contains("cannot run") && text.contains(" 500 /s"), "{text}");
}

#[test]
fn after_the_rounds_too() {
    let mut told = three();
    told.tell(Event::Ended);
    assert!(told.shown(WIDE).starts_with("closing the targets\n  "));
}

/// Twelve targets at the second of three points, with every operation.
fn twelve() -> Watched {
    let names: Vec<String> = (1..=12).map(|n| format!("moka:?name=cache-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workload = "keys = 1000\nrounds = 12\ndata-size = '100,1k,10k'\n\
                    operations = 'set,get,touch,delete'\nttl = '1h'";
    let mut told = Watched::new(&names, workload).start();
    for round in 1..=12 {
        for (n, target) in (1_u32..).zip(told.names()) {
            let rate = f64::from(n * 1000 + 100 * (round * n % 7));
            told.turn(round, &target, 1, &[(rate, 0), (rate * 9.0, 0), (rate, 0), (rate / 3.0, 0)]);
        }
    }
    told.begin(12, "cache-7", 1);
    told
}

#[test]
fn twelve_targets_of_four_operations() {
    assert_snapshot!(twelve().shown(TerminalAbilities { columns: 100, ..WIDE }), @r"
    ━━━━━━━━━━────────────────────  round 12 of 12, 144 of 432 turns, 9 min 36 s left
      data_size 1 KiB
                set                   get                   touch                 delete
      cache-1   ▆▇▇██▅▆▆▇▇█ 1.50 k/s  ▆▇▇██▅▆▆▇▇█ 13.5 k/s  ▆▇▇██▅▆▆▇▇█ 1.50 k/s  ▆▇▇██▅▆▆▇▇█   500 /s
      cache-2   ██▇██▇▇██▇█ 2.30 k/s  ██▇██▇▇██▇█ 20.7 k/s  ██▇██▇▇██▇█ 2.30 k/s  ██▇██▇▇██▇█   767 /s
      cache-3   ███▇█▇████▇ 3.10 k/s  ███▇█▇████▇ 27.9 k/s  ███▇█▇████▇ 3.10 k/s  ███▇█▇████▇ 1.03 k/s
      cache-4   █████▇█████ 4.60 k/s  █████▇█████ 41.4 k/s  █████▇█████ 4.60 k/s  █████▇█████ 1.53 k/s
      cache-5   ███████████ 5.40 k/s  ███████████ 48.6 k/s  ███████████ 5.40 k/s  ███████████ 1.80 k/s
      cache-6   ███████████ 6.20 k/s  ███████████ 55.8 k/s  ███████████ 6.20 k/s  ███████████ 2.07 k/s
    ▸ cache-7   ███████████ 7.00 k/s  ███████████ 63.0 k/s  ███████████ 7.00 k/s  ███████████ 2.33 k/s
      cache-8   ███████████ 8.50 k/s  ███████████ 76.5 k/s  ███████████ 8.50 k/s  ███████████ 2.83 k/s
      cache-9   ███████████ 9.30 k/s  ███████████ 83.7 k/s  ███████████ 9.30 k/s  ███████████ 3.10 k/s
      cache-10  ███████████ 10.1 k/s  ███████████ 90.9 k/s  ███████████ 10.1 k/s  ███████████ 3.37 k/s
      cache-11  ███████████ 11.6 k/s  ███████████  104 k/s  ███████████ 11.6 k/s  ███████████ 3.87 k/s
      cache-12  ███████████ 12.4 k/s  ███████████  112 k/s  ███████████ 12.4 k/s  ███████████ 4.13 k/s
    ");
}

#[test]
fn twelve_targets_with_little_room() {
    assert_snapshot!(twelve().shown(TerminalAbilities { columns: 44, rows: 12, ..WIDE }), @r"
    round 12 of 12, 9 min 36 s left
      data_size 1 KiB
                set       get       touch    +1
      cache-1   1.50 k/s  13.5 k/s  1.50 k/s
      cache-2   2.30 k/s  20.7 k/s  2.30 k/s
      cache-3   3.10 k/s  27.9 k/s  3.10 k/s
      cache-4   4.60 k/s  41.4 k/s  4.60 k/s
      cache-5   5.40 k/s  48.6 k/s  5.40 k/s
      cache-6   6.20 k/s  55.8 k/s  6.20 k/s
    ▸ cache-7   7.00 k/s  63.0 k/s  7.00 k/s
      and 5 more targets
    ");
}

#[test]
fn any_size_will_do() {
    for told in [three(), twelve()] {
        for (columns, rows) in (1..60).map(|columns| (columns, columns % 20 + 1)) {
            for unicode in [true, false] {
                let text = told.shown(TerminalAbilities { columns, rows, unicode, colour: false });
                let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                assert!(widest < columns || columns == 1, "{widest} in {columns}:\n{text}");
            }
        }
    }
}

#[test]
fn wide_characters_take_two_columns_and_control_characters_do_nothing() {
    let mut told = Watched::new(
        &["moka:?name=缓存缓存缓存缓存缓存缓存缓存", "lmdb:?name=a%1B[2Jb"],
        "keys = 9",
    );
    told = told.start();
    for target in told.names() {
        told.turn(1, &target, 0, &[(1000.0, 0), (1000.0, 0)]);
    }
    let text = told.shown(NARROW);
    assert!(!text.contains('\x1b'), "{text:?}");
    assert_snapshot!(text, @r"
    round 1 of 10, 36 s left
                     set       get
      缓存缓…存缓存  1.00 k/s  1.00 k/s
      a [2Jb         1.00 k/s  1.00 k/s
    ");
}

#[test]
fn without_a_terminal_each_round_and_each_finding_is_a_line() {
    let told = Watched::new(&["moka:", "lmdb:"], "keys = 1000\nrounds = 2\nthreads = [1, 2]");
    let point = &told.plan.points[1].point;
    let found = check("SILENT-DROP", Severity::Error, Operation::Set, "120 of 1000 are gone");
    let found = Finding { point: Some(point.clone()), ..found };
    let note = Finding { severity: Severity::Note, ..found.clone() };
    let turn = |round, target| Event::Turn { round, rounds: 2, target, point };
    let events = [
        Event::Opening { target: "moka:" },
        Event::Probing { target: "moka:" },
        Event::Opening { target: "lmdb:" },
        Event::Unavailable { target: "lmdb:", reason: "no room" },
        Event::Floor,
        Event::Started { plan: &told.plan },
        turn(1, "moka:"),
        Event::TurnEnded { done: 1 },
        turn(1, "lmdb:"),
        Event::Fired { target: Some("lmdb:"), check: &found },
        Event::Fired { target: Some("lmdb:"), check: &note },
        Event::Lost { target: "lmdb:", reason: "it went away" },
        turn(2, "moka:"),
        Event::Ended,
    ];
    let mut lines = Lines::default();
    let told: Vec<String> = events.iter().filter_map(|event| lines.line(*event)).collect();
    assert_snapshot!(told.join("\n"), @r"
    opening moka:
    opening lmdb:
    larder: lmdb: cannot run: no room
    measuring the floor
    round 1 of 2
    so far, error SILENT-DROP: lmdb:, set, threads 2: 120 of 1000 are gone
    larder: lmdb: is lost: it went away
    round 2 of 2
    ");
}

#[test]
fn rounds_without_a_known_end_tell_their_bounds() {
    let workload = "keys = 1000\nrounds = 2\nuntil = '2%'\nmax-time = '3m'";
    let mut told = Watched::new(&["moka:", "lmdb:"], workload).start();
    for round in 1..=3 {
        told.turn(round, "moka:", 0, &[(1.2e6, 0), (4e6, 0)]);
        told.turn(round, "lmdb:", 0, &[(4e5, 0), (2e6, 0)]);
    }
    let first = told.shown(WIDE).lines().next().unwrap().to_owned();
    assert!(first.starts_with("━━━━") && !first.contains('─'), "{first}");
    assert!(first.ends_with("  round 3 until 2%, 6 turns, at most 2 min 48 s left"), "{first}");

    let mut lines = Lines::default();
    lines.line(Event::Started { plan: &told.plan });
    let point = told.plan.points[0].point.clone();
    let mut said =
        |round| lines.line(Event::Turn { round, rounds: 2, target: "moka:", point: &point });
    assert_eq!(said(2).as_deref(), Some("round 2 of 2 and more, until 2%"));
    assert_eq!(said(3), None);
    assert_eq!(said(10).as_deref(), Some("round 10, until 2%"));
}

#[test]
fn two_names_never_look_the_same() {
    let targets = [
        "memcached:?name=prod-east-cache-1",
        "memcached:?name=prod-west-cache-1",
        "memcached:?name=prod-west-cache-2",
        "moka:",
    ];
    let told = Watched::new(&targets, "keys = 1000\nrounds = 8").start();
    for look in [
        WIDE,
        NARROW,
        TerminalAbilities { columns: 20, ..WIDE },
        TerminalAbilities { unicode: false, ..NARROW },
    ] {
        let text = told.shown(look);
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|word| word.contains("cache") || word.contains(['…', '~']))
            .collect();
        let different: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!((names.len(), different.len()), (3, 3), "{text}");
    }
    let names = ["缓存缓存缓存缓存甲", "缓存缓存缓存缓存乙", "moka:"];
    let short = NARROW.shorten(&names, 10);
    assert!(short.iter().all(|name| Line::from(&**name).width() <= 10), "{short:?}");
    assert_ne!(short[0], short[1]);
}
