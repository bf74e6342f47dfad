//! Tests of the page's look.

use insta::assert_snapshot;
use larder_segment::{End, NamespaceSurvey, PartitionSurvey, Queue, SegmentSurvey, Survey};

use super::page_style::PageStyle;
use super::users::{Holder, User, Users};
use super::{Seen, json, page};

const PLAIN: PageStyle = PageStyle { width: 80, colour: false, unicode: false };

/// A segment of a queue: `alive` of 256 parts are alive, and a quarter of the others dead.
fn segment(queue: Queue, order: u64, alive: u32) -> SegmentSurvey {
    let written = alive + (256 - alive) / 4;
    SegmentSurvey {
        queue,
        class: 0,
        written: written * 64,
        alive: alive * 64,
        records: alive,
        is_active: false,
        is_stale: false,
        times: 3,
        order,
        begun: order * 1000,
        latest: None,
    }
}

fn free() -> SegmentSurvey {
    SegmentSurvey { written: 0, alive: 0, records: 0, ..segment(Queue::Free, 0, 0) }
}

/// A partition with `main` segments in its main queue, stored in another order. The older a segment, the emptier it is.
fn partition(main: u64) -> PartitionSurvey {
    let share = |order: u64| u32::try_from(256 * order / main).unwrap();
    let mut segments: Vec<_> =
        (1..=main).rev().map(|order| segment(Queue::Main, order, share(order))).collect();
    let young = [(main + 1, 250), (main + 3, 90), (main + 2, 256)];
    segments.extend(young.map(|(order, alive)| segment(Queue::Small, order, alive)));
    segments.extend([free(), free()]);
    PartitionSurvey { holder: None, items: 1000, bytes: 123_456, slots: 1600, segments }
}

fn namespace(name: &str, cleared: u64) -> NamespaceSurvey {
    NamespaceSurvey { name: name.to_owned(), cleared }
}

fn seen(partitions: Vec<PartitionSurvey>) -> Seen {
    let survey = Survey {
        size: 1 << 20,
        segment_size: 16 << 10,
        max_key: 250,
        max_value: 256 << 10,
        made_ms: 1_790_000_000_000,
        now: 61_500,
        sessions: 12,
        cleared: 0,
        namespaces: vec![namespace("shop", 0), namespace("forum\n", 2)],
        end: End::Open,
        is_open: Some(true),
        partitions,
    };
    let user = |pid, name: &str| User { pid, name: name.to_owned() };
    let users = Users { processes: vec![user(7, "perl"), user(123, "larder")], is_all: true };
    Seen { url: "mmap:/dev/shm/cache".to_owned(), users, holders: Vec::new(), survey }
}

