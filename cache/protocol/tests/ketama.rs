//! Larder's placement of keys against libmemcached's, key for key.

use larder_protocol::ketama::{Ketama, PoolServer};

/// The ring that a `pool` line describes.
fn ring(line: &str) -> Ketama {
    let words: Vec<&str> = line.split(' ').collect();
    let servers: Vec<PoolServer<'_>> = words[1..]
        .chunks(3)
        .map(|server| PoolServer {
            host: server[0],
            port: server[1].parse().expect("a port"),
            weight: server[2].parse().expect("a weight"),
        })
        .collect();
    match words[0] {
        "weighted" => Ketama::weighted(&servers),
        "unweighted" => Ketama::unweighted(&servers),
        other => panic!("unknown kind of pool `{other}`"),
    }
}

#[test]
fn every_key_is_where_libmemcached_puts_it() {
    let mut pool = None;
    let mut n_keys = 0;
    for line in include_str!("data/ketama.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(description) = line.strip_prefix("pool ") {
            pool = Some((ring(description), description));
            continue;
        }
        let (ring, description) = pool.as_ref().expect("a pool before its keys");
        let (key, server) = line.rsplit_once(' ').expect("a key and its server");
        assert_eq!(ring.server(key.as_bytes()).to_string(), server, "{key} in {description}");
        n_keys += 1;
    }
    assert_eq!(n_keys, 9 * 60, "keys in the file");
}

#[test]
fn a_server_that_leaves_takes_only_its_own_keys() {
    let host = |host| PoolServer { host, port: 11211, weight: 1 };
    let before = Ketama::weighted(&[host("a"), host("b"), host("c")]);
    let after = Ketama::weighted(&[host("a"), host("b")]);
    let keys: Vec<String> = (0..1000).map(|i| format!("key:{i}")).collect();
    for key in keys.iter().filter(|key| before.server(key.as_bytes()) != 2) {
        assert_eq!(before.server(key.as_bytes()), after.server(key.as_bytes()), "{key}");
    }
    let moved = keys.iter().filter(|key| before.server(key.as_bytes()) == 2).count();
    assert!((200..470).contains(&moved), "{moved} of 1000 keys were on the third server");
}

#[test]
fn a_pool_without_a_server_does_not_panic() {
    assert_eq!(Ketama::weighted(&[]).server(b"x"), 0);
    assert_eq!(Ketama::weighted(&[PoolServer { host: "a", port: 1, weight: 0 }]).server(b"x"), 0);
}
