//! A channel in memory: it fails, loses a message, or cuts its subscriptions on demand.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use larder_store::{Change, Channel, Error, Event, Message, Result, Subscription};

/// The channel, and a test's handle on it.
#[derive(Debug, Default)]
pub(crate) struct Bus {
    state: Mutex<State>,
    /// Locked while a message is sent.
    sending: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    subscribers: Vec<Sender<Event>>,
    is_down: bool,
    /// The number of messages that will be lost.
    to_lose: u32,
    sent: Vec<Message>,
}

impl Bus {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// As long as the answer lives, to send a message takes.
    pub(crate) fn held(&self) -> MutexGuard<'_, ()> {
        self.sending.lock().unwrap()
    }

    /// Breaks the channel with all of its connections, or mends it.
    pub(crate) fn set_down(&self, is_down: bool) {
        let mut state = self.state();
        state.is_down = is_down;
        if is_down {
            state.subscribers.clear();
        }
    }

    /// Cuts all connections; new ones can be opened.
    pub(crate) fn cut(&self) {
        self.state().subscribers.clear();
    }

    /// Takes the next message and does not deliver it.
    pub(crate) fn lose_one(&self) {
        self.state().to_lose = 1;
    }

    /// Whether the message that was to be lost is lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.state().to_lose == 0
    }

    pub(crate) fn n_subscribers(&self) -> usize {
        self.state().subscribers.len()
    }

    /// The changes that were published, whether or not they were delivered.
    pub(crate) fn sent(&self) -> Vec<Change> {
        self.state().sent.iter().map(|message| message.change.clone()).collect()
    }
}

fn broken() -> Error {
    Error::Unavailable { engine: "bus", what: "told to be down".into(), source: None }
}

impl Channel for Bus {
    fn publish(&self, message: &Message) -> Result<()> {
        let _sending = self.sending.lock().unwrap();
        let mut state = self.state();
        if state.is_down {
            return Err(broken());
        }
        let message = Message::decode(&message.encode()).unwrap();
        state.sent.push(message.clone());
        if state.to_lose > 0 {
            state.to_lose -= 1;
            return Ok(());
        }
        let event = Event::Message(message);
        state.subscribers.retain(|subscriber| subscriber.send(event.clone()).is_ok());
        Ok(())
    }

    fn subscribe(&self) -> Result<Box<dyn Subscription>> {
        let mut state = self.state();
        if state.is_down {
            return Err(broken());
        }
        let (send, receive) = channel();
        state.subscribers.push(send);
        Ok(Box::new(Line(receive)))
    }
}

struct Line(Receiver<Event>);

impl Subscription for Line {
    fn next(&mut self, patience: Duration) -> Result<Event> {
        match self.0.recv_timeout(patience) {
            Ok(event) => Ok(event),
            Err(RecvTimeoutError::Timeout) => Ok(Event::Silence),
            Err(RecvTimeoutError::Disconnected) => Err(broken()),
        }
    }
}
