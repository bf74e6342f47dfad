//! Messages to the operator, on standard error: plain lines, or JSON for programs that collect them.

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_store::{agreeing, count};

/// The form of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// A sentence in each line.
    #[default]
    Text,
    /// A JSON object in each line: `time` in seconds since 1970, `level`, `event`, `message`, and what the event has.
    Json,
}

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Normal operation.
    Info,
    /// Something that an operator may want to fix.
    Warning,
    /// A failure.
    Error,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Further facts of a message, which its sentence has too: names and values.
pub type Fields<'a> = &'a [(&'a str, &'a dyn Display)];

/// The most messages that wait to be written. Where the reader is too slow, further messages are lost and counted, so that
/// no thread waits for it.
const MAX_QUEUED: usize = 1024;

/// A message to the thread that writes.
enum WriterMessage {
    Write(String),
    /// To answer once all earlier lines are written.
    Flush(SyncSender<()>),
}

/// The queue of the thread that writes, and the number of messages that did not fit.
static WRITER: OnceLock<SyncSender<WriterMessage>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);

fn writer() -> &'static SyncSender<WriterMessage> {
    WRITER.get_or_init(|| {
        let (sender, messages) = sync_channel(MAX_QUEUED);
        let thread = thread::Builder::new().name("log".into());
        // Without a thread all messages are lost, as with a standard error that is gone.
        let _ = thread.spawn(move || write_all(&messages));
        sender
    })
}

fn write_all(messages: &Receiver<WriterMessage>) {
    while let Ok(message) = messages.recv() {
        match message {
            // One write, so that lines of threads and processes do not mix.
            WriterMessage::Write(line) => {
                let lost = LOST.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let report = format!(
                        "larder: {} {} lost: nobody read {}\n",
                        count(lost, "message"),
                        agreeing(lost, "was", "were"),
                        agreeing(lost, "it", "them")
                    );
                    let _ = io::stderr().write_all(report.as_bytes());
                }
                let _ = io::stderr().write_all(line.as_bytes());
            }
            WriterMessage::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// Waits a moment until the messages are written, before the process ends.
pub fn flush_log() {
    let (sender, done) = sync_channel(1);
    if WRITER.get().is_some_and(|writer| writer.try_send(WriterMessage::Flush(sender)).is_ok()) {
        let _ = done.recv_timeout(Duration::from_secs(1));
    }
}

impl LogFormat {
    /// Writes a message, by a thread of its own. A standard error that is gone, or that nobody reads, loses it.
    pub fn say(self, level: Level, event: &str, message: &str, fields: Fields<'_>) {
        let line = match self {
            Self::Text => format!("larder: {}\n", one_line(message)),
            Self::Json => json(level, event, message, fields),
        };
        if writer().try_send(WriterMessage::Write(line)).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn one_line(message: &str) -> String {
    message.replace(['\n', '\r'], " ")
}

fn json(level: Level, event: &str, message: &str, fields: Fields<'_>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut line = format!("{{\"time\":{}.{:06}", now.as_secs(), now.subsec_micros());
    let level = level.as_str();
    for (name, value) in [("level", level), ("event", event), ("message", message)] {
        push_field(&mut line, name, value);
    }
    for (name, value) in fields {
        push_field(&mut line, name, &value.to_string());
    }
    line.push_str("}\n");
    line
}

fn push_field(line: &mut String, name: &str, value: &str) {
    let _ = write!(line, ",\"{name}\":\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' => {
                line.push('\\');
                line.push(letter);
            }
            letter if letter.is_control() => {
                let _ = write!(line, "\\u{:04x}", u32::from(letter));
            }
            letter => line.push(letter),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_is_in_it() {
        let line = json(Level::Error, "store", "a \"b\"\n\\ \u{7}", &[("key", &"k\r")]);
        let (time, rest) = line.split_once(',').unwrap();
        assert!(time.starts_with("{\"time\":") && time.contains('.'), "{line}");
        let end = r#""level":"error","event":"store","message":"a \"b\"\u000a\\ \u0007","key":"k\u000d"}"#;
        assert_eq!(rest.trim_end(), end);
        assert_eq!(line.matches('\n').count(), 1);
    }
}
