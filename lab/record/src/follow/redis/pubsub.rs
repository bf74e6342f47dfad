//! Subscriptions to channels, and the messages that come of them.
//!
//! With RESP3 messages are pushes. With RESP2 they are arrays like answers, and differ by their first word, on a connection
//! that asks for hardly anything else meanwhile.

use super::command::Subscription;

/// The subscriptions of a connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    channels: i64,
    patterns: i64,
    shards: i64,
    /// Messages are pushes, which no answer is.
    pub(super) are_marked: bool,
    /// The kind of the present message.
    pub(super) message: Message,
    /// The last number of the present message.
    pub(super) number: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Message {
    /// No confirmation.
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

    pub(super) fn of(&self, kind: Subscription) -> i64 {
        match kind {
            Subscription::Channel => self.channels,
            Subscription::Pattern => self.patterns,
            Subscription::Shard => self.shards,
        }
    }

    /// Takes the number of a confirmation: channels and patterns together, or shards.
    pub(super) fn count(&mut self, kind: Subscription) {
        match kind {
            Subscription::Channel => self.channels = self.number.saturating_sub(self.patterns),
            Subscription::Pattern => self.patterns = self.number.saturating_sub(self.channels),
            Subscription::Shard => self.shards = self.number,
        }
    }
}
