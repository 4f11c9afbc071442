//! The pools of a node that decides together with others, which pass waiting transactions to each other.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, Id};
use thiserror::Error;
use tokio::sync::Notify;

use super::{ForwardPool, ForwardedTx, TxKind};

/// Most new transactions that are remembered until they are passed on. With more, all that waits is looked at.
const MAX_NEWS: usize = 16_384;

/// The reason why a pool does not take a transaction of another node.
#[derive(Debug, Error)]
pub enum AdmitError {
    /// No chain takes transactions of its kind.
    #[error("no chain takes it")]
    NoPool,
    /// The bytes are no transaction of the chain.
    #[error("it is no transaction: {0}")]
    Malformed(#[source] Box<dyn Error + Send + Sync>),
    /// The bytes are another transaction.
    #[error("its {name} is {found}")]
    OtherId {
        /// What the chain calls the ID of a transaction.
        name: &'static str,
        /// The ID of the bytes.
        found: String,
    },
    /// The chain or its pool refuses the transaction.
    #[error("refused: {0}")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
}

impl AdmitError {
    /// The bytes are no transaction, for this reason.
    pub fn malformed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Malformed(error.into())
    }

    /// The chain or its pool refuses the transaction, for this reason.
    pub fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Refused(error.into())
    }
}

/// A chain's pool, as far as passing transactions between nodes needs it. All calls are quick.
pub trait ExchangePool: ForwardPool {
    /// Whether the transaction waits here.
    fn is_waiting(&self, id: &Id) -> bool;

    /// A transaction that waits here.
    fn waiting(&self, id: &Id) -> Option<ForwardedTx>;

    /// Visits the IDs of waiting transactions, in the order of [`ForwardPool::visit_waiting`], until `visit` breaks.
    fn visit_waiting_ids(&self, visit: &mut dyn FnMut(Id) -> ControlFlow<()>);

    /// Takes a transaction of another node in, as if a client had sent it. One that waits here already is no error.
    ///
    /// # Errors
    /// The transaction is not taken.
    fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError>;
}

/// A pool with its chain and its kind of transactions.
type RegisteredPool = (ChainId, TxKind, Arc<dyn ExchangePool>);

/// Transactions that have joined the pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolNews {
    /// Chain, kind of the pool and ID of each, in their order.
    pub txs: Vec<(ChainId, TxKind, Id)>,
    /// Whether there were too many to remember.
    pub is_incomplete: bool,
}

/// The pools of a node's chains.
#[derive(Debug)]
pub struct ExchangePools {
    pools: Mutex<Vec<RegisteredPool>>,
    news: Mutex<PoolNews>,
    changed: Notify,
}

impl Default for ExchangePools {
    fn default() -> Self {
        Self {
            pools: Mutex::new_named("forward.exchange", Vec::new()),
            news: Mutex::new_named("forward.news", PoolNews::default()),
            changed: Notify::new(),
        }
    }
}

impl ExchangePools {
    /// Adds a chain's pool of transactions of a kind.
    pub fn register(&self, chain: ChainId, kind: TxKind, pool: Arc<dyn ExchangePool>) {
        self.pools.lock().push((chain, kind.pool(), pool));
    }

    /// A transaction has joined a chain's pool.
    pub fn announce(&self, chain: ChainId, kind: TxKind, id: Id) {
        let mut news = self.news.lock();
        match news.txs.len() < MAX_NEWS {
            true => news.txs.push((chain, kind.pool(), id)),
            false => news.is_incomplete = true,
        }
        drop(news);
        self.changed.notify_one();
    }

    /// Resolves when there is news. For one caller.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes what has joined the pools since the last call.
    pub fn take_news(&self) -> PoolNews {
        std::mem::take(&mut self.news.lock())
    }

    /// Visits chain, kind of the pool and ID of waiting transactions, pool by pool, in the order in which another node
    /// can take them, until `visit` breaks.
    pub fn visit_waiting(&self, visit: &mut dyn FnMut(ChainId, TxKind, Id) -> ControlFlow<()>) {
        let pools = self.pools.lock().clone();
        for (chain, kind, pool) in pools {
            let mut flow = ControlFlow::Continue(());
            pool.visit_waiting_ids(&mut |id| {
                flow = visit(chain, kind, id);
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

    /// A transaction that waits here.
    pub fn waiting(&self, chain: &ChainId, kind: TxKind, id: &Id) -> Option<ForwardedTx> {
        self.pool(chain, kind)?.waiting(id)
    }

    /// Like [`ExchangePool::admit`].
    ///
    /// # Errors
    /// As there, and if no chain takes the kind.
    pub fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError> {
        let pool = self.pool(&tx.chain, tx.kind).ok_or(AdmitError::NoPool)?;
        pool.admit(tx)
    }

    fn pool(&self, chain: &ChainId, kind: TxKind) -> Option<Arc<dyn ExchangePool>> {
        let pools = self.pools.lock();
        let found = pools.iter().find(|(of, held, _)| of == chain && *held == kind.pool());
        found.map(|(_, _, pool)| Arc::clone(pool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn news_wakes_and_is_bounded() {
        let pools = ExchangePools::default();
        let id = |n: usize| Id::sha256(&n.to_be_bytes());
        pools.announce(id(0), TxKind::AssetWallet, id(1));
        pools.changed().await;
        let txs = vec![(id(0), TxKind::Asset, id(1))];
        assert_eq!(pools.take_news(), PoolNews { txs, is_incomplete: false });
        assert_eq!(pools.take_news(), PoolNews::default());
        for n in 0..2 * MAX_NEWS {
            pools.announce(id(0), TxKind::Evm, id(n));
        }
        let news = pools.take_news();
        assert_eq!((news.txs.len(), news.is_incomplete), (MAX_NEWS, true));
    }
}
