//! The identity and the resources of a chain.

use std::fmt;
use std::sync::Arc;

use esker_primitives::clock::Clock;
use esker_primitives::keys::Signature;
use esker_primitives::{AssetId, ChainId, Id, address};
use esker_storage::{Scope, Store};
use tokio::sync::Notify;

use crate::block_waits::BlockWaits;
use crate::forward::{ExchangePools, ForwardError, ForwardPermit, Forwarding, SendAnswer, TxKind};
use crate::impersonations::{Impersonations, NotImpersonated};

/// Chain aliases: from alias to blockchain ID and back. Aliases may be added while the node runs.
pub trait Aliases: Send + Sync + fmt::Debug {
    /// The chain of an alias, or of the text of a known blockchain ID.
    fn lookup(&self, alias_or_id: &str) -> Option<ChainId>;

    /// The first alias registered for a chain: the prefix of its addresses.
    fn primary_alias(&self, chain: &ChainId) -> Option<String>;

    /// All aliases of a chain in the order of their registration, its ID's text included.
    fn aliases(&self, chain: &ChainId) -> Vec<String>;
}

/// Fixed aliases, for chains that run without a node.
#[derive(Clone, Debug, Default)]
pub struct FixedAliases(pub Vec<(&'static str, ChainId)>);

impl Aliases for FixedAliases {
    fn lookup(&self, text: &str) -> Option<ChainId> {
        self.0.iter().find(|(name, id)| *name == text || id.to_string() == text).map(|(_, id)| *id)
    }

    fn primary_alias(&self, chain: &ChainId) -> Option<String> {
        self.0.iter().find(|(_, id)| id == chain).map(|(name, _)| (*name).to_owned())
    }

    fn aliases(&self, chain: &ChainId) -> Vec<String> {
        let names = self.0.iter().filter(|(_, id)| id == chain).map(|(name, _)| (*name).to_owned());
        let mut names: Vec<_> = names.collect();
        if !names.is_empty() {
            names.push(chain.to_string());
        }
        names
    }
}

/// Identity and resources of one chain; cheap to clone.
#[derive(Clone, Debug)]
pub struct ChainContext {
    /// ID of the network, which transactions contain.
    pub network_id: u32,
    /// Human-readable part of the network's addresses.
    pub hrp: String,
    /// ID of this chain: the hash of the transaction that created it.
    pub chain_id: ChainId,
    /// The scope of this chain's rows in the store.
    pub scope: Scope,
    /// The network's native asset; of an EVM chain the asset that is its coin (docs/decisions.md, "Coins of further
    /// EVM chains").
    pub native_asset_id: AssetId,
    /// Aliases of that asset in arguments (docs/decisions.md, "Native asset aliases").
    pub native_aliases: Vec<String>,
    /// Aliases of all chains.
    pub aliases: Arc<dyn Aliases>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The node's store: snapshots to read, one writer.
    pub store: Store,
    /// The chains with which assets can be exchanged; the P-Chain has the zero ID.
    pub peers: Arc<Vec<ChainId>>,
    /// Notified when this chain has work for a block.
    pub work: Arc<Notify>,
    /// The nodes to which transactions of clients are passed on, besides this chain's pool; `None` on a node that
    /// decides itself.
    pub forwarding: Option<Arc<Forwarding>>,
    /// The pools whose transactions go to the other validators; `None` on a node that is none.
    pub exchange: Option<Arc<ExchangePools>>,
    /// Sends that wait for their block; `None` on a node that answers them at once.
    pub block_waits: Option<Arc<BlockWaits>>,
    /// The addresses for which this node signs without a key; `None` on a network whose transactions have signatures only.
    pub impersonations: Option<Arc<Impersonations>>,
}

impl ChainContext {
    /// The prefix of this chain's addresses: its first alias, or its ID where it has none.
    pub fn primary_alias(&self) -> String {
        self.aliases.primary_alias(&self.chain_id).unwrap_or_else(|| self.chain_id.to_string())
    }

    /// Whether an address may stand in place of a signature.
    pub const fn allows_impersonation(&self) -> bool {
        self.impersonations.is_some()
    }

    /// Checks that the addresses in place of signatures, if the network allows them, are impersonated now.
    ///
    /// # Errors
    /// One is not.
    pub fn check_impersonated<'a>(
        &self,
        signatures: impl IntoIterator<Item = &'a Signature>,
    ) -> Result<(), NotImpersonated> {
        let missing = self.impersonations.as_ref().and_then(|known| known.missing(signatures));
        missing.map_or(Ok(()), |address| {
            let address = address::format(&self.primary_alias(), &self.hrp, &address);
            Err(NotImpersonated { address })
        })
    }

    /// A transaction has joined one of this chain's pools.
    pub fn announce(&self, kind: TxKind, id: Id) {
        if let Some(pools) = &self.exchange {
            pools.announce(self.chain_id, kind, id);
        }
    }

    /// Reserves capacity for a transaction that a client sends, before it is checked.
    ///
    /// # Errors
    /// The node is read-only, or too many transactions wait for the source's answer.
    pub fn reserve_forward(&self) -> Result<ForwardPermit, ForwardError> {
        self.forwarding.as_ref().map_or_else(|| Ok(ForwardPermit::default()), |to| to.reserve())
    }

    /// The answer to a send whose transaction this node decides on: where sends wait for their block, and the next block
    /// can have the transaction (`is_waiting`), once it is there.
    pub fn answer_with_block(&self, tx: Id, is_waiting: impl Fn() -> bool) -> SendAnswer {
        let waits = self.block_waits.as_ref();
        waits
            .and_then(|waits| waits.begin(tx, is_waiting))
            .map_or(SendAnswer::Now, SendAnswer::Block)
    }

    /// Whether clients may send transactions at all: methods that send ask before they look at their arguments.
    ///
    /// # Errors
    /// The node is read-only.
    pub fn check_sending(&self) -> Result<(), ForwardError> {
        match &self.forwarding {
            Some(forwarding) if forwarding.is_read_only() => Err(ForwardError::ReadOnly),
            Some(_) | None => Ok(()),
        }
    }
}
