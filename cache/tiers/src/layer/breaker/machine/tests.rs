//! The states without time passing, and against a model that reads the whole history.

use proptest::prelude::*;

use super::*;

const PROBE: Duration = Duration::from_secs(1);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A machine that has just opened at `now`.
fn open(now: Instant) -> Machine {
    let mut machine = Machine::new(3, PROBE);
    for _ in 0..3 {
        let permit = machine.ask(now).unwrap();
        machine.report(permit, Verdict::Fault, now);
    }
    assert_eq!(machine.name(), "open");
    machine
}

#[test]
fn it_opens_after_failures_in_a_row_only() {
    let now = Instant::now();
    let mut machine = Machine::new(3, PROBE);
    let end = |machine: &mut Machine, verdict| {
        let permit = machine.ask(now).unwrap();
        machine.report(permit, verdict, now);
        machine.name()
    };
    for verdict in [Verdict::Fault, Verdict::Fault, Verdict::Answer, Verdict::Fault] {
        assert_eq!(end(&mut machine, verdict), "closed");
    }
    // A call without a verdict neither counts nor forgives.
    assert_eq!(end(&mut machine, Verdict::Nothing), "closed");
    assert_eq!(end(&mut machine, Verdict::Fault), "closed");
    assert_eq!(end(&mut machine, Verdict::Fault), "open");
    assert_eq!(machine.counts.opened, 1);
}

#[test]
fn an_open_breaker_lets_one_probe_through_at_a_time_and_a_second() {
    let now = Instant::now();
    let mut machine = open(now);
    assert_eq!(machine.ask(now + ms(400)), Err(ms(600)));
    let probe = machine.ask(now + ms(1000)).unwrap();
    // It is on its way for long, and no other follows.
    assert!(machine.ask(now + ms(1000)).is_err());
    assert!(machine.ask(now + ms(9000)).is_err());
    machine.report(probe, Verdict::Fault, now + ms(9000));
    assert_eq!(machine.ask(now + ms(9999)), Err(ms(1)));
    let probe = machine.ask(now + ms(10_000)).unwrap();
    // A probe without a verdict does not close it, and the next comes a second after its beginning.
    machine.report(probe, Verdict::Nothing, now + ms(10_001));
    assert!(machine.ask(now + ms(10_999)).is_err());
    assert!(machine.ask(now + ms(11_000)).is_ok());
    assert_eq!((machine.counts.probes, machine.counts.opened), (3, 1));
}

#[test]
fn calls_at_once_grow_from_one_after_a_probe() {
    let now = Instant::now();
    let mut machine = open(now);
    let probe = machine.ask(now + PROBE).unwrap();
    machine.report(probe, Verdict::Answer, now + PROBE);
    let mut at_once = Vec::new();
    while machine.name() == "recovering" {
        let permits: Vec<Permit> = std::iter::from_fn(|| machine.ask(now + PROBE).ok()).collect();
        at_once.push(permits.len());
        for permit in permits {
            machine.report(permit, Verdict::Answer, now + PROBE);
        }
    }
    assert_eq!(at_once, [1, 2, 4, 8, 16]);
    assert_eq!((machine.name(), machine.counts.closed), ("closed", 1));
}

#[test]
fn a_fault_while_it_recovers_opens_it_again() {
    let now = Instant::now();
    let mut machine = open(now);
    let probe = machine.ask(now + PROBE).unwrap();
    machine.report(probe, Verdict::Answer, now + PROBE);
    let permit = machine.ask(now + PROBE).unwrap();
    machine.report(permit, Verdict::Fault, now + PROBE);
    assert_eq!((machine.name(), machine.counts.opened), ("open", 2));
    assert_eq!(machine.ask(now + PROBE), Err(PROBE));
}

#[test]
fn calls_of_an_earlier_state_tell_nothing() {
    let now = Instant::now();
    let mut machine = Machine::new(3, PROBE);
    let late: Vec<Permit> = (0..6).map(|_| machine.ask(now).unwrap()).collect();
    for permit in &late[..3] {
        machine.report(*permit, Verdict::Fault, now);
    }
    // A late success does not close it, and late failures do not put the probe off.
    machine.report(late[3], Verdict::Answer, now);
    machine.report(late[4], Verdict::Fault, now + ms(999));
    assert_eq!(machine.name(), "open");
    let probe = machine.ask(now + PROBE).unwrap();
    machine.report(late[5], Verdict::Answer, now + PROBE);
    assert_eq!(machine.name(), "open");
    machine.report(probe, Verdict::Answer, now + PROBE);
    assert_eq!(machine.name(), "recovering");
}

