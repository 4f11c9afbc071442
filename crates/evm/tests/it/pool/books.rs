//! Random traffic in any order: the pool knows the newest state of its accounts, its books agree with its content, no
//! limit is exceeded, and every admitted transaction is mined or reported as dropped.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use alloy_primitives::{Address, B256, U256};
use esker_evm::pool::{
    AccountRead, AccountState, Admission, DropReason, DroppedTx, NewHead, Pool, PoolConfig,
    PooledTx, RefusedTxs,
};
use proptest::prelude::*;
use tokio::sync::broadcast::Receiver;

use super::{GWEI, account, next, order, pooled};

const SENDERS: u8 = 4;
const CONFIG: PoolConfig = PoolConfig {
    min_tip: 0,
    price_bump: 10,
    account_slots: 2,
    global_slots: 8,
    account_queue: 3,
    global_queue: 4,
    lifetime_ms: 40,
    max_bytes: 1 << 20,
    by_arrival: false,
    checks_balance: true,
    recent_blobs: 0,
    refused: RefusedTxs::None,
};

/// One step of some clients and a chain.
#[derive(Clone, Debug)]
enum Step {
    /// A client begins to send a transaction whose nonce is this much above the account's.
    Admit { from: u8, ahead: u64, fee: u128 },
    /// A client that is sending reads the state of the store.
    Read(usize),
    /// The pool decides on a client's transaction.
    Decide(usize),
    /// A client goes away.
    Leave(usize),
    /// A block reaches the store: it mines some of the best transactions and one that the pool never saw, and changes
    /// a balance.
    Commit { mined: usize, foreign: Option<u8>, balance: Option<(u8, u64)> },
    /// The pool settles the block.
    Settle,
    /// Accounts are read again, as after each block.
    Check,
    /// The node that decides refuses a pooled transaction.
    Withdraw(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let sender = || 1..=SENDERS;
    let balance = prop::option::of((sender(), 0u64..6));
    prop_oneof![
        6 => (sender(), 0u64..5, 1u128..40)
            .prop_map(|(from, ahead, fee)| Step::Admit { from, ahead, fee }),
        3 => (0usize..4).prop_map(Step::Read),
        6 => (0usize..4).prop_map(Step::Decide),
        1 => (0usize..4).prop_map(Step::Leave),
        2 => (0usize..5, prop::option::of(sender()), balance)
            .prop_map(|(mined, foreign, balance)| Step::Commit { mined, foreign, balance }),
        2 => Just(Step::Settle),
        1 => Just(Step::Check),
        1 => (0usize..8).prop_map(Step::Withdraw),
    ]
}

type States = BTreeMap<Address, AccountState>;

/// The accounts that a block changed, and the transactions that it mined.
type BlockEffects = (Vec<(Address, AccountState)>, BTreeSet<B256>);

/// A pool over a chain whose blocks reach the store a moment before the pool settles them.
struct World<'a> {
    pool: &'a Pool,
    sending: Vec<(Admission<'a>, Option<AccountRead>)>,
    states: States,
    height: u64,
    /// A block that the pool has not settled yet.
    unsettled: Option<BlockEffects>,
    /// Admitted transactions that are neither mined nor reported as dropped.
    promised: BTreeMap<B256, PooledTx>,
    mined: BTreeSet<B256>,
    dropped: Receiver<DroppedTx>,
    arrivals: u64,
}

impl<'a> World<'a> {
    fn new(pool: &'a Pool) -> Self {
        let rich = AccountState { nonce: 0, balance: balance(5) };
        Self {
            pool,
            sending: Vec::new(),
            states: (1..=SENDERS).map(|from| (account(from), rich)).collect(),
            height: 0,
            unsettled: None,
            promised: BTreeMap::new(),
            mined: BTreeSet::new(),
            dropped: pool.subscribe_dropped(),
            arrivals: 0,
        }
    }