#[test]
fn a_region_is_drawn_with_the_oldest_first() {
    assert_snapshot!(page(&seen(vec![partition(40), partition(37)]), PLAIN), @r"
    mmap:/dev/shm/cache
      region      1.00 MiB, 2 partitions of 45 segments of 16.0 KiB each
      limits      keys 250 B, values 256 KiB
      made        2026-09-21T14:13:20Z, 1 min 2 s ago
      state       open
      open in     7 perl, 123 larder
      entries     2000, 241 KiB of keys and values; 62.5 % of the index
      namespaces  shop, forum? (cleared 2 times)
      sessions    12 so far; never cleared

    queue     segments      alive       dead  unwritten    share
    small            6   74.5 KiB   5.25 KiB   16.2 KiB   77.6 %
    main            77    630 KiB    149 KiB    453 KiB   51.1 %
    free             4        0 B        0 B   64.0 KiB      0 %
    all             87    704 KiB    154 KiB    533 KiB   50.6 %

    A sign is a segment, the oldest first, by how much of it is alive: .:-=+*#%@;
    _ free
    partition  small  main                                      free
            0  @@=    ..:::::-----=====+++++*****#####%%%%%@@@  __
            1  @@=    ..::::-----=====++++*****#####%%%%@@@     __

    begun within  segments  alive
    30 s                21 87.3 %  sssssmmmmmmmmmmmm
    1 min               60 42.7 %  mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm
    3 min                2 2.34 %  mm
    bars: s small queue, m main queue
    ");
    let look = PageStyle { unicode: true, ..PLAIN };
    let drawn = page(&seen(vec![partition(40)]), look);
    assert_snapshot!(drawn, @r"
    mmap:/dev/shm/cache
      region      1.00 MiB, 1 partition of 45 segments of 16.0 KiB each
      limits      keys 250 B, values 256 KiB
      made        2026-09-21T14:13:20Z, 1 min 2 s ago
      state       open
      open in     7 perl, 123 larder
      entries     1000, 121 KiB of keys and values; 62.5 % of the index
      namespaces  shop, forum? (cleared 2 times)
      sessions    12 so far; never cleared

    queue     segments      alive       dead  unwritten    share
    small            3   37.2 KiB   2.62 KiB   8.12 KiB   77.6 %
    main            40    327 KiB   77.5 KiB    236 KiB   51.1 %
    free             2        0 B        0 B   32.0 KiB      0 %
    all             45    364 KiB   80.1 KiB    276 KiB   50.6 %

    A sign is a segment, the oldest first, by how much of it is alive: ▁▂▃▄▅▆▇█;
    · free
    partition  small  main                                      free
            0  ██▃    ▁▁▂▂▂▂▂▂▃▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▇▇▇▇▇▇███  ··

    begun within  segments  alive
    30 s                12 86.8 %  ▒▒▒█████████
    1 min               30 41.1 %  ██████████████████████████████
    3 min                1 2.34 %  █
    bars: ▒ small queue, █ main queue
    ");
}

#[test]
fn where_there_are_more_segments_than_columns_a_sign_stands_for_several() {
    let look = PageStyle { width: 50, ..PLAIN };
    let mut seen = seen(vec![partition(500), partition(20)]);
    seen.survey.now = 510_000;
    assert_snapshot!(page(&seen, look), @r"
    mmap:/dev/shm/cache
      region      1.00 MiB, 2 partitions of 505 segments of 16.0 KiB each
      limits      keys 250 B, values 256 KiB
      made        2026-09-21T14:13:20Z, 8 min 30 s ago
      state       open
      open in     7 perl, 123 larder
      entries     2000, 241 KiB of keys and values; 62.5 % of the index
      namespaces  shop, forum? (cleared 2 times)
      sessions    12 so far; never cleared

    queue     segments      alive       dead  unwritten    share
    small            6   74.5 KiB   5.25 KiB   16.2 KiB   77.6 %
    main           520   4.06 MiB   1.00 MiB   3.06 MiB     50 %
    free             4        0 B        0 B   64.0 KiB      0 %
    all            530   4.14 MiB   1.01 MiB   3.14 MiB   49.9 %

    A sign is 20 segments, the oldest first, by how
    much of it is alive: .:-=+*#%@; _ free
    partition  small  main                       free
            0  #      ..:::---===+++***###%%%@@  _
            1  #      +                          _

    begun within  segments  alive
    10 s                 3 77.6 %  s
    30 s                20 97.9 %  mm
    1 min               30 92.9 %  mm
    3 min              120 77.9 %  mmmmmmm
    10 min             353 34.4 %  smmmmmmmmmmmmmmmmmm
    bars: s small queue, m main queue
    ");
    for width in [1, 10, 33, 60, 200] {
        let drawn = page(&seen, PageStyle { width, ..PLAIN });
        let map = drawn.lines().find(|line| line.starts_with("        0  ")).unwrap();
        assert!(map.len() <= width.max(40), "{map}");
    }
}

#[test]
fn expired_cleared_and_damaged_segments_are_seen() {
    let mut partition = partition(30);
    for segment in &mut partition.segments[..10] {
        (segment.class, segment.latest) = (2, Some(70_000));
    }
    for segment in &mut partition.segments[10..20] {
        (segment.class, segment.latest) = (2, Some(60_000));
        (segment.is_stale, segment.alive) = (true, 0);
    }
    partition.segments[20].queue = Queue::Unknown;
    let mut seen = seen(vec![partition]);
    seen.survey.end = End::Lost;
    seen.survey.is_open = Some(false);
    seen.survey.cleared = 3;
    let holder = |partition, name: Option<&str>, is_stopped| {
        let name = name.map(str::to_owned);
        Holder { partition, thread: 4711, name, is_stopped }
    };
    seen.holders = vec![holder(0, Some("shop"), true), holder(3, None, false)];
    seen.survey.namespaces = (0..11).map(|n| namespace(&n.to_string(), 0)).collect();
    seen.users = Users::default();
    assert_snapshot!(page(&seen, PLAIN), @r"
    mmap:/dev/shm/cache
      region      1.00 MiB, 1 partition of 35 segments of 16.0 KiB each
      limits      keys 250 B, values 256 KiB
      made        2026-09-21T14:13:20Z, 1 min 2 s ago
      state       open when the machine went down: the next process that opens it finds it empty
      locks       partition 0 held by thread 4711 (shop, stopped), partition 3 held by thread 4711 (not seen here)
      entries     1000, 121 KiB of keys and values; 62.5 % of the index
      namespaces  0, 1, 2, 3, 4, 5, 6, 7 and 3 more
      sessions    12 so far; cleared 3 times

    queue     segments      alive       dead  unwritten    share
    small            3   37.2 KiB   2.62 KiB   8.12 KiB   77.6 %
    main            29    159 KiB    137 KiB    167 KiB   34.4 %
    free             2        0 B        0 B   32.0 KiB      0 %
    damaged          1   5.31 KiB   2.62 KiB   8.06 KiB   33.2 %
    all             35    202 KiB    142 KiB    216 KiB   36.1 %

    A sign is a segment, the oldest first, by how much of it is alive: .:-=+*#%@;
    x expired or cleared; _ free; ? damaged
    partition  small  main                           free
            0  @@=    .::::----xxxxxxxxxx####%%%%@@  __?

    begun within  segments  alive
    30 s                 2 67.6 %  ss
    1 min               29 37.6 %  smmmmmmmmmmmmmmmmmmmmmmmmmmmm
    3 min                1 3.12 %  m
    bars: s small queue, m main queue

    lives      segments      alive    expired
    for ever         12   61.0 KiB          0
    to 16 s          20    136 KiB         10
    ");
}

#[test]
fn an_empty_region_and_impossible_figures_are_drawn_too() {
    let empty =
        PartitionSurvey { holder: None, items: 0, bytes: 0, slots: 100, segments: vec![free(); 3] };
    assert_snapshot!(page(&seen(vec![empty]), PLAIN), @r"
    mmap:/dev/shm/cache
      region      1.00 MiB, 1 partition of 3 segments of 16.0 KiB each
      limits      keys 250 B, values 256 KiB
      made        2026-09-21T14:13:20Z, 1 min 2 s ago
      state       open
      open in     7 perl, 123 larder
      entries     0, 0 B of keys and values; 0 % of the index
      namespaces  shop, forum? (cleared 2 times)
      sessions    12 so far; never cleared

    queue     segments      alive       dead  unwritten    share
    free             3        0 B        0 B   48.0 KiB      0 %
    all              3        0 B        0 B   48.0 KiB      0 %

    A sign is a segment, the oldest first, by how much of it is alive: .:-=+*#%@;
    _ free
    partition  small  main  free
            0               ___
    ");
    let mut mad = seen(vec![PartitionSurvey {
        holder: None,
        items: u64::MAX,
        bytes: u64::MAX,
        slots: 1,
        segments: vec![SegmentSurvey {
            written: 16 << 10,
            alive: 16 << 10,
            order: u64::MAX,
            begun: u64::MAX,
            latest: Some(u64::MAX - 1),
            ..segment(Queue::Main, 0, 0)
        }],
    }]);
    (mad.survey.made_ms, mad.survey.now) = (u64::MAX, 0);
    (mad.survey.max_value, mad.survey.sessions, mad.survey.is_open) = (u64::MAX, u64::MAX, None);
    let drawn = page(&mad, PLAIN);
    assert!(drawn.contains("at an impossible time"), "{drawn}");
    mad.survey.partitions.clear();
    page(&mad, PLAIN);
    json::of(&mad);
}

#[test]
fn colours_are_beside_the_signs_and_change_no_sign() {
    let seen = seen(vec![partition(40)]);
    let coloured = page(&seen, PageStyle { colour: true, ..PLAIN });
    let plain = anstream::adapter::strip_str(&coloured).to_string();
    assert!(coloured.contains('\x1b'));
    assert_eq!(plain, page(&seen, PLAIN));
}

#[test]
fn programs_get_every_segment() {
    let json = json::of(&seen(vec![partition(5)]));
    assert_eq!(json["partitions"][0]["segments"].as_array().unwrap().len(), 10);
    assert_eq!(json["queues"]["main"]["segments"], 5);
    let first = &json["partitions"][0]["segments"][0];
    assert_eq!(
        (&first["queue"], &first["order"], &first["age_ms"], &first["expires_in_ms"]),
        (&"main".into(), &5.into(), &56_500.into(), &serde_json::Value::Null)
    );
    assert_eq!(json["processes"][1]["name"], "larder");
}
