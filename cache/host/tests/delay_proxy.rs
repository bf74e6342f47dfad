//! The relay: it delays by the given time, passes all bytes on whole, and leaves nothing.
//!
//! The relay is this binary again. So is the process that one of the tests kills.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how a second process answers the first")]

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::{Command, ExitCode, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use larder_host::delay_proxy::{self, DelayProxy};
use larder_host::destination::Destination;
use larder_host::scratch::ScratchDir;
use larder_testkit::{PATIENCE, is_running, trial, within};
use libtest_mimic::Arguments;

/// The task of a second process.
const ROLE: &str = "LARDER_TEST_ROLE";

/// The number of times that a time is taken. The machine may do other work, so the least time
/// counts.
const ATTEMPTS: usize = 5;

fn main() -> ExitCode {
    delay_proxy::serve_if_asked();
    if std::env::var_os(ROLE).is_some() {
        hold();
    }
    let trials = vec![
        trial("a_relay_tells_the_delay_that_it_adds", a_relay_tells_its_delay),
        trial("a_delay_is_that_of_a_round_trip", a_delay_is_that_of_a_round_trip),
        trial("a_new_connection_takes_one_round_trip_more", a_new_connection),
        trial("a_server_that_speaks_first_is_as_far_away", a_server_that_speaks_first),
        trial("ten_megabytes_arrive_whole_both_ways", ten_megabytes_arrive_whole),
        trial("answers_come_at_the_rate_and_requests_at_once", answers_come_at_the_rate),
        trial("many_requests_are_under_way_at_once", many_requests_at_once),
        trial("a_connection_is_not_slowed_by_others", not_slowed_by_others),
        trial("an_end_of_one_direction_leaves_the_other_open", a_half_closed_connection),
        trial("bytes_sent_before_a_reset_arrive", bytes_sent_before_a_reset),
        trial("a_server_that_is_gone_is_an_end", a_server_that_is_gone),
        trial("the_first_address_that_answers_is_taken", the_first_address_that_answers),
        trial("a_relay_leads_to_a_socket_of_this_machine", a_socket_of_this_machine),
        trial("one_process_leads_to_several_servers", several_servers),
        trial("connections_that_have_ended_leave_nothing", ended_connections_leave_nothing),
        trial("a_server_that_takes_nothing_and_resets_is_an_end", a_server_that_takes_nothing),
        trial("without_descriptors_clients_wait_for_them", clients_wait_for_descriptors),
        trial("a_relay_is_gone_after_drop", a_relay_is_gone_after_drop),
        trial("nothing_is_left_after_kill_9", nothing_is_left_after_kill_9),
    ];
    // The tests take times, so they run one after the other.
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn delay_proxy(delay: &str, servers: &[Destination]) -> DelayProxy {
    DelayProxy::start("test", format!("delay:{delay}").parse().unwrap(), servers).unwrap()
}

/// A server of any number of connections; `serve` handles each of them in a thread of its own.
fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, serve) = (stream.unwrap(), serve.clone());
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A server that sends all bytes back, and ends a connection when its client does.
fn echo() -> Destination {
    let address = server(|stream| {
        // An error shows at the client's end.
        let _ = std::io::copy(&mut &stream, &mut &stream);
        let _ = stream.shutdown(Shutdown::Write);
    });
    Destination::Tcp(vec![address])
}

/// A connection through a relay, with a timeout for every read.
fn connect(delay_proxy: &DelayProxy) -> TcpStream {
    let stream = TcpStream::connect(delay_proxy.addresses()[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

fn round_trip(mut stream: &TcpStream) -> Duration {
    let start = Instant::now();
    stream.write_all(b"ping").unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"ping");
    start.elapsed()
}

/// The least of several times: other work of the machine can only add to it.
fn least(time: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(time).take(ATTEMPTS).min().unwrap()
}

/// The nearest number of the relay's delays in a time: half a delay is left to the machine's other work.
fn delays(time: Duration, delay: Duration) -> u128 {
    (time + delay / 2).as_nanos() / delay.as_nanos()
}

const LONG: Duration = Duration::from_millis(200);

fn long_relay(server: Destination) -> DelayProxy {
    delay_proxy("200ms", &[server])
}

fn a_relay_tells_its_delay() {
    for (delay, asked) in [("500us", Duration::from_micros(500)), ("2ms", Duration::from_millis(2))]
    {
        let delay_proxy = delay_proxy(delay, &[echo()]);
        let told = delay_proxy.added();
        assert_eq!(told.asked, asked);
        assert!(told.n_round_trips >= 100 && told.median <= told.p99, "{told:?}");
        assert_eq!(told.percent_off().is_some(), told.to_string().contains(" than asked for"));
        round_trip(&connect(&delay_proxy));
    }
}

fn a_delay_is_that_of_a_round_trip() {
    let delay_proxy = long_relay(echo());
    let stream = connect(&delay_proxy);
    let time = least(|| round_trip(&stream));
    assert_eq!(delays(time, LONG), 1, "{time:?}");
    let told = delay_proxy.added().median;
    assert_eq!(delays(told, LONG), 1, "{told:?}");
}

fn a_new_connection() {
    let delay_proxy = long_relay(echo());
    let time = least(|| {
        let start = Instant::now();
        round_trip(&connect(&delay_proxy));
        start.elapsed()
    });
    assert_eq!(delays(time, LONG), 2, "{time:?}");
}

fn a_server_that_speaks_first() {
    let greeter = server(|mut stream| stream.write_all(b"hello").unwrap());
    let delay_proxy = long_relay(Destination::Tcp(vec![greeter]));
    let time = least(|| {
        let start = Instant::now();
        let mut greeting = String::new();
        connect(&delay_proxy).read_to_string(&mut greeting).unwrap();
        assert_eq!(greeting, "hello");
        start.elapsed()
    });
    assert_eq!(delays(time, LONG), 2, "{time:?}");
}

/// Bytes that differ along the way, so that a misplaced byte is noticed.
fn bytes(len: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(len).collect()
}

fn ten_megabytes_arrive_whole() {
    // More than the relay holds at once, and more than fits on the way to a client that does not read.
    for len in [10 << 20, 40 << 20] {
        let delay_proxy = delay_proxy("2ms", &[echo()]);
        let stream = connect(&delay_proxy);
        let sent = bytes(len);
        let received = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut received = Vec::new();
                (&stream).read_to_end(&mut received).unwrap();
                received
            });
            (&stream).write_all(&sent).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            reader.join().unwrap()
        });
        assert!(received == sent, "{} of {len} bytes", received.len());
    }
}

