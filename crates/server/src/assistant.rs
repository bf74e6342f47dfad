//! Threads that call a store that may wait, so that no worker waits and no connection waits for another's.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::context::{Desk, Shared};
use crate::conversation::{Conversation, Progress};
use crate::worker::{Mailbox, Message};

/// The requests of one connection, on their way to an assistant and back.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection.
    pub(crate) token: u64,
    pub(crate) conversation: Conversation,
    pub(crate) input: Vec<u8>,
    /// The longest request that the connection can keep.
    pub(crate) room: usize,
    pub(crate) answers: Vec<u8>,
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
            Ok(thread::Builder::new().name(name).spawn(move || work(desk, &receiver))?)
        });
        let threads = threads.collect::<Result<_, crate::Error>>()?;
        Ok(Self { jobs, threads })
    }

    pub(crate) fn jobs(&self) -> Sender<Job> {
        self.jobs.clone()
    }

    /// Waits for the threads, once no worker has a sender any more.
    pub(crate) fn end(self) -> io::Result<()> {
        drop(self.jobs);
        for thread in self.threads {
            thread
                .join()
                .map_err(|_| io::Error::other("a thread that calls the store has failed"))?;
        }
        Ok(())
    }
}

fn work(mut desk: Desk, jobs: &Mutex<Receiver<Job>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut job) = job else { return };
        let Job { conversation, input, room, answers, .. } = &mut job;
        job.progress = Some(conversation.advance(input, *room, &mut desk, answers));
        let from = Arc::clone(&job.from);
        from.send(Message::Back(Box::new(job)));
    }
}
