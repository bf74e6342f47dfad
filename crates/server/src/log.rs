//! Messages to the operator, on standard error: plain lines, or JSON for programs that collect them.

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

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
    /// What is as it should be.
    Info,
    /// What an operator may want to mend.
    Warning,
    /// What failed.
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

impl LogFormat {
    /// Writes a message. A standard error that is gone loses it.
    pub fn say(self, level: Level, event: &str, message: &str, fields: Fields<'_>) {
        let line = match self {
            Self::Text => format!("larder: {}\n", one_line(message)),
            Self::Json => json(level, event, message, fields),
        };
        // One write, so that lines of threads and processes do not mix.
        let _ = io::stderr().write_all(line.as_bytes());
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