fn answers_come_at_the_rate() {
    const LEN: usize = 2 << 20;
    let there_and_back = |rate: &str, answered: usize| {
        let server = server(move |mut stream| {
            stream.read_exact(&mut vec![0; LEN]).unwrap();
            stream.write_all(&bytes(answered)).unwrap();
        });
        let delay_proxy =
            delay_proxy(&format!("2ms,rate:{rate}"), &[Destination::Tcp(vec![server])]);
        let mut stream = connect(&delay_proxy);
        let start = Instant::now();
        stream.write_all(&bytes(LEN)).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer == bytes(answered), "{} of {answered} bytes", answer.len());
        start.elapsed()
    };
    let of_answers = there_and_back("10m", LEN);
    assert!(of_answers >= Duration::from_millis(200), "{of_answers:?} for 2 MiB at 10 MiB/s");
    // At that rate the request alone would take 35 minutes.
    let of_requests = there_and_back("1k", 4);
    assert!(of_requests < Duration::from_mins(10), "{of_requests:?}");
}

fn many_requests_at_once() {
    const N: usize = 200;
    let delay_proxy = long_relay(echo());
    let mut stream = connect(&delay_proxy);
    round_trip(&stream);
    let start = Instant::now();
    for _ in 0..N {
        stream.write_all(b"ping").unwrap();
        // The pause makes each write a request of its own.
        sleep(Duration::from_micros(50));
    }
    stream.read_exact(&mut [0; 4 * N]).unwrap();
    let time = start.elapsed();
    // One after the other, the requests would take 40 s.
    assert!(time >= LONG / 2 && time < Duration::from_secs(20), "{time:?}");
}

fn not_slowed_by_others() {
    let delay_proxy = long_relay(echo());
    let (busy, quiet) = (connect(&delay_proxy), connect(&delay_proxy));
    // This connection is always full, because no client reads its answers.
    let writer = {
        let mut busy = busy.try_clone().unwrap();
        thread::spawn(move || {
            let chunk = bytes(1 << 20);
            while busy.write_all(&chunk).is_ok() {}
        })
    };
    let time = least(|| round_trip(&quiet));
    assert_eq!(delays(time, LONG), 1, "{time:?}");
    busy.shutdown(Shutdown::Both).unwrap();
    writer.join().unwrap();
}

