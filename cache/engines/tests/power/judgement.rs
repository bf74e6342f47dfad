//! The judge, tried with small journals of two keys.

use larder_testkit::trial;
use libtest_mimic::Trial;

use crate::journal::{Action, Event};
use crate::promise::{Book, Fault, Promise};
use crate::values::{KEYS, State};

const CHECKPOINTED: Promise = Promise::UpToCheckpoint("checkpoint");
const MADE: Event<'_> = Event::Create { file: 7, name: "store/checkpoint" };
const BEGUN: Event<'_> = Event::SyncBegin { id: 1 };
const ENDED: Event<'_> = Event::SyncEnd { file: 7, id: 1, is_folder: false };

/// Two changes, one after the other, and a third that is in flight at the end.
const CHANGES: [Event<'_>; 5] = [
    begin(0, 1, Action::Set),
    Event::Acknowledge { key: 0 },
    begin(1, 1, Action::Set),
    Event::Acknowledge { key: 1 },
    begin(0, 2, Action::Append),
];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("acknowledged_changes_must_be_there", acknowledged_changes),
        trial("a_change_in_flight_may_be_there", change_in_flight),
        trial("a_state_of_no_moment_is_damage", state_of_no_moment),
        trial(
            "a_file_that_got_its_name_is_a_checkpoint_once_the_folder_is_synced",
            renamed_checkpoint,
        ),
        trial("changes_since_the_checkpoint_before_the_last_may_be_lost", checkpoints),
    ]
}

const fn begin(key: u64, number: u64, action: Action) -> Event<'static> {
    Event::Begin { key, number, action }
}

/// The verdict on a store that found the first two keys in these states, after all of the journal.
fn judge(events: &[Event<'_>], promise: Promise, found: [&[u64]; 2]) -> Result<usize, Fault> {
    let mut states: Vec<State> = (0..KEYS).map(|_| State::new()).collect();
    for (state, found) in states.iter_mut().zip(found) {
        *state = found.to_vec();
    }
    // The first record is that of no change.
    let events = [&[MADE], events].concat();
    Book::new(&events, promise).judge(&states, events.len(), promise)
}

fn acknowledged_changes() {
    assert!(matches!(judge(&CHANGES, Promise::Everything, [&[1], &[1]]), Ok(0)));
    for found in [[&[][..], &[1]], [&[1], &[]], [&[], &[]]] {
        assert!(matches!(judge(&CHANGES, Promise::Everything, found), Err(Fault::Lost(_))));
    }
}

fn change_in_flight() {
    assert!(matches!(judge(&CHANGES, Promise::Everything, [&[1, 2], &[1]]), Ok(0)));
    let torn = judge(&CHANGES, Promise::Everything, [&[2], &[1]]);
    assert!(matches!(torn, Err(Fault::MadeUp(_))), "{torn:?}");
}

fn state_of_no_moment() {
    // The later change of the two is there without the earlier one.
    let mixed = judge(&CHANGES, CHECKPOINTED, [&[], &[1]]);
    assert!(matches!(mixed, Err(Fault::Mixed)), "{mixed:?}");
    assert!(matches!(judge(&CHANGES, CHECKPOINTED, [&[1], &[]]), Ok(1)));
    assert!(matches!(judge(&CHANGES, CHECKPOINTED, [&[], &[]]), Ok(2)));
}

fn checkpoints() {
    let [first, second, rest] = [&CHANGES[..2], &CHANGES[2..4], &CHANGES[4..]];
    let checkpoint = &[BEGUN, ENDED][..];
    let once = [first, checkpoint, second, rest].concat();
    assert!(matches!(judge(&once, CHECKPOINTED, [&[], &[]]), Ok(2)));
    let twice = [first, checkpoint, second, checkpoint, rest].concat();
    let lost = judge(&twice, CHECKPOINTED, [&[], &[]]);
    assert!(matches!(lost, Err(Fault::Lost(_))), "{lost:?}");
    assert!(matches!(judge(&twice, CHECKPOINTED, [&[1], &[]]), Ok(1)));
    let closed = [first, &[Event::Closing, Event::Closed], second, rest].concat();
    let lost = judge(&closed, CHECKPOINTED, [&[], &[]]);
    assert!(matches!(lost, Err(Fault::Lost(_))), "{lost:?}");
}

fn renamed_checkpoint() {
    let made = Event::Create { file: 8, name: "store/new" };
    let renamed = Event::Rename { from: "store/new", to: "store/checkpoint", is_exchange: false };
    let folder_begun = Event::SyncBegin { id: 2 };
    let folder_ended = Event::SyncEnd { file: 1, id: 2, is_folder: true };
    let events = [made, BEGUN, Event::SyncEnd { file: 8, id: 1, is_folder: false }, renamed];
    let n_ended = |events: &[Event<'_>]| Book::new(events, CHECKPOINTED).n_checkpoints(usize::MAX);
    assert_eq!(n_ended(&events), 0);
    assert_eq!(n_ended(&[&events[..], &[folder_begun, folder_ended]].concat()), 1);
    // The sync had begun before the rename.
    let early = [&events[..3], &[folder_begun, renamed, folder_ended]].concat();
    assert_eq!(n_ended(&early), 0);
}
