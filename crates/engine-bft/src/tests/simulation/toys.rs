//! Toy chains, on which users set registers.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::{ChainVm, Machine, MachineConfig};
use esker_storage::KvStore;
use esker_testkit::toy::{Toy, World};

use super::scenario::{Counts, MAX_UNDECIDED, Opened, Random, Running, SEND_AGAIN, Scenario};
use crate::tests::toy_pool;

/// Transactions of a run.
const TRANSACTIONS: u64 = 40;

/// A toy chain on each node.
pub(super) struct Toys {
    stores: Vec<Arc<dyn KvStore>>,
    /// The step of each transaction's last submission.
    sent: BTreeMap<u64, u64>,
    is_final: BTreeMap<u64, bool>,
}

impl Toys {
    /// Sends a transaction to a node, again if it is not final after a while.
    fn send(
        &mut self,
        transaction: u64,
        step: u64,
        nodes: &Running<'_, Arc<Toy>>,
        random: &mut Random,
    ) {
        let due = self.sent.get(&transaction).is_none_or(|last| step >= last + SEND_AGAIN);
        if !due || self.is_final.contains_key(&transaction) {
            return;
        }
        let node = random.below(nodes.len() as u64) as usize;
        if let Some(toy) = nodes[node] {
            toy.set(transaction, transaction + 1_000);
            self.sent.insert(transaction, step);
        }
    }
}

impl Scenario for Toys {
    type Chains = Arc<Toy>;

    fn new(stores: Vec<Arc<dyn KvStore>>) -> Self {
        Self { stores, sent: BTreeMap::new(), is_final: BTreeMap::new() }
    }

    fn open(&mut self, node: usize) -> Opened<Arc<Toy>> {
        let world = World::on(Arc::clone(&self.stores[node]));
        let toy = world.toy(1);
        toy_pool::register(&toy, &world.pools);
        let vms = vec![Arc::clone(&toy) as Arc<dyn ChainVm>];
        let config = MachineConfig {
            check_proposals: true,
            max_undecided: MAX_UNDECIDED,
            ..MachineConfig::default()
        };
        let clock = Arc::clone(&world.clock);
        let machine = Machine::open(vms, world.store, world.clock, world.work, config).unwrap();
        Opened { pools: world.pools, chains: toy, machine, clock }
    }

    fn act(&mut self, step: u64, nodes: &Running<'_, Arc<Toy>>, random: &mut Random) {
        if step.is_multiple_of(2) && step / 2 < TRANSACTIONS {
            self.send(step / 2, step, nodes, random);
        }
    }

    fn send_again(&mut self, step: u64, nodes: &Running<'_, Arc<Toy>>, random: &mut Random) {
        for transaction in 0..TRANSACTIONS {
            self.send(transaction, step, nodes, random);
        }
    }

    fn check(&mut self, step: u64, node: usize, toy: &Arc<Toy>) {
        for transaction in 0..TRANSACTIONS {
            if let Some(value) = toy.get(transaction) {
                assert_eq!(value, transaction + 1_000, "step {step}: node {node}");
                self.is_final.insert(transaction, true);
            }
        }
    }

    fn is_complete(&self, toy: &Arc<Toy>) -> bool {
        (0..TRANSACTIONS).all(|tx| toy.get(tx).is_some())
    }

    fn finish(&self, nodes: &[&Arc<Toy>]) -> Counts {
        for toy in nodes {
            assert_eq!(toy.total(), TRANSACTIONS, "each transaction once on each node");
        }
        Counts::new()
    }

    fn describe(&self, toy: &Arc<Toy>) -> String {
        format!("{} transactions", toy.total())
    }
}
