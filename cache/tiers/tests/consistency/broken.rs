//! The judge itself is tested with histories that break the promise, and with histories that nearly do.

use super::history::{Bounds, Event, Fault, Leaves, judge};

const BOUNDS: Bounds = Bounds { replaced: 5, after_ttl: Some(5) };

fn begun(write: u64, leaves: Leaves, at: u64) -> Event {
    Event::Begun { write, key: 7, leaves, at }
}

fn ended(write: u64, is_done: bool, at: u64) -> Event {
    Event::Ended { write, is_done, at }
}

fn read(write: u64, begun: u64, ended: u64) -> Event {
    Event::Read { key: 7, write, is_stale: false, begun, ended }
}

fn too_old(write: u64, by: u64) -> Fault {
    Fault::TooOld { key: 7, write, by }
}

fn invented(write: u64) -> Fault {
    Fault::Invented { key: 7, write }
}

/// The check finds each way in which a history can break the promise, and nothing else.
pub(crate) fn the_check_finds_what_breaks_the_promise() {
    let value = Leaves::Value;
    let first = [begun(1, value, 10), ended(1, true, 20)];
    let two = [&first[..], &[begun(2, value, 30), ended(2, true, 40)]].concat();
    let deleted = [&first[..], &[begun(2, Leaves::Nothing, 30), ended(2, true, 40)]].concat();
    let failed =
        [begun(1, value, 10), ended(1, false, 20), begun(2, value, 30), ended(2, true, 40)];
    let unknown = [&first[..], &[begun(2, value, 30)]].concat();
    let at_once =
        [begun(1, value, 10), begun(2, value, 15), ended(1, true, 20), ended(2, true, 40)];
    let for_nine = [begun(1, Leaves::ValueFor(9), 10), ended(1, true, 20)];
    let outlived = Fault::Outlived { key: 7, write: 1, by: 1 };
    let stale = Event::Read { key: 7, write: 1, is_stale: true, begun: 100, ended: 110 };
    let other_key = Event::Read { key: 8, write: 1, is_stale: false, begun: 50, ended: 60 };
    for (writes, read, wanted) in [
        (&two[..], read(2, 50, 60), None),
        (&two, read(1, 40, 60), None),
        (&two, read(1, 45, 60), None),
        (&two, read(1, 46, 60), Some(too_old(1, 1))),
        (&deleted, read(1, 100, 110), Some(too_old(1, 55))),
        // A stale value tells that it is old.
        (&deleted, stale, None),
        // What failed, or whose end nobody knows, may take effect later, and replaces nothing for sure.
        (&failed, read(1, 100, 110), None),
        (&unknown, read(1, 100, 110), None),
        (&unknown, read(2, 100, 110), None),
        (&failed[2..], read(1, 100, 110), Some(invented(1))),
        (&two, other_key, Some(Fault::Invented { key: 8, write: 1 })),
        // Of two writes at once either may be the last.
        (&at_once, read(1, 100, 110), None),
        (&two, read(3, 100, 110), Some(invented(3))),
        // A read that ends before a write begins.
        (&two, read(2, 5, 25), Some(invented(2))),
        (&for_nine, read(1, 34, 40), None),
        (&for_nine, read(1, 35, 40), Some(outlived)),
    ] {
        let history = [writes, &[read]].concat();
        assert_eq!(judge(&history, BOUNDS).faults, Vec::from_iter(wanted), "{history:?}");
        let lines = history.iter().map(|event| Event::parse(&event.to_string()).unwrap());
        assert_eq!(lines.collect::<Vec<_>>(), history);
    }
    assert_eq!(Event::parse("read 7 1 false 1"), None);
}

/// A pause counts as far as it lies between the write and the read, and no further.
pub(crate) fn a_pause_of_a_process_lengthens_the_bound() {
    let value = Leaves::Value;
    let two = [begun(1, value, 10), ended(1, true, 20), begun(2, value, 30), ended(2, true, 40)];
    for (pauses, wanted) in [
        (&[(45, 50)][..], vec![too_old(1, 5)]),
        (&[(45, 50), (45, 50)], vec![]),
        (&[(20, 45)], vec![too_old(1, 5)]),
        (&[(52, 90)], vec![too_old(1, 7)]),
        (&[(60, 90)], vec![too_old(1, 10)]),
    ] {
        let pauses =
            pauses.iter().map(|(begun, ended)| Event::Paused { begun: *begun, ended: *ended });
        let history = [&two[..], &pauses.collect::<Vec<_>>(), &[read(1, 55, 56)]].concat();
        let verdict = judge(&history, BOUNDS);
        assert_eq!((verdict.faults, verdict.n_conclusive_reads), (wanted, 1), "{history:?}");
    }
    // A read soon after the write, and one of a key without a write, can tell nothing.
    assert_eq!(judge(&[&two[..], &[read(2, 44, 46)]].concat(), BOUNDS).n_conclusive_reads, 0);
}
