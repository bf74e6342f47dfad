//! `stats` and its groups, by the names and in the order that tools read.

use std::process;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_protocol::request::{Fault, Words};
use larder_protocol::text::stats::{encode_end, encode_reset, encode_stat};
use larder_store::Stats;

use crate::context::{Desk, Shared};
use crate::counts::Count;
use crate::rusage::cpu_times;
use crate::{Address, MEMCACHED_VERSION};

pub(super) fn run(mut words: Words<'_>, desk: &mut Desk, out: &mut Vec<u8>) {
    let shared = &desk.shared;
    // The store is asked only for what is made of its counters: that may take it long.
    let tell: fn(&Shared, &Stats, &mut Vec<u8>) = match words.next() {
        None => general,
        Some(b"settings") => settings,
        Some(b"items") => items,
        Some(b"slabs") => slabs,
        Some(b"sizes") => {
            encode_stat(out, "sizes_status", "disabled");
            return encode_end(out);
        }
        Some(b"conns") => {
            connections(shared, out);
            return encode_end(out);
        }
        Some(b"reset") => {
            shared.counts.iter().for_each(|counts| counts.reset());
            return encode_reset(out);
        }
        Some(_) => return out.extend_from_slice(Fault::Unknown.line()),
    };
    match shared.store.stats() {
        Ok(stats) => {
            tell(shared, &stats, out);
            encode_end(out);
        }
        Err(error) => desk.refuse(out, &error),
    }
}

fn general(shared: &Shared, stats: &Stats, out: &mut Vec<u8>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut stat = |name, number: u64| encode_stat(out, name, number);
    stat("pid", process::id().into());
    stat("uptime", shared.began.elapsed().as_secs());
    stat("time", now);
    encode_stat(out, "version", MEMCACHED_VERSION);
    encode_stat(out, "larder_version", env!("CARGO_PKG_VERSION"));
    let info = shared.store.info();
    encode_stat(out, "larder_store", &info.url);
    encode_stat(out, "larder_durability", info.durability.as_str());
    encode_stat(out, "pointer_size", usize::BITS);
    let [user, system] = cpu_times();
    encode_stat(out, "rusage_user", seconds(user));
    encode_stat(out, "rusage_system", seconds(system));
    let n_connections = shared.n_connections.load(Ordering::Relaxed) as u64;
    let mut stat = |name, number: u64| encode_stat(out, name, number);
    stat("max_connections", shared.settings.connections as u64);
    stat("curr_connections", n_connections);
    stat("total_connections", shared.total_connections.load(Ordering::Relaxed));
    stat("rejected_connections", shared.rejected_connections.load(Ordering::Relaxed));
    stat("connection_structures", n_connections);
    stat("waiting_bytes", shared.waiting_bytes() as u64);
    for (name, count) in COUNTS {
        stat(name, shared.count(*count));
    }
    stat("limit_maxbytes", stats.capacity_bytes.unwrap_or(0));
    stat("accepting_conns", u64::from(n_connections < shared.settings.connections as u64));
    stat("threads", shared.settings.threads.get() as u64);
    stat("conn_yields", shared.count(Count::Yields));
    stat("bytes", stats.bytes.unwrap_or(0));
    stat("curr_items", stats.items.unwrap_or(0));
    stat("total_items", stats.sets.unwrap_or(0));
    stat("evictions", stats.evictions.unwrap_or(0));
    stat("reclaimed", stats.expirations.unwrap_or(0));
}

