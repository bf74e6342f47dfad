//! Makes a cluster of servers that have just been started.

use std::sync::Arc;
use std::time::Duration;

use larder_protocol::resp::Value;
use larder_store::{Error, Result};

use super::address::Node;
use super::layout::N_SLOTS;
use super::{SCHEME, introspection};
use larder_host::managed::Server;

/// The longest time for a cluster to form; its nodes wait for two seconds before they take writes.
const START: Duration = Duration::from_secs(30);

/// Spreads the slots evenly over the nodes, has the nodes meet each other, and waits until each of them reports that
/// the cluster is whole.
pub(super) fn form(servers: &mut [Server], nodes: &[Node], timeout: Duration) -> Result<()> {
    let nodes: Vec<Arc<Node>> = nodes.iter().cloned().map(Arc::new).collect();
    let ask = |node: &Arc<Node>, command: &[&str]| {
        let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        introspection::ask(node, timeout, "CLUSTER", &words)
    };
    for (place, node) in nodes.iter().enumerate() {
        let slots: Vec<String> =
            slots_of(place, nodes.len()).map(|slot| slot.to_string()).collect();
        let mut command = vec!["CLUSTER", "ADDSLOTS"];
        command.extend(slots.iter().map(String::as_str));
        ask(node, &command)?;
        // Without distinct epochs the nodes would have to settle which of them has the latest slots.
        ask(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(place + 1).to_string()])?;
        for other in &nodes[..place] {
            let (host, port) = other.host_and_port().ok_or_else(|| no_port(other))?;
            ask(node, &["CLUSTER", "MEET", host, &port.to_string()])?;
        }
    }
    let is_whole = |node: &Arc<Node>| {
        let Ok(Value::Bulk(facts)) = ask(node, &["CLUSTER", "INFO"]) else { return false };
        let facts = String::from_utf8_lossy(&facts);
        let size = format!("cluster_size:{}", nodes.len());
        ["cluster_state:ok", &size].iter().all(|fact| facts.lines().any(|line| line == *fact))
    };
    for (server, node) in servers.iter_mut().zip(&nodes) {
        server.answer(START, || is_whole(node).then_some(()))?;
    }
    Ok(())
}

/// The slots of one node of several.
fn slots_of(place: usize, n_nodes: usize) -> std::ops::Range<usize> {
    let n_slots = usize::from(N_SLOTS);
    place * n_slots / n_nodes..(place + 1) * n_slots / n_nodes
}

fn no_port(node: &Node) -> Error {
    let reason = format!("{node} has no port, which a node of a cluster needs");
    Error::InvalidOptions { engine: SCHEME, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_one_node() {
        for n_nodes in [2, 3, 64] {
            let slots: Vec<usize> =
                (0..n_nodes).flat_map(|place| slots_of(place, n_nodes)).collect();
            assert_eq!(slots, (0..usize::from(N_SLOTS)).collect::<Vec<_>>(), "{n_nodes} nodes");
        }
    }
}
