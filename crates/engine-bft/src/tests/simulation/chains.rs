//! The X-Chain and the C-Chain with transfers between them, under one machine on each node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use esker_chain::forward::{ExchangePools, TxKind};
use esker_chain::{Bundle, ChainVm, MachineConfig};
use esker_evm_execution::rules::ForkSchedule;
use esker_primitives::Id;
use esker_primitives::clock::ManualClock;
use esker_primitives::network::LOCAL_ID;
use esker_storage::{FailPoint, FailingStore, KvStore};
use esker_testkit::chains::any_tx::{AnyTx, Consumed, Status, What, ids_in};
use esker_testkit::chains::audit::audit;
use esker_testkit::chains::funded::OWNERS;
use esker_testkit::chains::world::{
    EASY, ONE, World, WorldParts, account, key, test_file, well_known,
};
use esker_xvm::genesis::define::{AssetDefinition, Holder, genesis};
use esker_xvm::genesis::primary::native_asset;

use super::run::START_S;
use super::scenario::{Counts, MAX_UNDECIDED, Opened, Random, Running, SEND_AGAIN, Scenario};

/// Steps in which users send transactions.
const SENDING: u64 = 90;

/// Outputs of each owner on X at the beginning, and their amount.
const OUTPUTS: usize = 6;
const AMOUNT: u64 = 10 * ONE;

/// Steps between two looks at the statuses of all transactions.
const LOOK: u64 = 10;

/// All kinds of transactions.
pub(super) const KINDS: [What; 6] = [
    What::Transfer,
    What::ExportFromX,
    What::ImportOnX,
    What::ImportOnC,
    What::ExportFromC,
    What::Send,
];

/// Rows that nodes may differ in, besides the reasons of lost transactions: when blocks were accepted, and the
/// certificates of bundles. Scope and tag.
const OWN_ROWS: [[u8; 3]; 2] = [[0, 0, 0x10], [0, 1, 0x05]];

/// The genesis of both chains: each owner has funds on X and on C.
static GENESIS: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let holders = OWNERS.flat_map(|number| {
        let address = key(number).address();
        std::iter::repeat_n(Holder { amount: AMOUNT, address }, OUTPUTS)
    });
    let asset = AssetDefinition { fixed_cap: Some(holders.collect()), ..native_asset(&[]) };
    let x = genesis(LOCAL_ID, [asset]).unwrap().to_bytes();
    let c = String::from_utf8(test_file("vectors/genesis/local-c.json")).unwrap();
    let account_of = |number| account(&key(number)).to_string();
    let balances = OWNERS.map(|number| {
        let account = account_of(number);
        format!(r#""{}":{{"balance":"0x3635c9adc5dea00000"}},"#, account.trim_start_matches("0x"))
    });
    let funded = account(&well_known()).to_string();
    let funded = format!(r#""{}""#, funded.trim_start_matches("0x"));
    let c_with = c.replacen(&funded, &(balances.collect::<String>() + &funded), 1);
    assert_ne!(c, c_with, "the genesis file has the well-known account");
    (x, c_with.into_bytes())
});

/// A transaction that a node has taken.
struct SentTx {
    tx: AnyTx,
    what: What,
    /// The step of its last submission.
    step: u64,
}

/// Real chains on each node.
pub(super) struct Chains {
    disks: Vec<Arc<FailingStore>>,
    /// The transactions in the pools of nodes that were stopped in order.
    journals: Vec<[Vec<Bytes>; 2]>,
    txs: BTreeMap<Id, SentTx>,
    /// The transactions that each node has accepted from users and not lost in a crash.
    taken: Vec<BTreeSet<Id>>,
    accepted: BTreeSet<Id>,
    consumed: BTreeMap<Consumed, Id>,
}

fn vms(world: &World) -> [Arc<dyn ChainVm>; 2] {
    [world.x.clone() as Arc<dyn ChainVm>, world.evm().clone()]
}

fn register_pools(world: &World, pools: &ExchangePools) {
    pools.register(world.x_id(), TxKind::Asset, world.x.exchange_pool());
    pools.register(world.c_id(), TxKind::Evm, world.evm().exchange_pool());
    pools.register(world.c_id(), TxKind::Atomic, world.nat.exchange_pool());
}