fn a_half_closed_connection() {
    // This server answers only after its client has ended.
    let counter = server(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        sleep(Duration::from_millis(20));
        write!(stream, "{}", all.len()).unwrap();
    });
    let delay_proxy = delay_proxy("2ms", &[Destination::Tcp(vec![counter])]);
    let mut stream = connect(&delay_proxy);
    stream.write_all(&bytes(100_000)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "100000");
}

fn bytes_sent_before_a_reset() {
    let (heard, hears) = std::sync::mpsc::channel();
    let listener = server(move |mut stream| {
        let mut all = Vec::new();
        stream.write_all(b"unread").unwrap();
        // The client may end in any way.
        let _ = stream.read_to_end(&mut all);
        heard.send(all).unwrap();
    });
    let delay_proxy = delay_proxy("20ms", &[Destination::Tcp(vec![listener])]);
    let mut stream = connect(&delay_proxy);
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    stream.write_all(b"the last words").unwrap();
    // The socket has unread bytes, so its close is a reset.
    drop(stream);
    assert_eq!(hears.recv_timeout(Duration::from_mins(1)).unwrap(), b"the last words");
}

/// An address without a server.
fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn a_server_that_is_gone() {
    // A server that was never there, and a server that ends in the middle of an answer.
    let quitter = server(|mut stream| stream.write_all(b"half an ans").unwrap());
    for (server, answer) in [(nowhere(), ""), (quitter, "half an ans")] {
        let delay_proxy = delay_proxy("2ms", &[Destination::Tcp(vec![server])]);
        let mut said = Vec::new();
        // The connection may end or be reset, and neither takes as long as the timeout.
        let start = Instant::now();
        let _ = connect(&delay_proxy).read_to_end(&mut said);
        assert_eq!(String::from_utf8_lossy(&said), answer);
        assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    }
}

fn the_first_address_that_answers() {
    let Destination::Tcp(echo) = echo() else { unreachable!("an echo is on a port") };
    let delay_proxy = delay_proxy("2ms", &[Destination::Tcp(vec![nowhere(), nowhere(), echo[0]])]);
    round_trip(&connect(&delay_proxy));
}

fn a_socket_of_this_machine() {
    let directory = ScratchDir::create("test").unwrap();
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let _ = std::io::copy(&mut &stream, &mut &stream);
    });
    let delay_proxy = delay_proxy("2ms", &[Destination::Unix(path)]);
    round_trip(&connect(&delay_proxy));
}

fn several_servers() {
    let named = |name: &'static [u8]| {
        Destination::Tcp(vec![server(move |mut stream| stream.write_all(name).unwrap())])
    };
    let delay_proxy = delay_proxy("2ms", &[named(b"first"), named(b"second"), named(b"third")]);
    let names: Vec<String> = delay_proxy
        .addresses()
        .iter()
        .map(|address| {
            let mut name = String::new();
            TcpStream::connect(address).unwrap().read_to_string(&mut name).unwrap();
            name
        })
        .collect();
    assert_eq!(names, ["first", "second", "third"]);
}

