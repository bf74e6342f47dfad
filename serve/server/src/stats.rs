//! `stats`: the counters and settings of the server and its store, by memcached's names and in its order, for its tools.

use std::fmt::Display;
use std::process;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_host::listen::Address;
use larder_host::tls::TlsSettings;
use larder_store::{Error, Stats, TierStats};

use crate::context::{Context, Shared};
use crate::counts::Count;
use crate::latency::{Kind, Times};
use crate::rusage::cpu_times;
use crate::version::MEMCACHED_VERSION;

/// Takes a name and its value.
pub(crate) type Stat<'a> = &'a mut dyn FnMut(&str, &dyn Display);

/// The outcome of a request for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatsReply {
    /// The group is written.
    Listed,
    /// The counters are reset.
    Reset,
    /// There is no such group.
    Unknown,
}

/// Writes a group of names and values; `None` is the general one.
pub(crate) fn write_group(
    group: Option<&[u8]>,
    context: &Context,
    stat: Stat<'_>,
) -> Result<StatsReply, Error> {
    let shared = &context.shared;
    // Counting may take the store long, so only groups with its counters ask for them.
    let write: fn(&Shared, &Stats, Stat<'_>) = match group {
        None => general,
        Some(b"settings") => settings,
        Some(b"items") => items,
        Some(b"slabs") => slabs,
        Some(b"sizes") => {
            stat("sizes_status", &"disabled");
            return Ok(StatsReply::Listed);
        }
        Some(b"conns") => {
            connections(shared, stat);
            return Ok(StatsReply::Listed);
        }
        Some(b"latency") => {
            latencies(shared, stat);
            return Ok(StatsReply::Listed);
        }
        Some(b"tiers") => {
            tiers(&shared.store.tiers(), stat);
            return Ok(StatsReply::Listed);
        }
        Some(b"store") => {
            shared.store.counters()?.iter().for_each(|counter| stat(counter.name, &counter.value));
            return Ok(StatsReply::Listed);
        }
        Some(b"reset") => {
            shared.counts.iter().for_each(|counts| counts.reset());
            return Ok(StatsReply::Reset);
        }
        Some(_) => return Ok(StatsReply::Unknown),
    };
    write(shared, &shared.store.stats()?, stat);
    Ok(StatsReply::Listed)
}

fn general(shared: &Shared, stats: &Stats, stat: Stat<'_>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    stat("pid", &process::id());
    stat("uptime", &shared.began.elapsed().as_secs());
    stat("time", &now);
    stat("version", &MEMCACHED_VERSION);
    stat("larder_version", &env!("CARGO_PKG_VERSION"));
    let info = shared.store.info();
    stat("larder_store", &info.url);
    stat("larder_durability", &info.durability.as_str());
    stat("pointer_size", &usize::BITS);
    let [user, system] = cpu_times();
    stat("rusage_user", &seconds(user));
    stat("rusage_system", &seconds(system));
    let n_connections = shared.n_connections.load(Ordering::Relaxed) as u64;
    stat("max_connections", &shared.settings.connections);
    stat("curr_connections", &n_connections);
    stat("total_connections", &shared.total_connections.load(Ordering::Relaxed));
    stat("rejected_connections", &shared.rejected_connections.load(Ordering::Relaxed));
    stat("connection_structures", &n_connections);
    stat("waiting_bytes", &shared.waiting_bytes());
    for (name, count) in COUNTS {
        stat(name, &shared.count(*count));
    }
    stat("limit_maxbytes", &stats.capacity_bytes.unwrap_or(0));
    stat("accepting_conns", &u64::from(n_connections < shared.settings.connections as u64));
    stat("threads", &shared.settings.threads.get());
    stat("conn_yields", &shared.count(Count::Yields));
    stat("larder_stalls", &shared.count(Count::Stalls));
    stat("bytes", &stats.bytes.unwrap_or(0));
    stat("curr_items", &stats.items.unwrap_or(0));
    stat("total_items", &stats.sets.unwrap_or(0));
    stat("evictions", &stats.evictions.unwrap_or(0));
    stat("reclaimed", &stats.expirations.unwrap_or(0));
    percentiles("larder_latency", &shared.times(None), stat);
}

/// The percentiles of times, where there are any.
fn percentiles(name: &str, times: &Times, stat: Stat<'_>) {
    for (end, of_ten_thousand) in [("p50", 5000), ("p99", 9900), ("p999", 9990)] {
        if let Some(time) = times.quantile(of_ten_thousand) {
            let micros = time.as_nanos().div_ceil(100);
            stat(&format!("{name}_{end}_us"), &format_args!("{}.{}", micros / 10, micros % 10));
        }
    }
}