impl Chains {
    /// Whether an accepted transaction has made one impossible.
    fn is_impossible(&self, id: &Id) -> bool {
        let consumes = &self.txs[id].tx.consumes;
        !self.accepted.contains(id) && consumes.iter().any(|what| self.consumed.contains_key(what))
    }

    /// Whether another transaction spends the same.
    fn has_rival(&self, id: &Id) -> bool {
        let consumes = &self.txs[id].tx.consumes;
        let is_rival =
            |other: &Id, sent: &SentTx| other != id && !sent.tx.consumes.is_disjoint(consumes);
        self.txs.iter().any(|(other, sent)| is_rival(other, sent))
    }

    fn is_decided(&self, id: &Id) -> bool {
        self.accepted.contains(id) || self.is_impossible(id)
    }

    /// Gives a node a transaction, which counts if it takes it.
    fn submit(&mut self, node: usize, world: &World, (what, tx): (What, &AnyTx), step: u64) {
        if tx.submit(world) {
            self.taken[node].insert(tx.id());
            self.txs.entry(tx.id()).or_insert_with(|| SentTx { tx: tx.clone(), what, step });
        }
    }

    /// Checks the node's answer about a transaction that is accepted, impossible, or waits there.
    fn check_status(&self, node: usize, world: &World, id: &Id) {
        let tx = &self.txs[id].tx;
        let status = tx.status(world);
        let is_gone = matches!(status, Status::Lost | Status::Unknown);
        if is_gone && self.taken[node].contains(id) {
            let reason = world.nat.status(id).unwrap();
            // If several transactions spend the same UTXO, a pool may keep another one, and reports that.
            let is_explained = self.is_decided(id) || status == Status::Lost && self.has_rival(id);
            assert!(is_explained, "node {node} has lost {tx:?}: {status:?}, {reason:?}");
        }
        if status == Status::Accepted {
            assert!(self.accepted.contains(id), "node {node} says that {tx:?} is accepted");
        }
    }
}

impl Scenario for Chains {
    type Chains = World;

    fn new(stores: Vec<Arc<dyn KvStore>>) -> Self {
        let nodes = stores.len();
        Self {
            disks: stores.into_iter().map(|store| Arc::new(FailingStore::new(store))).collect(),
            journals: vec![Default::default(); nodes],
            txs: BTreeMap::new(),
            taken: vec![BTreeSet::new(); nodes],
            accepted: BTreeSet::new(),
            consumed: BTreeMap::new(),
        }
    }

    fn open(&mut self, node: usize) -> Opened<World> {
        let disk = Arc::clone(&self.disks[node]);
        disk.clear_failures();
        let (x_genesis, c_genesis) = GENESIS.clone();
        let pools = Arc::new(ExchangePools::default());
        let clock = Arc::new(ManualClock::new(START_S * 1_000));
        let machine = MachineConfig {
            check_proposals: true,
            max_undecided: MAX_UNDECIDED,
            ..MachineConfig::default()
        };
        let world = World::open(WorldParts {
            kv: disk,
            schedule: ForkSchedule::LOCAL,
            overrides: EASY,
            clock: Arc::clone(&clock),
            forwarding: None,
            exchange: Some(Arc::clone(&pools)),
            x_genesis,
            c_genesis,
            machine,
        });
        register_pools(&world, &pools);
        let waited = std::mem::take(&mut self.journals[node]);
        for (vm, txs) in vms(&world).iter().zip(waited) {
            vm.restore_txs(txs);
        }
        let machine = Arc::clone(&world.machine);
        Opened { pools, chains: world, machine, clock }
    }

    fn ended(&mut self, node: usize, world: World, in_order: bool) {
        if in_order {
            self.journals[node] = vms(&world).map(|vm| vm.waiting_txs());
        } else {
            self.taken[node].clear();
        }
    }

    fn fail_next_write(&mut self, node: usize, is_written: bool) -> bool {
        let point = if is_written { FailPoint::After } else { FailPoint::Before };
        self.disks[node].fail_nth_write(1, point);
        true
    }