/// The numbers of a process's open descriptors.
fn descriptors(pid: u32) -> Vec<u64> {
    let names = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    names.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// Waits until a process has as many open descriptors as before.
fn wait_for_descriptors(pid: u32, before: usize) {
    let now = || descriptors(pid).len();
    assert!(within(PATIENCE, || now() == before), "{} descriptors, and {before} before", now());
}

/// Waits until a relay has no connections, as a new relay has some by which it measures itself. Returns the number of
/// its open descriptors.
fn settled(delay_proxy: &DelayProxy) -> usize {
    assert!(within(PATIENCE, || n_connections(delay_proxy.pid()) == 0), "connections stay open");
    descriptors(delay_proxy.pid()).len()
}

/// How many TCP sockets a process has, except those that listen. A socket that the kernel has ended counts, too.
fn n_connections(pid: u32) -> usize {
    const LISTENS: &str = "0A";
    let tcp = fs::read_to_string("/proc/net/tcp").unwrap();
    let fields = tcp.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let listening = fields.filter(|fields| fields[3] == LISTENS).map(|fields| fields[9].to_owned());
    let unix = fs::read_to_string("/proc/net/unix").unwrap();
    let local = unix.lines().skip(1).filter_map(|line| line.split_whitespace().nth(6));
    let others = listening.chain(local.map(str::to_owned));
    let others: HashSet<String> = others.map(|inode| format!("socket:[{inode}]")).collect();
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    let targets = targets.map(|target| target.to_string_lossy().into_owned());
    targets.filter(|target| target.starts_with("socket:") && !others.contains(target)).count()
}

fn ended_connections_leave_nothing() {
    let delay_proxy = delay_proxy("500us", &[echo()]);
    let before = settled(&delay_proxy);
    for number in 0..1000 {
        let stream = connect(&delay_proxy);
        // The client ends some connections while an answer is on its way.
        if number % 3 == 0 {
            (&stream).write_all(b"ping").unwrap();
        } else {
            round_trip(&stream);
        }
    }
    wait_for_descriptors(delay_proxy.pid(), before);
}

fn a_server_that_takes_nothing() {
    let stubborn = server(|stream| {
        sleep(Duration::from_millis(100));
        // The socket has unread bytes, so its close is a reset.
        drop(stream);
    });
    let delay_proxy = delay_proxy("2ms", &[Destination::Tcp(vec![stubborn])]);
    let before = settled(&delay_proxy);
    let mut stream = connect(&delay_proxy);
    stream.set_write_timeout(Some(Duration::from_mins(1))).unwrap();
    let start = Instant::now();
    // More bytes than fit on the way.
    let sent = stream.write_all(&bytes(60 << 20));
    let ended = sent.and_then(|()| stream.read(&mut [0; 1]).map(|len| assert_eq!(len, 0)));
    assert!(start.elapsed() < Duration::from_mins(1), "{ended:?} after {:?}", start.elapsed());
    drop(stream);
    wait_for_descriptors(delay_proxy.pid(), before);
}

/// Limits a process to descriptors below this number.
fn limit_descriptors(pid: u32, limit: u64) {
    let pid = pid.try_into().unwrap();
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write this one structure, which outlives them.
    let results = unsafe {
        let read = libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limits);
        limits.rlim_cur = limit;
        let null = std::ptr::null_mut();
        [read, libc::prlimit(pid, libc::RLIMIT_NOFILE, &raw const limits, null)]
    };
    assert_eq!(results, [0, 0], "{}", std::io::Error::last_os_error());
}

fn clients_wait_for_descriptors() {
    let delay_proxy = delay_proxy("2ms", &[echo()]);
    let idle = settled(&delay_proxy);
    let waits = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        stream.write_all(b"ping").unwrap();
        let answer = stream.read(&mut [0; 4]);
        assert!(answer.is_err(), "{answer:?}");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    };
    let answered = |mut stream: &TcpStream| {
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"ping");
    };
    // No link is open, so no end of a link can end the wait.
    limit_descriptors(delay_proxy.pid(), 1);
    let stream = connect(&delay_proxy);
    waits(&stream);
    limit_descriptors(delay_proxy.pid(), 1000);
    answered(&stream);
    drop(stream);
    // A connection takes two descriptors. The relay has one of them in reserve, so the last connection needs only one.
    for more in [2, 3] {
        wait_for_descriptors(delay_proxy.pid(), idle);
        let limit = descriptors(delay_proxy.pid()).into_iter().max().unwrap() + 1 + more;
        limit_descriptors(delay_proxy.pid(), limit);
        let n_free = usize::try_from(limit).unwrap() - idle;
        let mut served: Vec<TcpStream> = (0..n_free.div_ceil(2))
            .map(|_| {
                let stream = connect(&delay_proxy);
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                (&stream).write_all(b"ping").unwrap();
                answered(&stream);
                stream
            })
            .collect();
        let last = connect(&delay_proxy);
        waits(&last);
        assert!(served.pop().is_some());
        answered(&last);
    }
}

fn a_relay_is_gone_after_drop() {
    let delay_proxy = delay_proxy("2ms", &[echo()]);
    let (pid, address) = (delay_proxy.pid(), delay_proxy.addresses()[0]);
    assert!(is_running(&pid.to_string()) && TcpStream::connect(address).is_ok());
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(name.trim(), "larder-relay");
    drop(delay_proxy);
    assert!(!is_running(&pid.to_string()) && TcpStream::connect(address).is_err());
}

/// The role of a second process that has a relay, prints its id, and waits to be killed.
fn hold() -> ! {
    let delay_proxy = delay_proxy("2ms", &[echo()]);
    println!("{}", delay_proxy.pid());
    loop {
        sleep(Duration::from_secs(1000));
    }
}

fn nothing_is_left_after_kill_9() {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .env(ROLE, "hold")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().parse().unwrap();
    assert!(is_running(&pid.to_string()));
    process.kill().unwrap();
    process.wait().unwrap();
    let is_gone = || !is_running(&pid.to_string());
    assert!(within(PATIENCE, is_gone), "the relay {pid} runs on");
}
