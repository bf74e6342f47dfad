//! The part of `WebDriver` (W3C, 2018) that the trials need, over one connection, with its access to the protocol of
//! Chromium's developer tools.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any answer takes on a busy machine.
const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// The arguments of Chromium. The sandbox protects nothing here, because the pages are our own, and it needs privileges
/// that not every machine grants. The other arguments keep Chromium from requesting anything.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
];

/// A controlled browser.
#[derive(Debug)]
pub(crate) struct Session {
    connection: BufReader<TcpStream>,
    path: String,
    first_window: Value,
}

impl Session {
    /// Lets the driver on this port start a browser.
    pub(crate) fn begin(port: u16) -> Self {
        let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a driver");
        connection.set_read_timeout(Some(ANSWERS_WITHIN)).expect("a time limit");
        connection.set_nodelay(true).expect("an option of every socket");
        let connection = BufReader::new(connection);
        let mut session = Self { connection, path: String::new(), first_window: Value::Null };
        let wanted = json!({
            "goog:chromeOptions": { "args": FLAGS },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let begun = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = session.ask("POST", "/session", &begun).expect("a session");
        let id = begun["sessionId"].as_str().expect("a session has a name");
        session.path = format!("/session/{id}");
        session.first_window = session.get("window");
        session
    }

    /// Opens a window and switches to it.
    pub(crate) fn open_window(&mut self) {
        let window = self.post("window/new", &json!({ "type": "window" }));
        self.post("window", &json!({ "handle": window["handle"] }));
    }

    /// Closes the window and switches back to the first.
    pub(crate) fn close_window(&mut self) {
        let path = format!("{}/window", self.path);
        // A window that is already gone needs no closing.
        let _ = self.ask("DELETE", &path, &Value::Null);
        let first = json!({ "handle": self.first_window });
        self.post("window", &first);
    }

    /// The answer to the command.
    pub(crate) fn post(&mut self, command: &str, parameters: &Value) -> Value {
        let path = format!("{}/{command}", self.path);
        let answer = self.ask("POST", &path, parameters);
        answer.unwrap_or_else(|error| panic!("{command} {parameters}: {error}"))
    }

    fn get(&mut self, command: &str) -> Value {
        let path = format!("{}/{command}", self.path);
        self.ask("GET", &path, &Value::Null).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// The answer of a method of the developer tools.
    pub(crate) fn developer_tools(&mut self, method: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({ "cmd": method, "params": parameters }))
    }

    /// The lines of a log, `browser` or `performance`, since the last call.
    pub(crate) fn log(&mut self, name: &str) -> Vec<String> {
        let lines = self.post("se/log", &json!({ "type": name }));
        let lines = lines.as_array().cloned().unwrap_or_default();
        lines.iter().filter_map(|line| Some(line["message"].as_str()?.to_owned())).collect()
    }

    /// One request and its answer: the value, or the message of the error.
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.connection.get_mut().write_all(request.as_bytes()).expect("the driver listens");
        let mut line = String::new();
        let mut read_line = |connection: &mut BufReader<TcpStream>| {
            line.clear();
            connection.read_line(&mut line).expect("the driver answers");
            line.trim_end().to_ascii_lowercase()
        };
        let succeeded = read_line(&mut self.connection).contains(" 200 ");
        let mut length = 0;
        loop {
            let head = read_line(&mut self.connection);
            if head.is_empty() {
                break;
            }
            if let Some(value) = head.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        self.connection.read_exact(&mut answer).expect("the whole answer");
        let mut answer: Value = serde_json::from_slice(&answer).expect("an answer in JSON");
        let value = answer["value"].take();
        if succeeded { Ok(value) } else { Err(value["message"].to_string()) }
    }
}
