//! The answers on a connection that has subscribed.

use larder_protocol::resp::{ParsedValue, Value, parse_value};
use larder_protocol::{Malformed, Parsed};
use larder_store::{Change, Event, Message};

use super::topic::Topic;

/// The request that is named in messages about an answer.
const COMMAND: &str = "SUBSCRIBE";

/// What has arrived on a subscription.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// The subscription is confirmed.
    Subscribed,
    /// The answer to a `PING`.
    Pong,
    /// Something for the subscriber.
    Event(Event),
}

/// Reads what is at the beginning of `input`.
pub(super) fn parse(input: &[u8], topic: &Topic) -> Result<Parsed<Arrived>, Malformed> {
    match parse_value(input, COMMAND)? {
        ParsedValue::Incomplete(_) => Ok(Parsed::Incomplete),
        ParsedValue::Complete(value, len) => {
            let arrived = arrived(value, topic).ok_or(Malformed { command: COMMAND })?;
            Ok(Parsed::Complete(arrived, len))
        }
    }
}

/// What an answer is; `None` where it is none to a subscription to this topic.
fn arrived(answer: Value, topic: &Topic) -> Option<Arrived> {
    let Value::Array(parts) = answer else { return None };
    let is_topic = |name: &[u8]| name == topic.name().as_bytes();
    match &parts[..] {
        [Value::Bulk(kind), Value::Bulk(_)] if kind == b"pong" => Some(Arrived::Pong),
        [Value::Bulk(kind), Value::Bulk(name), _] if kind == b"subscribe" && is_topic(name) => {
            Some(Arrived::Subscribed)
        }
        [Value::Bulk(kind), Value::Bulk(name), body] if kind == b"message" && is_topic(name) => {
            event(body, topic).map(Arrived::Event)
        }
        _ => None,
    }
}

fn event(body: &Value, topic: &Topic) -> Option<Event> {
    match (topic, body) {
        (Topic::Named(_), Value::Bulk(bytes)) => {
            // Bytes that cannot be read may be of a later version: its sender has changed something.
            let message = Message::decode(bytes);
            Some(message.map_or(Event::Changed(Change::Everything), Event::Message))
        }
        // The database was emptied.
        (Topic::Report, Value::Nil) => Some(Event::Changed(Change::Everything)),
        (Topic::Report, Value::Array(keys)) => {
            let key = |key: &Value| match key {
                Value::Bulk(key) => Some(key.clone()),
                _ => None,
            };
            let keys: Option<Vec<_>> = keys.iter().map(key).collect();
            Some(Event::Changed(Change::Keys(keys?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use larder_store::{Id, Origin};
    use proptest::prelude::*;

    use super::*;

    fn named() -> Topic {
        Topic::Named("larder:x".into())
    }

    /// Answers of a real server.
    fn answers() -> Vec<(Topic, Vec<u8>, Arrived)> {
        let origin = Origin { group: Id([1; 16]), publisher: Id([2; 16]), number: 3 };
        let message = Message { origin, change: Change::Keys(vec![b"k\r\n".to_vec()]) };
        let body = message.encode();
        let published = format!("*3\r\n$7\r\nmessage\r\n$8\r\nlarder:x\r\n${}\r\n", body.len());
        let published = [published.as_bytes(), &body, b"\r\n"].concat();
        let report = b"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n";
        let keys = Change::Keys(vec![b"j".to_vec(), b"k".to_vec()]);
        vec![
            (named(), published, Arrived::Event(Event::Message(message))),
            (
                named(),
                b"*3\r\n$7\r\nmessage\r\n$8\r\nlarder:x\r\n$2\r\nhi\r\n".to_vec(),
                Arrived::Event(Event::Changed(Change::Everything)),
            ),
            (
                named(),
                b"*3\r\n$9\r\nsubscribe\r\n$8\r\nlarder:x\r\n:1\r\n".to_vec(),
                Arrived::Subscribed,
            ),
            (named(), b"*2\r\n$4\r\npong\r\n$0\r\n\r\n".to_vec(), Arrived::Pong),
            (
                Topic::Report,
                [report, &b"*2\r\n$1\r\nj\r\n$1\r\nk\r\n"[..]].concat(),
                Arrived::Event(Event::Changed(keys)),
            ),
            (
                Topic::Report,
                [report, &b"$-1\r\n"[..]].concat(),
                Arrived::Event(Event::Changed(Change::Everything)),
            ),
        ]
    }

    #[test]
    fn each_answer_is_read_and_nothing_behind_it() {
        for (topic, bytes, arrived) in answers() {
            let longer = [&bytes[..], b"*3"].concat();
            assert_eq!(parse(&longer, &topic), Ok(Parsed::Complete(arrived, bytes.len())));
        }
    }

    #[test]
    fn every_cut_of_an_answer_is_incomplete() {
        for (topic, bytes, _) in answers() {
            for end in 0..bytes.len() {
                assert_eq!(parse(&bytes[..end], &topic), Ok(Parsed::Incomplete));
            }
        }
    }

    #[test]
    fn an_answer_on_another_channel_and_an_error_are_refused() {
        for input in [
            &b"*3\r\n$7\r\nmessage\r\n$8\r\nlarder:y\r\n$2\r\nhi\r\n"[..],
            b"-NOPERM no\r\n",
            b"+OK\r\n",
            b"*0\r\n$4\r\npong\r\n",
            b"*2\r\n$4\r\npong\r\n$0\r\nxx",
        ] {
            assert!(parse(input, &named()).is_err(), "{}", String::from_utf8_lossy(input));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(
            bytes: Vec<u8>, which in 0..6_usize, at: usize, flip: u8, cut: usize,
        ) {
            let _ = parse(&bytes, &named());
            let (topic, mut bytes, _) = answers().swap_remove(which);
            let at = at % bytes.len();
            bytes[at] ^= flip;
            bytes.truncate(cut % (bytes.len() + 1));
            if let Ok(Parsed::Complete(_, len)) = parse(&bytes, &topic) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
