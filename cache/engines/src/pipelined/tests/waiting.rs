//! Calls that wait.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use larder_store::{Answer, Answered, Result};

use super::super::{Batch, Links, in_time};
use super::{Letters, SentRequest, TIMEOUT, scene, show};

/// Links of a caller that waits, and the server's end of the only one, once it is open.
struct Call {
    links: Links<Letters>,
    listener: std::net::TcpListener,
}

fn call() -> Call {
    call_within(TIMEOUT)
}

fn call_within(timeout: Duration) -> Call {
    let mut scene = scene(1);
    let address = scene.listeners[0].local_addr().unwrap();
    let peer = Letters::at(larder_host::destination::Destination::Tcp(vec![address]));
    Call { links: Links::for_calls([peer], timeout), listener: scene.listeners.remove(0) }
}

impl Call {
    fn get(&mut self) -> Result<()> {
        self.links.begin_call();
        self.links.ask(0, 0, SentRequest::Get, |link| link.output().extend_from_slice(b"get\n"))
    }

    fn accept(&self) -> TcpStream {
        let server = self.listener.accept().unwrap().0;
        server.set_nodelay(true).unwrap();
        server
    }

    /// What a read puts behind an `a`, and its answer.
    fn value(&mut self) -> (Vec<u8>, String) {
        let mut out = b"a".to_vec();
        let answer = self.links.wait_for_value(0, &mut out);
        (out, show(0, &answer))
    }
}

#[test]
fn a_value_goes_where_the_caller_wants_it_in_whatever_pieces_it_comes() {
    for len in [0, 1, 1000, 16_380, 16_384, 70_000, 3_000_000] {
        let value: Vec<u8> = (0..len).map(|n: u32| (n % 251) as u8).collect();
        for kind in ['%', '$'] {
            let end = if kind == '%' { ";" } else { "" };
            let answer = [format!("{kind}{len}\n").as_bytes(), &value, end.as_bytes()].concat();
            for first in [1, 3, 10, 5000, 20_000, answer.len() - 1, answer.len()] {
                let mut call = call();
                call.get().unwrap();
                let mut server = call.accept();
                let answer = answer.clone();
                let sender = thread::spawn(move || {
                    let (first, rest) = answer.split_at(first.min(answer.len()));
                    server.write_all(first).unwrap();
                    server.write_all(rest).unwrap();
                    server
                });
                let (out, told) = call.value();
                assert_eq!((&out[..1], &*told), (&b"a"[..], "0 "), "{len} {kind} {first}");
                assert!(out[1..] == value, "{len} {kind} {first}");
                assert_eq!(call.links.n_outstanding(), 0);
                // The next answer is that of the next request.
                call.get().unwrap();
                sender.join().unwrap().write_all(b"-\n").unwrap();
                assert_eq!(call.value(), (b"a".to_vec(), "0 refused".into()));
            }
        }
    }
}

#[test]
fn a_value_that_does_not_come_to_its_end_leaves_nothing_behind() {
    let long = format!("%50000\n{}", "x".repeat(40_000));
    let no_end = format!("%50000\n{}!", "x".repeat(50_000));
    for (answer, wanted) in [
        (&*long, "lost: UnexpectedEof"),
        ("%5\nabc", "lost: UnexpectedEof"),
        ("", "lost: UnexpectedEof"),
        (&no_end, "no end: !"),
        ("%1\nab", "no end: b"),
        ("!\n", "broken"),
    ] {
        let mut call = call();
        call.get().unwrap();
        let mut server = call.accept();
        server.write_all(answer.as_bytes()).unwrap();
        let mut request = [0; 4];
        call.links.flush();
        server.read_exact(&mut request).unwrap();
        drop(server);
        assert_eq!(call.value(), (b"a".to_vec(), format!("0 {wanted}")), "{answer:.9}");
        call.get().unwrap();
        call.accept().write_all(b"%1\nb;").unwrap();
        assert_eq!(call.value(), (b"ab".to_vec(), "0 ".into()));
    }
}

#[test]
fn bytes_that_no_request_asked_for_are_the_error_of_the_next() {
    let mut call = call();
    call.get().unwrap();
    call.accept().write_all(b"%1\nb;%1\nc;").unwrap();
    assert_eq!(call.value(), (b"ab".to_vec(), "0 ".into()));
    let error = call.get().unwrap_err().to_string();
    assert!(error.contains("unasked: %1\\nc;"), "{error}");
    call.get().unwrap();
    call.accept().write_all(b"%1\nd;").unwrap();
    assert_eq!(call.value(), (b"ad".to_vec(), "0 ".into()));
}

