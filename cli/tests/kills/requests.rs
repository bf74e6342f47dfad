//! The requests of a writer: each with its right answer and, where it changes a key, the key's new state.

use crate::ledger::{List, State};
use crate::values::{KEYS, Kind, LIST, fill, kind, name};
use crate::writer::{Answer, Asked, Load};

/// A lifetime that no test reaches, in seconds.
const DAY: u32 = 86_400;

impl Load<'_> {
    /// Adds a request. A request that is not alone reads no long value: the answers must not fill the socket while the
    /// requests still do.
    pub(crate) fn ask(&mut self, is_alone: bool) {
        let index = self.any_key();
        let (key, is_settled) = (self.key(index).of, self.key(index).is_settled());
        match (kind(key), self.any(16)) {
            (Kind::Long, _) if !is_alone => self.ask_to_set(index),
            (_, 0) => self.expect(index, &format!("get {}\r\n", name(key)), Answer::Entry),
            (_, 1) => self.expect(index, &format!("mg {} v c\r\n", name(key)), Answer::MetaEntry),
            (_, 2) => {
                let line = format!("touch {} {DAY}\r\n", name(key));
                self.expect(index, &line, Answer::IfThere("TOUCHED", "NOT_FOUND"));
            }
            (_, 3) => self.ask_for_another(index),
            (_, 4) => self.ask_to_delete(index),
            (Kind::List, _) if is_settled => self.ask_to_append(index),
            (Kind::Counter, _) if is_settled => self.ask_to_add(index),
            (Kind::List | Kind::Counter, _) => self.ask_for_another(index),
            (_, 5..8) if is_settled => self.ask_on_condition(index),
            _ => self.ask_to_set(index),
        }
    }

    fn expect(&mut self, index: usize, request: &str, answer: Answer) {
        self.out.extend_from_slice(request.as_bytes());
        self.asked.push_back(Asked { index, answer, is_change: false });
    }

    /// Adds a request that brings the key into a new state; `value` is empty where the request has none.
    fn change(&mut self, index: usize, request: &str, value: &[u8], state: State, answer: Answer) {
        self.out.extend_from_slice(request.as_bytes());
        if !value.is_empty() {
            self.out.extend_from_slice(value);
            self.out.extend_from_slice(b"\r\n");
        }
        self.key(index).send(state);
        self.asked.push_back(Asked { index, answer, is_change: true });
    }

    fn ask_for_another(&mut self, index: usize) {
        let key = self.any(KEYS);
        if kind(key) != Kind::Long {
            self.expect(index, &format!("get {}\r\n", name(key)), Answer::OfAnother(key));
        }
    }

    fn ask_to_set(&mut self, index: usize) {
        let (name, number) = (name(self.key(index).of), self.key(index).next_number());
        let (value, state) = (fill(self.key(index).of, number), State::Value(number));
        let (len, ttl_s) = (value.len(), [0, DAY][self.any(2)]);
        if self.any(4) == 0 {
            let request = format!("ms {name} {len} c T{ttl_s}\r\n");
            self.change(index, &request, &value, state, Answer::Stored);
        } else {
            let request = format!("set {name} {number} {ttl_s} {len}\r\n", number = number % 9);
            self.change(index, &request, &value, state, Answer::Line("STORED".into()));
        }
    }

    /// A request that depends on the present state: `add`, `replace`, or a set with the version that was told.
    fn ask_on_condition(&mut self, index: usize) {
        let number = self.key(index).next_number();
        let (key, version) = (self.key(index).of, self.key(index).version);
        let (name, value, state) = (name(key), fill(key, number), State::Value(number));
        let is_there = self.key(index).acknowledged() != State::Absent;
        let len = value.len();
        if let Some(version) = version {
            let request = format!("ms {name} {len} c C{version}\r\n");
            return self.change(index, &request, &value, state, Answer::Stored);
        }
        let verb = ["add", "replace"][self.any(2)];
        let request = format!("{verb} {name} 0 0 {len}\r\n");
        if is_there == (verb == "replace") {
            self.change(index, &request, &value, state, Answer::Line("STORED".into()));
        } else {
            self.expect(index, &request, Answer::Line("NOT_STORED".into()));
            self.out.extend_from_slice(&value);
            self.out.extend_from_slice(b"\r\n");
        }
    }

    fn ask_to_delete(&mut self, index: usize) {
        let name = name(self.key(index).of);
        let (request, answer) = if self.any(2) == 0 {
            (format!("delete {name}\r\n"), Answer::IfThere("DELETED", "NOT_FOUND"))
        } else {
            (format!("md {name}\r\n"), Answer::IfThere("HD", "NF"))
        };
        self.change(index, &request, &[], State::Absent, answer);
    }

    fn ask_to_append(&mut self, index: usize) {
        let (key, number) = (self.key(index).of, self.key(index).next_number());
        let (list, verb) = match self.key(index).acknowledged() {
            State::List(list) if list.n_entries < LIST => (list, "append"),
            _ => (List::default(), "set"),
        };
        let state = State::List(list.with(number));
        let (name, value) = (name(key), fill(key, number));
        let len = value.len();
        if verb == "append" && self.any(2) == 0 {
            let request = format!("ms {name} {len} MA c\r\n");
            self.change(index, &request, &value, state, Answer::Stored);
        } else {
            let request = format!("{verb} {name} 0 0 {len}\r\n");
            self.change(index, &request, &value, state, Answer::Line("STORED".into()));
        }
    }

    fn ask_to_add(&mut self, index: usize) {
        let name = name(self.key(index).of);
        let more = 1 + self.any(9) as u64;
        let is_meta = self.any(2) == 0;
        if let State::Number(number) = self.key(index).acknowledged() {
            let sum = number + more;
            let (request, answer) = if is_meta {
                (format!("ma {name} D{more} v\r\n"), Answer::MetaNumber(sum))
            } else {
                (format!("incr {name} {more}\r\n"), Answer::Line(sum.to_string()))
            };
            return self.change(index, &request, &[], State::Number(sum), answer);
        }
        let first = self.key(index).next_number();
        let (state, text) = (State::Number(first), first.to_string());
        if is_meta {
            let request = format!("ma {name} N0 J{first} v\r\n");
            self.change(index, &request, &[], state, Answer::MetaNumber(first));
        } else {
            let request = format!("set {name} 0 0 {}\r\n", text.len());
            let answer = Answer::Line("STORED".into());
            self.change(index, &request, text.as_bytes(), state, answer);
        }
    }
}
