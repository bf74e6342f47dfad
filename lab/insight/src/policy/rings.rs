//! Queues of keys, as rings of neighbours: every policy is made of these.

/// Marks a key that is in no queue.
const NOWHERE: u8 = u8::MAX;

/// A key's place in a queue, or the end of a queue.
#[derive(Debug, Clone, Copy)]
struct Node {
    older: u32,
    newer: u32,
    size: u32,
    queue: u8,
    mark: u8,
}

/// Several queues over the same keys; a key is in one of them at most. Each is in the order of its arrivals.
///
/// A queue is a ring whose end is a node behind those of the keys: it stands before the oldest key and behind the newest.
/// All that a policy knows of a key is in one node of 16 bytes, so that a step waits for memory once.
#[derive(Debug)]
pub(super) struct Rings<const QUEUES: usize> {
    nodes: Vec<Node>,
    used: [u64; QUEUES],
    length: [u32; QUEUES],
}

impl<const QUEUES: usize> Rings<QUEUES> {
    /// Empty queues of keys below `n_keys`.
    pub(super) fn new(n_keys: usize) -> Self {
        let absent = Node { older: 0, newer: 0, size: 0, queue: NOWHERE, mark: 0 };
        let mut nodes = vec![absent; n_keys + QUEUES];
        for (node, end) in nodes[n_keys..].iter_mut().zip(n_keys..) {
            let end = u32::try_from(end).expect("keys are counted in 32 bits");
            (node.older, node.newer) = (end, end);
        }
        Self { nodes, used: [0; QUEUES], length: [0; QUEUES] }
    }

    /// The node that ends a queue.
    fn end(&self, queue: usize) -> u32 {
        u32::try_from(self.nodes.len() - QUEUES + queue).expect("keys are counted in 32 bits")
    }

    /// The queue of a key.
    pub(super) fn queue(&self, key: u32) -> Option<usize> {
        let queue = self.nodes[key as usize].queue;
        (queue != NOWHERE).then_some(queue.into())
    }

    /// The size of a key in a queue.
    pub(super) fn size(&self, key: u32) -> u64 {
        self.nodes[key as usize].size.into()
    }

    /// The size of all keys of a queue together.
    pub(super) fn used(&self, queue: usize) -> u64 {
        self.used[queue]
    }

    /// The number of keys of a queue.
    pub(super) fn length(&self, queue: usize) -> u32 {
        self.length[queue]
    }

    /// The policy's own note on a key in a queue; 0 at its arrival.
    pub(super) fn mark(&mut self, key: u32) -> &mut u8 {
        &mut self.nodes[key as usize].mark
    }

    /// The key that is longest in a queue.
    pub(super) fn oldest(&self, queue: usize) -> Option<u32> {
        let end = self.end(queue);
        self.inner(self.nodes[end as usize].newer)
    }

    /// The key that came into its queue next after this one.
    pub(super) fn newer(&self, key: u32) -> Option<u32> {
        self.inner(self.nodes[key as usize].newer)
    }

    /// A key, but no end of a queue.
    fn inner(&self, node: u32) -> Option<u32> {
        ((node as usize) < self.nodes.len() - QUEUES).then_some(node)
    }

    /// Puts a key that is in no queue behind the newest of a queue.
    pub(super) fn push(&mut self, queue: usize, key: u32, size: u32) {
        let end = self.end(queue);
        let newest = self.nodes[end as usize].older;
        let number = u8::try_from(queue).expect("there are few queues");
        self.nodes[key as usize] = Node { older: newest, newer: end, size, queue: number, mark: 0 };
        self.nodes[newest as usize].newer = key;
        self.nodes[end as usize].older = key;
        self.used[queue] += u64::from(size);
        self.length[queue] += 1;
    }

    /// Takes a key out of its queue; it must be in one.
    pub(super) fn take(&mut self, key: u32) -> u32 {
        let Node { older, newer, size, queue, .. } = self.nodes[key as usize];
        self.nodes[older as usize].newer = newer;
        self.nodes[newer as usize].older = older;
        self.nodes[key as usize].queue = NOWHERE;
        self.used[usize::from(queue)] -= u64::from(size);
        self.length[usize::from(queue)] -= 1;
        size
    }

    /// Moves a key to the newest place of a queue.
    pub(super) fn shift(&mut self, queue: usize, key: u32) {
        let size = self.take(key);
        self.push(queue, key, size);
    }

    /// Gives a key in a queue another size.
    pub(super) fn resize(&mut self, key: u32, size: u32) {
        let node = &mut self.nodes[key as usize];
        let used = &mut self.used[usize::from(node.queue)];
        *used = *used - u64::from(node.size) + u64::from(size);
        node.size = size;
    }
}