    fn read(&self, tx: &PooledTx) -> AccountRead {
        AccountRead { state: self.states[&tx.sender()], height: self.height, has_code: false }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Admit { from, ahead, fee } => {
                self.arrivals += 1;
                let nonce = self.states[&account(from)].nonce + ahead;
                let tx = pooled(from, nonce, fee, self.arrivals);
                self.sending.push((self.pool.admit(tx), None));
            }
            Step::Read(at) if at < self.sending.len() => {
                let read = self.read(self.sending[at].0.tx());
                self.sending[at].1 = Some(read);
            }
            Step::Decide(at) if at < self.sending.len() => {
                let (admission, read) = self.sending.swap_remove(at);
                let tx = admission.tx().clone();
                let read = read.unwrap_or_else(|| self.read(&tx));
                if admission.decide(read, &next(), self.arrivals).is_ok() {
                    self.promised.insert(tx.hash(), tx);
                }
            }
            Step::Leave(at) if at < self.sending.len() => drop(self.sending.swap_remove(at)),
            Step::Read(_) | Step::Decide(_) | Step::Leave(_) => {}
            Step::Withdraw(at) => {
                if let Some(hash) = self.promised.keys().nth(at) {
                    let reason = DropReason::Source("no".into());
                    self.pool.withdraw(hash, reason, self.arrivals);
                }
            }
            Step::Commit { mined, foreign, balance } => self.commit(mined, foreign, balance),
            Step::Settle => self.settle(),
            Step::Check => {
                let due = self.pool.next_to_check(2);
                let accounts: Vec<_> = due.into_iter().map(|a| (a, self.states[&a])).collect();
                // The machine is then between two blocks.
                if self.unsettled.is_none() {
                    self.settle_with(&accounts);
                }
            }
        }
    }

    fn commit(&mut self, mined: usize, foreign: Option<u8>, paid: Option<(u8, u64)>) {
        self.settle();
        let mut changed = BTreeSet::new();
        let mut hashes = BTreeSet::new();
        let mut best = self.pool.best(GWEI);
        for _ in 0..mined {
            let Some(tx) = best.peek() else { break };
            let state = self.states.get_mut(&tx.sender()).unwrap();
            if tx.nonce() == state.nonce && tx.cost() <= state.balance {
                state.nonce += 1;
                state.balance -= tx.cost();
                changed.insert(tx.sender());
                hashes.insert(tx.hash());
                best.shift();
            } else {
                best.pop();
            }
        }
        if let Some(from) = foreign {
            self.states.get_mut(&account(from)).unwrap().nonce += 1;
            changed.insert(account(from));
        }
        if let Some((from, units)) = paid {
            self.states.get_mut(&account(from)).unwrap().balance = balance(units);
            changed.insert(account(from));
        }
        self.height += 1;
        self.mined.extend(&hashes);
        let changed = changed.into_iter().map(|address| (address, self.states[&address]));
        self.unsettled = Some((changed.collect(), hashes));
    }

    fn settle(&mut self) {
        if let Some((accounts, _)) = self.unsettled.take() {
            self.settle_with(&accounts);
        }
    }

    fn settle_with(&self, accounts: &[(Address, AccountState)]) {
        self.pool.settle(&NewHead {
            height: self.height,
            accounts,
            is_mined: &|hash| self.mined.contains(hash),
            gas_limit: 15_000_000,
            now_ms: self.arrivals,
        });
    }

    /// Checks that all admitted transactions are in the pool, mined, or reported as dropped.
    fn check_promises(&mut self) -> Result<(), TestCaseError> {
        while let Ok(DroppedTx { tx, reason }) = self.dropped.try_recv() {
            prop_assert!(self.pool.get(&tx.hash()).is_none(), "{reason}");
            prop_assert!(self.promised.remove(&tx.hash()).is_some(), "{reason}");
            // A replacement may come between the commit of a block and the update of the pool.
            let unsettled =
                self.unsettled.as_ref().is_some_and(|(_, hashes)| hashes.contains(&tx.hash()));
            prop_assert!(unsettled || !self.mined.contains(&tx.hash()), "{reason}");
        }
        for hash in self.promised.keys() {
            let is_here = self.pool.get(hash).is_some() || self.mined.contains(hash);
            prop_assert!(is_here, "{hash} went unnamed");
        }
        Ok(())
    }

