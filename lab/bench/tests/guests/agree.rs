//! Clients and guests without a bound against the engine of this process that has the same entries.

use std::fmt::Write;

use larder_report::{Cell, Floor, Operation, ReasonKind};
use larder_testkit::trial_where;
use libtest_mimic::Trial;

use super::{cells, java, memcached, opens, pymemcache, run};

pub(super) fn trials() -> Vec<Trial> {
    let workloads = [
        ("sets_and_gets", "operations = ['set', 'get']\nkey-pattern = 'zipf:0.9'"),
        ("a_mix", "ratio = '1:3'\nkey-size = 'uniform:20-60'\ndata-size = 'uniform:3-3000'"),
        ("a_mix_with_deletes", "ratio = '1:3:1'"),
        ("fills", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'\nrequests = 3000"),
        ("fills_under_the_next_key", "on-miss = 'fill-next'\nkey-pattern = 'seq'"),
        ("chains", "operations = ['set+get', 'delete']"),
        ("many_keys_a_request", "multiget = 7"),
        (
            "all_keys_by_each",
            "operations = 'get'\nkey-pattern = 'seq'\neach-thread = 'all:2'\nthreads = 4",
        ),
        ("groups_of_keys", "operations = ['get_many', 'get']\ngroup = 25"),
        ("touches", "operations = ['set', 'touch', 'get']\nttl = '1h'"),
    ];
    let mut trials: Vec<_> = workloads
        .into_iter()
        .map(|(name, workload)| {
            let name = format!("{name}_agree_exactly_with_memcached");
            trial_where(memcached, &name, move || agree("memcached:", "perl+memcached:", workload))
        })
        .collect();
    let groups = "operations = ['set', 'get', 'get_many']\ngroup = 25";
    let each = "operations = 'get'\nkey-pattern = 'seq'\neach-thread = 'all:2'\nthreads = 4";
    for (work, native, guest, workload) in [
        ("", "memcached:", "java+memcached:", format!("{groups}\ndata-size = 'uniform:3-3000'")),
        ("", "postgresql:", "java+postgresql:", format!("{groups}\nttl = '1h'")),
        ("_at_all_keys_by_each", "memcached:", "java+memcached:", each.to_owned()),
        ("_by_lettuce", "redis:", "java+lettuce:", format!("{groups}\nttl = '1h'")),
        ("_by_jedis", "redis:", "java+jedis:", "ratio = '1:3:1'".to_owned()),
    ] {
        let name = format!("java_agrees_exactly_with_{}{work}", native.trim_end_matches(':'));
        trials.push(trial_where(java, &name, move || agree(native, guest, &workload)));
    }
    for guest in ["perl+memcached:", "java+memcached:", "python+memcached:", "go+memcached:"] {
        let name = format!("absent_keys_of_{}_agree_exactly", guest.trim_end_matches(':'));
        trials.push(trial_where(|| opens(guest), &name, move || absent_keys(guest)));
    }
    let telling = ["a_mix_with_deletes", "fills", "many_keys_a_request", "touches"];
    for (name, workload) in workloads.into_iter().filter(|(name, _)| telling.contains(name)) {
        let name = format!("{name}_of_python_agree_exactly_with_memcached");
        let agrees = move || agree("memcached:", "python+memcached:", workload);
        trials.push(trial_where(pymemcache, &name, agrees));
    }
    for (name, native, guest, workload) in [
        ("a_mix", "memcached:", "python+pylibmc:", "ratio = '1:3:1'"),
        ("touches", "redis:", "python+redis:", "operations = ['set', 'touch', 'get']\nttl = '1h'"),
        ("fills", "memcached:", "php+memcached:", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'"),
        ("many_keys_a_request", "memcached:", "php+memcache:", "multiget = 7"),
        ("a_mix", "memcached:", "node+memjs:", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
        ("keys_of_all_by_each", "memcached:", "go+memcached:", each),
        ("many_keys_a_request", "memcached:", "go+memcached:", "multiget = 7\nttl = '1h'"),
        ("a_mix", "redis:", "go+redis:", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
        ("a_mix", "moka:", "go+map:", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
        ("fills", "redis:", "node+ioredis:", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'"),
        ("fills", "memcached:", "ruby+dalli:", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'"),
        ("many_keys_a_request", "memcached:", "ruby+dalli:", "multiget = 7"),
        ("a_mix", "memcached:", "ruby+hash:", "ratio = '1:3:1'\nttl = '1h'"),
        ("a_mix", "redis:", "php+redis:", "ratio = '1:3:1'\nttl = '1h'"),
        ("a_mix", "mongodb:", "php+mongodb:?w=0", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
    ] {
        let name = format!("{name}_of_{}_agree_exactly", guest.trim_end_matches(':'));
        trials.push(trial_where(|| opens(guest), &name, move || agree(native, guest, workload)));
    }
    let languages = || {
        memcached().and_then(|()| pymemcache()).and_then(|()| java())?;
        ["php+memcached:", "go+memcached:", "ruby+dalli:"].into_iter().try_for_each(opens)
    };
    trials.push(trial_where(languages, "guests_of_one_plan_agree_exactly", all_languages));
    trials
}

/// A trace in which half of the reads find nothing and are not filled, and in which entries expire.
fn absent_keys(guest: &str) {
    let mut csv = "time,key,op,size,ttl,result\n".to_owned();
    for n in 0..200 {
        let (absent, found) = (n % 7, n % 11);
        let _ = writeln!(csv, "{n},absent{absent},get,,,miss");
        let _ = match n {
            0..11 => writeln!(csv, "{n},k{found},get,,,miss\n{n},k{found},set,90,100,stored"),
            _ => writeln!(csv, "{n},k{found},get,90,,hit"),
        };
    }
    let trace = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(trace.path(), csv).unwrap();
    let workload = format!("on-miss = 'fill'\nkey-pattern = 'trace:{}'", trace.path().display());
    let run = run(&["memcached:", guest], &workload);
    let [native, guest] = ["memcached:", guest].map(|target| {
        let counts = |operation| {
            let cell = run.cells.iter().find(|it| it.target == target && it.operation == operation);
            let cell = cell.unwrap();
            assert_eq!(cell.reason, None, "{target}");
            (cell.counts.ops, cell.counts.hits, cell.counts.misses, cell.counts.wrong)
        };
        (counts(Operation::GetOrSet), counts(Operation::Delete).0)
    });
    assert_eq!(guest, native);
    // In both rounds, each of eleven keys is filled at first, and once more after its 100 seconds.
    assert_eq!(native, ((800, 356, 444, 0), 22));
}

fn agree(native: &str, guest: &str, workload: &str) {
    let run = run(&[native, guest], &format!("keys = 500\n{workload}"));
    // The entries in a program's memory end with it, so none of them is looked for when they are removed.
    let ends = guest.ends_with("+hash:") || guest.ends_with("+map:");
    let (natives, guests) = (cells(&run, native), cells(&run, guest));
    assert_eq!(natives.len(), guests.len());
    for (native, guest) in natives.into_iter().zip(guests) {
        assert!(native.reason.is_none() && guest.reason.is_none(), "{native:#?} {guest:#?}");
        let counted = |cell: &Cell| {
            let mut counts = cell.counts;
            // Traffic over the wire is counted for clients of this process only.
            (counts.connections, counts.wire_requests) = (None, None);
            if ends {
                counts.emptied_checked = 0;
            }
            if workload.contains("fill-next") {
                // Only the program knows which fills were made.
                (counts.read_back, counts.overwritten, counts.emptied_checked) = (0, 0, 0);
            }
            (cell.operation, counts, cell.bytes, cell.rounds)
        };
        assert_eq!(counted(guest), counted(native));
        assert!(guest.counts.wrong == 0 && guest.counts.ops > 0, "{guest:#?}");
        assert!(guest.latency_ns.is_some() || guest.counts.misses == guest.counts.ops);
    }
}

/// All languages side by side have the same outcomes, and refuse the same large values. Each has its own cost of an
/// operation on its null cache.
fn all_languages() {
    let native = "memcached:?item_size=64k";
    let clients = [
        ("perl", "memcached"),
        ("php", "memcached"),
        ("java", "memcached"),
        ("python", "memcached"),
        ("go", "memcached"),
        ("ruby", "dalli"),
    ];
    let guests = clients.map(|(language, client)| format!("{language}+{client}:?item_size=64k"));
    let targets: Vec<&str> = guests.iter().map(String::as_str).chain([native]).collect();
    let run = run(
        &targets,
        "keys = 40\nrequests = 200\non-miss = 'fill'\nkey-pattern = 'zipf:0.9'\ndata-size = ['uniform:3-3k', '150k']",
    );
    let told = |target: &str| -> Vec<_> {
        let counted = |cell: &&Cell| {
            let counts = cell.counts;
            let outcomes = (counts.ops, counts.hits, counts.misses, counts.failed_fills);
            (cell.operation, outcomes, cell.reason_kind)
        };
        cells(&run, target).iter().map(counted).collect()
    };
    let expected = told(native);
    let [(_, (ops, hits, misses, _), None), (.., Some(ReasonKind::Oversize))] = expected[..] else {
        panic!("{expected:#?}")
    };
    assert!(ops == 400 && hits > 0 && misses > 0, "{expected:#?}");
    for guest in &guests {
        assert_eq!(told(guest), expected, "{guest}");
    }
    for (language, _) in clients {
        let of = |floor: &&Floor| floor.language.as_deref() == Some(language);
        let floors: Vec<_> = run.floors.iter().filter(of).collect();
        assert!(
            !floors.is_empty() && floors.iter().all(|floor| floor.ns_per_op > 0.0),
            "{floors:#?}"
        );
    }
}