/// The counters between the connections and the limits, in memcached's order.
const COUNTS: &[(&str, Count)] = &[
    ("cmd_get", Count::CmdGet),
    ("cmd_set", Count::CmdSet),
    ("cmd_flush", Count::CmdFlush),
    ("cmd_touch", Count::CmdTouch),
    ("cmd_meta", Count::CmdMeta),
    ("get_hits", Count::GetHits),
    ("get_misses", Count::GetMisses),
    ("delete_misses", Count::DeleteMisses),
    ("delete_hits", Count::DeleteHits),
    ("incr_misses", Count::IncrMisses),
    ("incr_hits", Count::IncrHits),
    ("decr_misses", Count::DecrMisses),
    ("decr_hits", Count::DecrHits),
    ("cas_misses", Count::CasMisses),
    ("cas_hits", Count::CasHits),
    ("cas_badval", Count::CasBadval),
    ("touch_hits", Count::TouchHits),
    ("touch_misses", Count::TouchMisses),
    ("store_too_large", Count::StoreTooLarge),
    ("store_no_memory", Count::StoreNoMemory),
    ("auth_cmds", Count::AuthCmds),
    ("auth_errors", Count::AuthErrors),
    ("idle_kicks", Count::IdleKicks),
    ("stall_kicks", Count::StallKicks),
    ("bytes_read", Count::BytesRead),
    ("bytes_written", Count::BytesWritten),
];

fn settings(shared: &Shared, stats: &Stats, out: &mut Vec<u8>) {
    let settings = &shared.settings;
    let tcp = shared.addresses.iter().find_map(Address::socket_address);
    let path = shared.addresses.iter().find_map(|address| match address {
        Address::Unix(path, mode) => Some((path, mode)),
        _ => None,
    });
    encode_stat(out, "maxbytes", stats.capacity_bytes.unwrap_or(0));
    encode_stat(out, "maxconns", settings.connections);
    encode_stat(out, "tcpport", tcp.map_or(0, |tcp| tcp.port()));
    encode_stat(out, "udpport", 0);
    encode_stat(out, "inter", tcp.map_or_else(|| "NULL".into(), |tcp| tcp.ip().to_string()));
    encode_stat(out, "verbosity", 0);
    encode_stat(out, "evictions", if shared.abilities.evicts { "on" } else { "off" });
    encode_stat(
        out,
        "domain_socket",
        path.map_or_else(|| "NULL".into(), |(path, _)| path.display().to_string()),
    );
    encode_stat(out, "umask", format_args!("{:o}", path.map_or(0o700, |(_, mode)| *mode)));
    encode_stat(out, "num_threads", settings.threads);
    encode_stat(out, "reqs_per_event", settings.requests_a_turn);
    encode_stat(out, "cas_enabled", yes(shared.abilities.version));
    encode_stat(out, "tcp_backlog", settings.backlog);
    encode_stat(out, "binding_protocol", "auto-negotiate");
    encode_stat(out, "auth_enabled_sasl", yes(shared.users.is_some()));
    encode_stat(out, "auth_enabled_ascii", yes(shared.users.is_some()));
    encode_stat(out, "item_size_max", settings.item_bytes);
    encode_stat(out, "maxconns_fast", "yes");
    encode_stat(out, "idle_timeout", settings.idle.map_or(0, |idle| idle.as_secs()));
    encode_stat(out, "flush_enabled", yes(settings.allows_flush));
    encode_stat(
        out,
        "waiting_bytes_max",
        settings.waiting_bytes_of_a_worker() * settings.threads.get(),
    );
    encode_stat(out, "assistants", settings.assistants);
}

/// Entries are not kept in classes of size, so there is one class.
fn items(_: &Shared, stats: &Stats, out: &mut Vec<u8>) {
    encode_stat(out, "items:1:number", stats.items.unwrap_or(0));
    encode_stat(out, "items:1:evicted", stats.evictions.unwrap_or(0));
    encode_stat(out, "items:1:reclaimed", stats.expirations.unwrap_or(0));
}

fn slabs(shared: &Shared, stats: &Stats, out: &mut Vec<u8>) {
    encode_stat(out, "1:chunk_size", 1);
    encode_stat(out, "1:used_chunks", stats.bytes.unwrap_or(0));
    encode_stat(out, "1:get_hits", shared.count(Count::GetHits));
    encode_stat(out, "1:cmd_set", shared.count(Count::CmdSet));
    encode_stat(out, "active_slabs", 1);
    encode_stat(out, "total_malloced", stats.capacity_bytes.unwrap_or(0));
}

fn connections(shared: &Shared, out: &mut Vec<u8>) {
    for (i, address) in shared.addresses.iter().enumerate() {
        encode_stat(out, &format!("{i}:addr"), address);
        encode_stat(out, &format!("{i}:state"), "conn_listening");
    }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}