/// The rules, read off the history of the present state.
#[derive(Debug, Default)]
struct Model {
    /// `None` while closed; else the time at which it opened, or its last probe failed.
    open: Option<u64>,
    /// The beginning of the last probe, and whether it is on its way.
    probe: Option<(u64, bool)>,
    /// Verdicts since the present state began.
    reported: Vec<Verdict>,
    /// Calls on their way since a probe succeeded; `None` otherwise.
    ramp: Option<u32>,
    state: u64,
}

impl Model {
    fn lets_through(&self, now: u64) -> bool {
        if let Some(on_their_way) = self.ramp {
            let successes =
                self.reported.iter().filter(|reported| **reported == Verdict::Answer).count();
            return (on_their_way as usize) < 1 + successes;
        }
        let Some(since) = self.open else { return true };
        let probed =
            self.probe.is_none_or(|(at, is_on_its_way)| !is_on_its_way && now >= at + 1000);
        now >= since + 1000 && probed
    }

    fn begin(&mut self) {
        self.state += 1;
        self.reported.clear();
        (self.open, self.probe, self.ramp) = (None, None, None);
    }

    fn ask(&mut self, now: u64) {
        if let Some(on_their_way) = &mut self.ramp {
            *on_their_way += 1;
        } else if self.open.is_some() {
            self.probe = Some((now, true));
        }
    }

    fn report(&mut self, verdict: Verdict, now: u64) {
        self.reported.push(verdict);
        if let Some(on_their_way) = &mut self.ramp {
            *on_their_way -= 1;
            let successes =
                self.reported.iter().filter(|reported| **reported == Verdict::Answer).count();
            if verdict == Verdict::Fault {
                self.begin();
                self.open = Some(now);
            } else if successes == RAMP as usize {
                self.begin();
            }
        } else if self.open.is_some() {
            match verdict {
                Verdict::Answer => {
                    self.begin();
                    self.ramp = Some(0);
                }
                Verdict::Fault => (self.open, self.probe) = (Some(now), None),
                Verdict::Nothing => {
                    self.probe = self.probe.map(|(at, _)| (at, false));
                }
            }
        } else {
            let verdicts =
                self.reported.iter().rev().filter(|reported| **reported != Verdict::Nothing);
            let in_a_row = verdicts.take_while(|reported| **reported == Verdict::Fault).count();
            if verdict == Verdict::Fault && in_a_row == 3 {
                self.begin();
                self.open = Some(now);
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Ask,
    Report(prop::sample::Index, Verdict),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let verdict = prop_oneof![
        3 => Just(Verdict::Answer),
        3 => Just(Verdict::Fault),
        1 => Just(Verdict::Nothing),
    ];
    prop_oneof![
        4 => Just(Step::Ask),
        4 => (any::<prop::sample::Index>(), verdict).prop_map(|(i, verdict)| Step::Report(i, verdict)),
        1 => (1_u64..1500).prop_map(Step::Pass),
    ]
}

proptest! {
    #[test]
    fn it_does_what_the_model_says(steps in prop::collection::vec(step(), 0..400)) {
        let start = Instant::now();
        let mut machine = Machine::new(3, PROBE);
        let mut model = Model::default();
        let mut on_their_way: Vec<(Permit, u64)> = Vec::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Pass(time) => now += time,
                Step::Ask => {
                    let asked = machine.ask(start + ms(now));
                    prop_assert_eq!(asked.is_ok(), model.lets_through(now), "at {} ms", now);
                    if let Ok(permit) = asked {
                        model.ask(now);
                        on_their_way.push((permit, model.state));
                    }
                }
                Step::Report(i, verdict) if !on_their_way.is_empty() => {
                    let (permit, state) = on_their_way.swap_remove(i.index(on_their_way.len()));
                    machine.report(permit, verdict, start + ms(now));
                    if state == model.state {
                        model.report(verdict, now);
                    }
                }
                Step::Report(..) => {}
            }
            let name = match (model.open, model.ramp) {
                (_, Some(_)) => "recovering",
                (Some(_), _) => "open",
                _ => "closed",
            };
            prop_assert_eq!(machine.name(), name);
        }
    }
}