/// The times of each kind of requests.
fn latencies(shared: &Shared, stat: Stat<'_>) {
    for kind in Kind::ALL {
        let times = shared.times(Some(kind));
        stat(&format!("{}_timed", kind.as_str()), &times.count());
        percentiles(kind.as_str(), &times, stat);
    }
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

fn settings(shared: &Shared, stats: &Stats, stat: Stat<'_>) {
    let settings = &shared.settings;
    let tcp = shared.addresses.iter().find_map(Address::socket_address);
    let path = shared.addresses.iter().find_map(|address| match address {
        Address::Unix(path, mode) => Some((path, mode)),
        _ => None,
    });
    stat("maxbytes", &stats.capacity_bytes.unwrap_or(0));
    stat("maxconns", &settings.connections);
    stat("tcpport", &tcp.map_or(0, |tcp| tcp.port()));
    stat("udpport", &0);
    stat("inter", &tcp.map_or_else(|| "NULL".into(), |tcp| tcp.ip().to_string()));
    stat("verbosity", &0);
    stat("evictions", &if shared.abilities.evicts { "on" } else { "off" });
    stat(
        "domain_socket",
        &path.map_or_else(|| "NULL".into(), |(path, _)| path.display().to_string()),
    );
    stat("umask", &format_args!("{:o}", path.map_or(0o700, |(_, mode)| *mode)));
    stat("shutdown_command", &yes(settings.allows_shutdown));
    stat("num_threads", &settings.threads);
    stat("reqs_per_event", &settings.requests_a_turn);
    stat("cas_enabled", &yes(shared.abilities.version));
    stat("tcp_backlog", &settings.backlog);
    stat("binding_protocol", &"auto-negotiate");
    stat("auth_enabled_sasl", &yes(shared.users.is_some()));
    stat("auth_enabled_ascii", &yes(shared.users.is_some()));
    stat("item_size_max", &settings.item_bytes);
    stat("maxconns_fast", &"yes");
    stat("idle_timeout", &settings.idle.map_or(0, |idle| idle.as_secs()));
    stat("flush_enabled", &yes(settings.allows_flush && shared.abilities.clear));
    encryption(settings.tls.as_ref(), stat);
    stat("waiting_bytes_max", &settings.all_waiting_bytes());
    stat("assistants", &settings.storage_threads);
}

/// The files and rules of encryption, by memcached's names.
fn encryption(tls: Option<&TlsSettings>, stat: Stat<'_>) {
    stat("ssl_enabled", &yes(tls.is_some()));
    let Some(tls) = tls else { return };
    stat("ssl_chain_cert", &tls.chain.display());
    stat("ssl_key", &tls.key.display());
    let verify_mode = u8::from(tls.authorities.is_some()) + u8::from(tls.needs_client);
    stat("ssl_verify_mode", &verify_mode);
    let authorities = tls.authorities.as_ref();
    stat(
        "ssl_ca_cert",
        &authorities.map_or_else(|| "NULL".into(), |path| path.display().to_string()),
    );
    stat("ssl_min_version", &if tls.is_newest_only { "tlsv1.3" } else { "tlsv1.2" });
}

/// The tiers of a stack, the nearest first.
fn tiers(tiers: &[TierStats], stat: Stat<'_>) {
    for (number, tier) in (1..).zip(tiers) {
        stat(&format!("{number}:name"), &tier.name);
        for (name, value) in [
            ("get_hits", tier.hits),
            ("get_misses", tier.misses),
            ("get_errors", tier.errors),
            ("not_asked", tier.not_asked),
            ("filled", tier.fills),
            ("stored", tier.puts),
            ("refused", tier.refused),
        ] {
            stat(&format!("{number}:{name}"), &value);
        }
    }
}

/// Entries are not kept in classes of size, so there is one class.
fn items(_: &Shared, stats: &Stats, stat: Stat<'_>) {
    stat("items:1:number", &stats.items.unwrap_or(0));
    stat("items:1:evicted", &stats.evictions.unwrap_or(0));
    stat("items:1:reclaimed", &stats.expirations.unwrap_or(0));
}

fn slabs(shared: &Shared, stats: &Stats, stat: Stat<'_>) {
    stat("1:chunk_size", &1);
    stat("1:used_chunks", &stats.bytes.unwrap_or(0));
    stat("1:get_hits", &shared.count(Count::GetHits));
    stat("1:cmd_set", &shared.count(Count::CmdSet));
    stat("active_slabs", &1);
    stat("total_malloced", &stats.capacity_bytes.unwrap_or(0));
}

fn connections(shared: &Shared, stat: Stat<'_>) {
    for (i, address) in shared.addresses.iter().enumerate() {
        let kind = match address {
            Address::Unix(..) => "unix",
            Address::Tcp(at) | Address::Tls(at) if at.is_ipv6() => "tcp6",
            Address::Tcp(_) | Address::Tls(_) => "tcp",
        };
        stat(&format!("{i}:addr"), &format_args!("{kind}:{address}"));
        stat(&format!("{i}:state"), &"conn_listening");
    }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}
