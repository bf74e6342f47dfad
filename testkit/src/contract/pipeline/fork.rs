//! A pipeline in a process that forks: the child is refused, and the parent's requests are answered.

use std::io;
use std::os::fd::BorrowedFd;

use larder_store::{Answer, Delta, Put, Session, SetOptions, Watch};
use libtest_mimic::Failed;

use super::super::expect::{ensure, ensure_eq, fails_with};

/// The requests that are outstanding during the fork.
const OUTSTANDING: usize = 10;

/// Before the fork: asks for a key without receiving an answer.
pub(in super::super) fn ask_ahead(session: &mut dyn Session, key: &[u8]) -> Result<(), Failed> {
    let Some(pipeline) = session.pipeline() else { return Ok(()) };
    (0..OUTSTANDING).try_for_each(|id| pipeline.get(id, key))?;
    pipeline.flush();
    Ok(())
}

/// In the parent: each request has its own answer, and the session works on.
pub(in super::super) fn is_answered(session: &mut dyn Session, value: &[u8]) -> Result<(), Failed> {
    let Some(pipeline) = session.pipeline() else { return Ok(()) };
    let mut answered = Vec::new();
    while pipeline.n_outstanding() > 0 {
        pipeline.wait(&mut [0; 4096], &mut |id, answer| {
            let is_right = matches!(&answer, Answer::Hit { value: found, .. } if *found == value);
            answered.push((id, is_right));
        });
    }
    let wanted: Vec<_> = (0..OUTSTANDING).map(|id| (id, true)).collect();
    ensure_eq!(answered, wanted, "the answers of before the fork, and whether they are right");
    Ok(())
}

/// In the child: every request is refused, and no answer is received.
pub(in super::super) fn is_refused(session: &mut dyn Session, key: &[u8]) -> Result<(), Failed> {
    const KIND: &str = "forked";
    let Some(pipeline) = session.pipeline() else { return Ok(()) };
    let options = SetOptions::default();
    fails_with(pipeline.watch_with(Box::new(Unwatched)), KIND)?;
    fails_with(pipeline.connect(), KIND)?;
    fails_with(pipeline.get(0, key), KIND)?;
    fails_with(pipeline.get_many(0, &[key]), KIND)?;
    fails_with(pipeline.set(0, key, b"of the child", &options), KIND)?;
    fails_with(pipeline.set_many(0, &[Put { key, value: b"of the child", options }]), KIND)?;
    fails_with(pipeline.delete(0, key), KIND)?;
    fails_with(pipeline.touch(0, key, None), KIND)?;
    fails_with(pipeline.incr(0, key, Delta::Up(1), None), KIND)?;
    pipeline.flush();
    ensure_eq!(pipeline.unsent_bytes(), 0, "the unsent bytes");
    ensure_eq!(pipeline.n_outstanding(), 0, "the outstanding requests");
    ensure!(!pipeline.is_ready(), "answers are ready");
    let mut n_answers = 0;
    pipeline.receive(0, &mut [0; 4096], &mut |_, _| n_answers += 1);
    pipeline.wait(&mut [0; 4096], &mut |_, _| n_answers += 1);
    pipeline.expire(&mut |_, _| n_answers += 1);
    ensure!(n_answers == 0, "{n_answers} answers are received");
    Ok(())
}

/// A watch that must not be used.
struct Unwatched;

impl Watch for Unwatched {
    fn watch(&mut self, _: usize, _: BorrowedFd<'_>, _: bool) -> io::Result<()> {
        Err(io::Error::other("a socket of the parent is watched in the child"))
    }
}
