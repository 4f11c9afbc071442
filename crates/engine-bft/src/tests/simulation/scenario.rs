//! The chains of a simulation and what their users do: what differs between simulations.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::forward::ExchangePools;
use esker_chain::{Bundle, Machine};
use esker_primitives::clock::ManualClock;
use esker_storage::KvStore;

/// Undecided bundles of a machine: few, so that the limit is reached.
pub(super) const MAX_UNDECIDED: usize = 8;

/// Steps after which a transaction that is not final is sent again.
pub(super) const SEND_AGAIN: u64 = 24;

/// How often something has occurred, by its name.
pub(super) type Counts = BTreeMap<String, u64>;

/// Numbers from a seed (splitmix64).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub(super) const fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// A node's open chains.
pub(super) struct Opened<C> {
    pub(super) chains: C,
    pub(super) machine: Arc<Machine>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) pools: Arc<ExchangePools>,
}

/// The running nodes' chains, by the node's number.
pub(super) type Running<'a, C> = [Option<&'a C>];

/// Chains and users. What a node has written is kept here, and outlives the node.
pub(super) trait Scenario {
    /// A node's open chains.
    type Chains: Send;

    /// Over a new store for each node.
    fn new(stores: Vec<Arc<dyn KvStore>>) -> Self;

    /// Opens a node's chains over what it has written.
    fn open(&mut self, node: usize) -> Opened<Self::Chains>;

    /// A node was killed, or has stopped in order, which keeps what waits in its pools.
    fn ended(&mut self, _node: usize, _chains: Self::Chains, _in_order: bool) {}

    /// Lets a node's next write fail, before or after it reaches the disk, which ends its engine; false if it can't be
    /// done.
    fn fail_next_write(&mut self, _node: usize, _is_written: bool) -> bool {
        false
    }

    /// Users act, in a step of the faults.
    fn act(&mut self, step: u64, nodes: &Running<'_, Self::Chains>, random: &mut Random);

    /// Users send what is not final again.
    fn send_again(&mut self, step: u64, nodes: &Running<'_, Self::Chains>, random: &mut Random);

    /// The first node has made a bundle final.
    fn on_final(&mut self, _bundle: &Bundle, _chains: &Self::Chains) {}

    /// Checks a node after each step.
    fn check(&mut self, step: u64, node: usize, chains: &Self::Chains);

    /// Whether a node has the result of all transactions.
    fn is_complete(&self, chains: &Self::Chains) -> bool;

    /// Checks all nodes, which have the same bundles. Returns how often what a simulation is to meet has occurred.
    fn finish(&self, nodes: &[&Self::Chains]) -> Counts;

    /// The state of a node's chains, for messages.
    fn describe(&self, chains: &Self::Chains) -> String;
}