    /// Checks that the pool's accounts are those of the store once it has settled all blocks.
    fn check_accounts(&self) -> Result<(), TestCaseError> {
        for (address, state) in &self.states {
            let own = self.pool.content_of(address);
            if own.pending.is_empty() && own.queued.is_empty() {
                prop_assert_eq!(self.pool.next_nonce(address), None);
                continue;
            }
            let nonces: Vec<u64> = own.pending.keys().copied().collect();
            let run: Vec<u64> = (state.nonce..).take(nonces.len()).collect();
            prop_assert_eq!(&nonces, &run, "pending ones follow on the account's nonce");
            let next = state.nonce + nonces.len() as u64;
            prop_assert_eq!(self.pool.next_nonce(address), Some(next));
            prop_assert!(
                own.queued.keys().all(|nonce| *nonce > next),
                "one that can run is queued"
            );
            for tx in own.pending.values().chain(own.queued.values()) {
                prop_assert!(tx.cost() <= state.balance, "nobody can pay for it");
            }
        }
        Ok(())
    }

    fn check_books(&self) -> Result<(), TestCaseError> {
        let pool = self.pool;
        let content = pool.content();
        let count = |side: &BTreeMap<Address, BTreeMap<u64, PooledTx>>| {
            side.values().map(BTreeMap::len).sum::<usize>()
        };
        let (pending, queued) = (count(&content.pending), count(&content.queued));
        prop_assert_eq!(pool.counts(), (pending, queued));
        prop_assert!(pending + queued <= 12 && queued <= 4, "{pending} {queued}");
        let mut hashes = BTreeSet::new();
        let mut bytes = 0;
        for (side, is_pending) in [(&content.pending, true), (&content.queued, false)] {
            for (owner, txs) in side {
                prop_assert!(is_pending || txs.len() <= 3);
                for (nonce, tx) in txs {
                    prop_assert_eq!((tx.sender(), tx.nonce()), (*owner, *nonce));
                    prop_assert!(hashes.insert(tx.hash()));
                    let found = pool.get(&tx.hash()).map(|(_, pending)| pending);
                    prop_assert_eq!(found, Some(is_pending));
                    bytes += tx.size();
                }
            }
        }
        prop_assert_eq!(pool.bytes(), bytes);
        let owners: BTreeSet<_> =
            content.pending.keys().chain(content.queued.keys()).copied().collect();
        prop_assert_eq!(pool.accounts(), owners.into_iter().collect::<Vec<_>>());
        for base_fee in [GWEI, 15 * GWEI] {
            prop_assert_eq!(order(pool, base_fee), sorted(&content.pending, base_fee));
        }
        Ok(())
    }
}

/// About this many times the cost of the most expensive transaction.
fn balance(units: u64) -> U256 {
    U256::from(units) * U256::from(20 * GWEI * 21_000)
}

/// The order in which a block takes transactions, computed from all accounts each time.
fn sorted(pending: &BTreeMap<Address, BTreeMap<u64, PooledTx>>, base_fee: u128) -> Vec<(u8, u64)> {
    let mut queues: HashMap<Address, Vec<&PooledTx>> = HashMap::new();
    for (owner, txs) in pending {
        queues.insert(*owner, txs.values().rev().collect());
    }
    let mut order = Vec::new();
    loop {
        let heads = queues.values().filter_map(|queue| queue.last());
        let payable = heads.filter_map(|tx| Some((tx.effective_tip(base_fee)?, tx)));
        let best = payable.max_by_key(|(tip, tx)| (*tip, std::cmp::Reverse(tx.arrival())));
        let Some((_, best)) = best else { return order };
        order.push((best.sender()[0], best.nonce()));
        let owner = best.sender();
        queues.get_mut(&owner).unwrap().pop();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_keeps_its_promises(steps in proptest::collection::vec(step(), 1..120)) {
        let pool = Pool::new(CONFIG);
        let mut world = World::new(&pool);
        for step in steps {
            world.run(step);
            world.check_books()?;
            world.check_promises()?;
            if world.unsettled.is_none() {
                world.check_accounts()?;
            }
        }
        // Clients that are still sending may have read the state long ago.
        while !world.sending.is_empty() {
            world.run(Step::Decide(0));
            world.check_books()?;
            world.check_promises()?;
            if world.unsettled.is_none() {
                world.check_accounts()?;
            }
        }
    }
}
