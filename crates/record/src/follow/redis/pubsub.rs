//! Subscriptions to channels, and the messages that come of them.
//!
//! With RESP3 messages are pushes. With RESP2 they are arrays like answers, told apart by their first word, on a connection
//! that asks for hardly anything else meanwhile.

use super::Talk;
use super::command::{Subscription, What};
use crate::desk::Desk;

/// The subscriptions of a connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    channels: i64,
    patterns: i64,
    shards: i64,
    /// Messages are pushes, which no answer is.
    pub(super) are_marked: bool,
    /// What the present message is.
    message: Message,
    /// The last number of the present message.
    pub(super) number: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Message {
    /// Something that confirms nothing.
    #[default]
    Other,
    /// A subscription began.
    Begun(Subscription),
    /// A subscription ended.
    Ended(Subscription),
}

impl Subscriptions {
    /// Whether there are any.
    pub(super) fn are_any(&self) -> bool {
        self.channels + self.patterns + self.shards > 0
    }

    /// Takes the first word of a message; `false` where no message has it.
    pub(super) fn name(&mut self, name: &[u8]) -> bool {
        let message = match name {
            b"subscribe" => Message::Begun(Subscription::Channel),
            b"psubscribe" => Message::Begun(Subscription::Pattern),
            b"ssubscribe" => Message::Begun(Subscription::Shard),
            b"unsubscribe" => Message::Ended(Subscription::Channel),
            b"punsubscribe" => Message::Ended(Subscription::Pattern),
            b"sunsubscribe" => Message::Ended(Subscription::Shard),
            b"message" | b"pmessage" | b"smessage" => Message::Other,
            _ => {
                self.message = Message::Other;
                return false;
            }
        };
        self.message = message;
        true
    }

    fn of(&self, kind: Subscription) -> i64 {
        match kind {
            Subscription::Channel => self.channels,
            Subscription::Pattern => self.patterns,
            Subscription::Shard => self.shards,
        }
    }

    /// Counts what the number of a confirmation tells: channels and patterns together, or shards.
    fn count(&mut self, kind: Subscription) {
        match kind {
            Subscription::Channel => self.channels = self.number.saturating_sub(self.patterns),
            Subscription::Pattern => self.patterns = self.number.saturating_sub(self.channels),
            Subscription::Shard => self.shards = self.number,
        }
    }
}

impl Talk {
    /// A message is whole. A confirmation belongs to the request in front that asked for it.
    pub(super) fn heard(&mut self, desk: &mut Desk) {
        let subscriptions = &mut self.answers.subscriptions;
        let message = std::mem::take(&mut subscriptions.message);
        let (Message::Begun(kind) | Message::Ended(kind)) = message else { return };
        let before = subscriptions.of(kind);
        subscriptions.count(kind);
        let Some(first) = self.queue.first_mut() else { return };
        let left = match (&mut first.what, message) {
            (What::Subscribe(left), Message::Begun(_)) => left,
            (What::Unsubscribe(of, left), Message::Ended(ended)) if *of == ended => {
                if *left == 0 {
                    *left = u32::try_from(before).unwrap_or_default().max(1);
                }
                left
            }
            _ => return,
        };
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.finish(desk);
        }
    }
}
