//! The pools of a node that decides together with others, which pass waiting transactions to each other.

use std::ops::ControlFlow;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};

use super::{ForwardPool, ForwardedTx, TxKind};

/// A chain's pool, as far as passing transactions between nodes needs it. All calls are quick.
pub trait ExchangePool: ForwardPool {
    /// Whether the transaction waits here.
    fn is_waiting(&self, id: &Id) -> bool;

    /// Takes a transaction of another node in, as if a client had sent it. One that waits here already is no error.
    ///
    /// # Errors
    /// The transaction is refused, with the reason.
    fn admit(&self, tx: &ForwardedTx) -> Result<(), String>;
}

/// A pool with its chain and its kind of transactions.
type RegisteredPool = (ChainId, TxKind, Arc<dyn ExchangePool>);

/// The pools of a node's chains.
#[derive(Debug)]
pub struct ExchangePools(Mutex<Vec<RegisteredPool>>);

impl Default for ExchangePools {
    fn default() -> Self {
        Self(Mutex::new_named("forward.exchange", Vec::new()))
    }
}

impl ExchangePools {
    /// Adds a chain's pool of transactions of a kind.
    pub fn register(&self, chain: ChainId, kind: TxKind, pool: Arc<dyn ExchangePool>) {
        self.0.lock().push((chain, kind.pool(), pool));
    }

    /// Visits waiting transactions, pool by pool, in the order in which another node can take them, until `visit`
    /// breaks.
    pub fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        let pools = self.0.lock().clone();
        for (_, _, pool) in pools {
            let mut flow = ControlFlow::Continue(());
            pool.visit_waiting(&mut |tx| {
                flow = visit(tx);
                flow
            });
            if flow.is_break() {
                return;
            }
        }
    }

    /// Whether this node has no use for a transaction: it waits here, a block holds it, or no chain takes its kind.
    pub fn is_known(&self, chain: &ChainId, kind: TxKind, id: &Id) -> bool {
        self.pool(chain, kind).is_none_or(|pool| pool.is_waiting(id) || pool.is_in_block(id))
    }

    /// As [`ExchangePool::admit`].
    ///
    /// # Errors
    /// As there, and if no chain takes the kind.
    pub fn admit(&self, tx: &ForwardedTx) -> Result<(), String> {
        let pool = self.pool(&tx.chain, tx.kind).ok_or("no chain takes it")?;
        pool.admit(tx)
    }

    fn pool(&self, chain: &ChainId, kind: TxKind) -> Option<Arc<dyn ExchangePool>> {
        let pools = self.0.lock();
        let found = pools.iter().find(|(of, held, _)| of == chain && *held == kind.pool());
        found.map(|(_, _, pool)| Arc::clone(pool))
    }
}