    fn act(&mut self, step: u64, nodes: &Running<'_, World>, random: &mut Random) {
        if step >= SENDING {
            return self.send_again(step, nodes, random);
        }
        let what = KINDS[random.below(KINDS.len() as u64) as usize];
        let by = *OWNERS.start() + random.below(OWNERS.count() as u64) as u8;
        let choice = random.below(256) as u8;
        let [first, second] = [(); 2].map(|()| random.below(nodes.len() as u64) as usize);
        let is_sent_twice = random.below(4) == 0;
        let Some(world) = nodes[first] else { return };
        let Some(tx) = AnyTx::make(world, what, by, choice) else { return };
        self.submit(first, world, (what, &tx), step);
        if let Some(world) = nodes[second].filter(|_| is_sent_twice) {
            self.submit(second, world, (what, &tx), step);
        }
    }

    fn send_again(&mut self, step: u64, nodes: &Running<'_, World>, random: &mut Random) {
        let ids: Vec<_> = self.txs.keys().copied().collect();
        for id in ids {
            let node = random.below(nodes.len() as u64) as usize;
            let is_due = step >= self.txs[&id].step + SEND_AGAIN && !self.is_decided(&id);
            if let Some(world) = nodes[node].filter(|_| is_due)
                && let Some(sent) = self.txs.get_mut(&id)
            {
                sent.step = step;
                // Refused by a node that is behind, it is sent to another one later.
                if sent.tx.submit(world) {
                    self.taken[node].insert(id);
                }
            }
        }
    }

    fn on_final(&mut self, bundle: &Bundle, world: &World) {
        for id in ids_in(world, bundle) {
            assert!(self.accepted.insert(id), "{id} is accepted twice");
            for consumed in &self.txs[&id].tx.consumes {
                let before = self.consumed.insert(*consumed, id);
                assert_eq!(before, None, "{consumed:?} is consumed twice");
            }
        }
    }

    fn check(&mut self, step: u64, node: usize, world: &World) {
        if step.is_multiple_of(LOOK) {
            self.txs.keys().for_each(|id| self.check_status(node, world, id));
        }
    }

    fn is_complete(&self, world: &World) -> bool {
        self.txs.keys().all(|id| self.is_decided(id))
            && vms(world).iter().all(|vm| vm.stats().mempool_txs == 0)
            && world.nat.pool().is_empty()
    }

    fn finish(&self, nodes: &[&World]) -> Counts {
        let rows: Vec<_> = nodes.iter().map(|world| shared_rows(world)).collect();
        for (node, world) in nodes.iter().enumerate() {
            for (id, SentTx { tx, .. }) in &self.txs {
                self.check_status(node, world, id);
                let status = tx.status(world);
                let is_accepted = status == Status::Accepted;
                assert_eq!(is_accepted, self.accepted.contains(id), "node {node}: {tx:?}");
                assert_ne!(status, Status::Processing, "node {node}: {tx:?}");
            }
            for ((key, value), (other_key, other)) in rows[0].iter().zip(&rows[node]) {
                assert_eq!((key, value), (other_key, other), "node {node} has other rows");
            }
            assert_eq!(rows[0].len(), rows[node].len(), "node {node} has more or fewer rows");
            audit(world);
        }
        let mut counts = Counts::new();
        for (id, sent) in &self.txs {
            let result = if self.accepted.contains(id) { "accepted" } else { "impossible" };
            *counts.entry(format!("{:?} {result}", sent.what)).or_default() += 1;
        }
        counts
    }

    fn describe(&self, world: &World) -> String {
        let open: Vec<_> = self.txs.keys().filter(|id| !self.is_decided(id)).collect();
        let waiting: Vec<_> =
            open.iter().map(|id| (&self.txs[id].tx, self.txs[id].tx.status(world))).collect();
        format!(
            "{:?} in pools, undecided: {waiting:?}",
            vms(world).map(|vm| vm.stats().mempool_txs)
        )
    }
}

fn shared_rows(world: &World) -> BTreeMap<Vec<u8>, Vec<u8>> {
    world.rows_without(&OWN_ROWS)
}
