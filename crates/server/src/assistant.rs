//! Threads that call a store that may wait, so that no worker waits and no connection waits for another's.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::context::{Desk, Shared};
use crate::conversation::{Conversation, Progress};
use crate::mailbox::{Mailbox, Message};

/// The time between two attempts to get a session.
const PAUSE: Duration = Duration::from_millis(100);

/// The requests of one connection, on their way to an assistant and back.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection.
    pub(crate) token: u64,
    pub(crate) conversation: Conversation,
    pub(crate) input: Vec<u8>,
    pub(crate) answers: Vec<u8>,
    /// `None` before the assistant is done, and where it failed.
    pub(crate) progress: Option<Progress>,
    /// The worker that has the connection.
    pub(crate) from: Arc<Mailbox>,
}

/// The threads, and where they get their work.
#[derive(Debug)]
pub(crate) struct Assistants {
    jobs: Sender<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl Assistants {
    /// Starts the threads. `first` is the place of the first one's counters.
    pub(crate) fn start(shared: &Arc<Shared>, first: usize) -> Result<Self, crate::Error> {
        let (jobs, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = (0..shared.settings.assistants.get()).map(|i| {
            let desk = Desk::new(shared, first + i)?;
            let receiver = Arc::clone(&receiver);
            let name = format!("assistant {i}");
            Ok(thread::Builder::new().name(name).spawn(move || work(desk, first + i, &receiver))?)
        });
        let threads = threads.collect::<Result<_, crate::Error>>()?;
        Ok(Self { jobs, threads })
    }

    pub(crate) fn jobs(&self) -> Sender<Job> {
        self.jobs.clone()
    }

    /// Whether a thread has ended, which none does while the server runs.
    pub(crate) fn have_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits for the threads, once no worker has a sender any more.
    pub(crate) fn finish(self) -> io::Result<()> {
        drop(self.jobs);
        for thread in self.threads {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread that calls the store has failed"))?;
        }
        Ok(())
    }
}

fn work(mut desk: Desk, place: usize, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut job) = job else { return };
        if desk.shared.is_over.load(Ordering::Relaxed) {
            continue;
        }
        // A store that panics costs one client its connection, and this thread its session.
        let Job { conversation, input, answers, .. } = &mut job;
        let progress =
            catch_unwind(AssertUnwindSafe(|| conversation.advance(input, &mut desk, answers)));
        let has_failed = progress.is_err();
        if has_failed {
            // The last of them is not whole.
            answers.clear();
        }
        job.progress = progress.ok();
        let from = Arc::clone(&job.from);
        from.send(Message::Back(Box::new(job)));
        if has_failed {
            let Some(new) = new_desk(&Arc::clone(&desk.shared), place) else { return };
            // What a session leaves behind may panic, too.
            let broken = std::mem::replace(&mut desk, new);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
        }
    }
}

/// A desk in place of one whose store has panicked; `None` once the server is over.
fn new_desk(shared: &Arc<Shared>, place: usize) -> Option<Desk> {
    loop {
        if shared.is_over.load(Ordering::Relaxed) {
            return None;
        }
        match Desk::new(shared, place) {
            Ok(desk) => return Some(desk),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
