//! A peer that speaks Redis' protocol, with a test's answers.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use larder_testkit::Peer;

/// A server that answers each command by `answer` of its words. It answers the requests of an opening store like an
/// old Redis. An empty answer is silence. Commands that come at once count as one request.
pub(crate) fn answering(answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static) -> Peer {
    let answer = Arc::new(answer);
    Peer::listening(move |client, requests| {
        let answer = Arc::clone(&answer);
        thread::spawn(move || {
            let mut reader = BufReader::new(client.try_clone().unwrap());
            let mut client = client;
            loop {
                // Bytes that are already in the buffer came with the command before.
                let is_new = reader.buffer().is_empty();
                let Some(words) = read_command(&mut reader) else { return };
                requests.fetch_add(usize::from(is_new), Ordering::SeqCst);
                let bytes = match answer(&words) {
                    bytes if !bytes.is_empty() => bytes,
                    bytes => match words[0].as_str() {
                        "INFO" => bulk("redis_version:2.8.0\r\n"),
                        "CONFIG" => b"-ERR unknown command 'CONFIG'\r\n".to_vec(),
                        _ => bytes,
                    },
                };
                if client.write_all(&bytes).is_err() {
                    return;
                }
            }
        });
    })
}

/// A text in the form of a server's answer.
pub(crate) fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

/// The words of a command; `None` at the end of the connection.
fn read_command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let n_words = read_number(reader)?;
    (0..n_words)
        .map(|_| {
            let mut word = vec![0; read_number(reader)? + 2];
            reader.read_exact(&mut word).ok()?;
            Some(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned())
        })
        .collect()
}

/// The number of a line like `*3` or `$11`.
fn read_number(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().get(1..)?.parse().ok()
}