#[test]
fn a_call_whose_caller_panicked_is_forgotten() {
    let mut call = call();
    call.links.opened(0).unwrap();
    call.accept().write_all(b"%1\nb;").unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // Unlike `panic!`, this prints nothing that looks like a failure.
        let amid = &mut Amid(&mut |_, _| resume_unwind(Box::new("a test panics on purpose")));
        call.links.call_each([0].into_iter(), amid);
    }));
    assert!(panicked.is_err());
    call.get().unwrap();
    call.accept().write_all(b"%1\nc;").unwrap();
    assert_eq!(call.value(), (b"ac".to_vec(), "0 ".into()));
}

#[test]
fn a_call_may_be_made_amid_the_answers_to_another() {
    let (mut outer, mut inner) = (call(), call());
    outer.links.opened(0).unwrap();
    outer.accept().write_all(b"%1\nb;").unwrap();
    let mut told = Vec::new();
    let failed = outer.links.call_each(
        [0].into_iter(),
        &mut Amid(&mut |id, answer| {
            inner.get().unwrap();
            inner.accept().write_all(b"%1\nc;").unwrap();
            told.push(inner.value());
            told.push((Vec::new(), show(id, &answer)));
        }),
    );
    assert!(failed.is_empty());
    assert_eq!(told, [(b"ac".to_vec(), "0 ".into()), (Vec::new(), "0 b".into())]);
}

#[test]
fn of_a_large_value_nothing_is_kept_in_memory() {
    let mut call = call();
    let value = vec![b'v'; 5_000_000];
    let n_bytes = value.len() + 1;
    call.links.opened(0).unwrap();
    let mut server = call.accept();
    let reader = thread::spawn(move || {
        let mut room = vec![0; 1 << 16];
        let mut n_left = n_bytes;
        while n_left > 0 {
            n_left -= server.read(&mut room).unwrap();
        }
        server.write_all(b"=\n").unwrap();
        server
    });
    call.links
        .ask(0, 0, SentRequest::Get, |link| link.add_value(&value, |out| out.push(b'\n')))
        .unwrap();
    assert_eq!(call.links.unsent_bytes(), 0);
    assert!(matches!(call.links.wait_for_answer(0), Answer::Stored(_)));
    drop(reader.join().unwrap());
}

/// A batch of reads on the only link, whose answers a closure gets.
struct Amid<'a>(&'a mut Answered<'a>);

impl Batch<Letters> for Amid<'_> {
    fn link_of(&self, _: usize) -> usize {
        0
    }

    fn value_len(&self, _: usize) -> usize {
        0
    }

    fn ask(&mut self, links: &mut Links<Letters>, i: usize, _: bool) -> Result<()> {
        links.ask(0, i, SentRequest::Get, |link| link.output().extend_from_slice(b"get\n"))
    }

    fn answered(&mut self, i: usize, answer: Answer<'_>) -> Result<()> {
        (self.0)(i, answer);
        Ok(())
    }

    fn replied(&mut self, _: usize, _: String, _: &Letters) {}
}

/// A batch on two links: values of these lengths, and what came of them.
struct Values {
    lens: Vec<usize>,
    value: Vec<u8>,
    told: Vec<String>,
    most_unsent: usize,
}

impl Batch<Letters> for Values {
    fn link_of(&self, i: usize) -> usize {
        i % 2
    }

    fn value_len(&self, i: usize) -> usize {
        self.lens[i]
    }

    fn ask(&mut self, links: &mut Links<Letters>, i: usize, is_first: bool) -> Result<()> {
        assert_eq!(is_first, i < 2);
        let value = &self.value[..self.lens[i]];
        links.ask(i % 2, i, SentRequest::Get, |link| {
            link.add_value(value, |out| out.push(b'\n'));
        })?;
        self.most_unsent = self.most_unsent.max(links.unsent_bytes());
        Ok(())
    }

    fn answered(&mut self, i: usize, answer: Answer<'_>) -> Result<()> {
        match answer {
            Answer::Failed(error) if !error.to_string().contains("refused") => Err(error),
            Answer::End => Ok(()),
            answer => {
                self.told.push(show(i, &answer));
                Ok(())
            }
        }
    }

    fn replied(&mut self, _: usize, reply: String, _: &Letters) {
        self.told.push(reply);
    }
}

/// A server that reads lines, and answers each by its number before it reads the next.
fn serve(mut server: TcpStream, answer: impl Fn(usize) -> String + Send + 'static) {
    thread::spawn(move || {
        let mut lines = std::io::BufReader::new(server.try_clone().unwrap()).split(b'\n');
        let mut n_lines = 0;
        while let Some(Ok(_)) = lines.next() {
            if server.write_all(answer(n_lines).as_bytes()).is_err() {
                return;
            }
            n_lines += 1;
        }
    });
}

#[test]
fn a_batch_goes_on_where_a_node_fails_and_waits_for_no_reader() {
    let scene = scene(2);
    let address = |link: usize| {
        let address = scene.listeners[link].local_addr().unwrap();
        Letters::at(larder_host::destination::Destination::Tcp(vec![address]))
    };
    let mut links = Links::for_calls([address(0), address(1)], Duration::from_mins(1));
    links.opened(0).unwrap();
    links.opened(1).unwrap();
    // Answers that are longer than the requests fill all buffers between the two.
    let long = format!("$100000\n{}", "x".repeat(100_000));
    serve(scene.accept(0), move |n| match n % 3 {
        0 => long.clone(),
        1 => "-\n".into(),
        _ => "?own\n".into(),
    });
    serve(scene.accept(1), |n| if n < 50 { "$1\na" } else { "!\n" }.into());
    let lens = (0..600).map(|i| if i % 100 == 4 { 2_000_000 } else { 3000 }).collect();
    let mut values =
        Values { lens, value: vec![b'v'; 2_000_000], told: Vec::new(), most_unsent: 0 };
    let failed = links.call_each(0..600, &mut values);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].0 == 1 && failed[0].1.to_string().contains("broken"), "{failed:?}");
    let count = |text: &str| values.told.iter().filter(|told| told.ends_with(text)).count();
    assert_eq!(["100000 bytes", "refused", "own", " a"].map(count), [100, 100, 100, 50]);
    assert!(values.most_unsent < 300_000, "{} bytes wait in memory", values.most_unsent);
    assert_eq!(links.n_outstanding(), 0);
}

#[test]
fn a_read_has_its_whole_time_whatever_way_its_value_takes() {
    let longest = Duration::from_secs(6);
    for in_batch in [false, true] {
        let mut call = call_within(Duration::from_mins(5));
        call.links.set_longest_read(Some(longest));
        call.links.opened(0).unwrap();
        let mut server = call.accept();
        let sender = thread::spawn(move || {
            // The head by itself, so that the rest goes to memory of the link.
            server.write_all(b"%100000").unwrap();
            thread::sleep(Duration::from_millis(50));
            server.write_all(b"\nabc").unwrap();
            // Longer than the kernel waits by itself.
            thread::sleep(longest / 2 + Duration::from_millis(200));
            server.write_all(&vec![b'x'; 99_997]).unwrap();
            server.write_all(b";").unwrap();
            server
        });
        let told = in_time(
            &mut call,
            |call| &mut call.links,
            |call| {
                let mut told = String::new();
                if in_batch {
                    let amid = &mut Amid(&mut |id, answer| told = show(id, &answer));
                    call.links.call_each([0].into_iter(), amid);
                } else {
                    call.get().unwrap();
                    told = format!("0 {} bytes", call.value().0.len() - 1);
                }
                told
            },
        );
        assert_eq!(told, "0 100000 bytes", "in a batch: {in_batch}");
        drop(sender.join().unwrap());
    }
}

#[test]
fn a_read_ends_with_its_time_although_bytes_come_again_and_again() {
    let mut call = call_within(Duration::from_mins(5));
    call.links.set_longest_read(Some(Duration::from_millis(200)));
    call.links.opened(0).unwrap();
    let mut server = call.accept();
    thread::spawn(move || {
        server.write_all(b"%1000000\n").unwrap();
        while server.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let (_, told) = in_time(
        &mut call,
        |call| &mut call.links,
        |call| {
            call.get().unwrap();
            call.value()
        },
    );
    assert_eq!(told, "0 lost: TimedOut");
}

#[test]
fn the_time_of_a_read_ends_where_its_caller_panics() {
    let mut call = call_within(Duration::from_mins(5));
    call.links.set_longest_read(Some(Duration::from_millis(20)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        in_time(
            &mut call,
            |call| &mut call.links,
            |_| resume_unwind(Box::new("a test panics on purpose")),
        )
    }));
    assert!(panicked.is_err());
    thread::sleep(Duration::from_millis(50));
    call.get().unwrap();
    call.accept().write_all(b"%1\nb;").unwrap();
    assert_eq!(call.value(), (b"ab".to_vec(), "0 ".into()));
}
