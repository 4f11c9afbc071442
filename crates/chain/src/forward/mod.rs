//! The port through which transactions of clients reach the node that decides on them, for a node that decides nothing
//! itself (docs/protocol/bundles.md, "Followers").
//!
//! A chain checks a transaction and takes it into its pool as always. [`Forwarding`] then passes it to a
//! [`TxForwarder`], and a refusal takes it out of the pool again. It decides nothing about transactions, knows no
//! network, and is absent ([`crate::ChainContext::forwarding`]) on a node that decides itself.

mod exchange;
mod resubmit;
mod scripted;
mod service;

use std::fmt;
use std::ops::ControlFlow;

use async_trait::async_trait;
use bytes::Bytes;
use esker_primitives::{ChainId, Id};
use thiserror::Error;

pub use exchange::{AdmitError, ExchangePool, ExchangePools, PoolNews};
pub use resubmit::{ResubmitRound, ResubmitTask};
pub use scripted::ScriptedForwarder;
pub use service::{ForwardLimits, ForwardPermit, Forwarding, SendAnswer, SourceAnswer, Submission};

/// The method by which a transaction is submitted to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxKind {
    /// `xvm.issueTx`
    Asset,
    /// `wallet.issueTx`: one that spends outputs of transactions that are not accepted yet.
    AssetWallet,
    /// `nat.issueTx`
    Atomic,
    /// `evm_sendRawTransaction`
    Evm,
}

impl TxKind {
    /// The kind by which the pool of such transactions is registered.
    pub const fn pool(self) -> Self {
        match self {
            Self::Asset | Self::AssetWallet => Self::Asset,
            Self::Atomic => Self::Atomic,
            Self::Evm => Self::Evm,
        }
    }
}

/// A signed transaction that goes to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedTx {
    /// Its chain.
    pub chain: ChainId,
    /// How it is submitted.
    pub kind: TxKind,
    /// Its ID, or its hash on an EVM chain.
    pub id: Id,
    /// The argument of that method, before it is encoded as text: the codec's bytes, or the envelope of an EVM
    /// transaction.
    pub bytes: Bytes,
}

/// Passes transactions on to the node that decides.
#[async_trait]
pub trait TxForwarder: Send + Sync + fmt::Debug + 'static {
    /// Whether nothing is passed on. Such a node refuses transactions before it looks at them.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Passes on a transaction that this node has checked. Returns when the source has it in its pool. Dropping the
    /// future cancels the call.
    async fn forward(&self, tx: ForwardedTx) -> Result<(), ForwardError>;
}

/// Passes nothing on: a read-only node.
#[derive(Clone, Copy, Debug)]
pub struct ReadOnlyForwarder;

#[async_trait]
impl TxForwarder for ReadOnlyForwarder {
    fn is_read_only(&self) -> bool {
        true
    }

    async fn forward(&self, _: ForwardedTx) -> Result<(), ForwardError> {
        Err(ForwardError::ReadOnly)
    }
}

/// The reason why a transaction is not in a source's pool, or may not be. Clients see the texts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ForwardError {
    /// The source's own answer.
    #[error("{message}")]
    Refused {
        /// Its JSON-RPC code.
        code: i64,
        /// Its text.
        message: String,
    },
    /// This node passes no transactions on.
    #[error("this node is read-only: send transactions to another node")]
    ReadOnly,
    /// No source took the call.
    #[error("no source is reachable ({0}): try again, or send the transaction to another node")]
    Unreachable(String),
    /// The source took the call and did not answer.
    #[error(
        "the source has not answered within {0} ms and may have the transaction: look for it before you send it again"
    )]
    TimedOut(u128),
    /// The connection to a source broke after the call was sent.
    #[error(
        "the source's answer was lost ({0}) and it may have the transaction: look for it before you send it again"
    )]
    Lost(String),
    /// Transactions of this node's pool that it depends on were not accepted in time.
    #[error("the transactions before this one are not accepted yet: try again")]
    DependenciesPending,
    /// The maximum number of transactions waits for the source's answer.
    #[error("{0} transactions wait for the source's answer already: try again")]
    Busy(usize),
}

impl ForwardError {
    /// The reason why a transaction left the pool, for its status.
    pub fn reason(&self) -> String {
        match self {
            Self::Refused { message, .. } => format!("refused by the source: {message}"),
            Self::ReadOnly
            | Self::Unreachable(_)
            | Self::TimedOut(_)
            | Self::Lost(_)
            | Self::DependenciesPending
            | Self::Busy(_) => self.to_string(),
        }
    }

    /// Whether the source has the transaction in its pool already. Of the methods only `evm_sendRawTransaction` refuses
    /// for that reason, with this text.
    fn is_already_known(&self) -> bool {
        matches!(self, Self::Refused { message, .. } if message == "already known")
    }

    /// Whether submitting the transaction again can't succeed.
    const fn is_permanent(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::ReadOnly => true,
            Self::Unreachable(_)
            | Self::TimedOut(_)
            | Self::Lost(_)
            | Self::DependenciesPending
            | Self::Busy(_) => false,
        }
    }
}

/// A chain's pool, as far as forwarding needs it. All calls are quick.
pub trait ForwardPool: Send + Sync + fmt::Debug + 'static {
    /// Whether an accepted block holds the transaction, or one that is being decided on.
    fn is_in_block(&self, id: &Id) -> bool;

    /// Whether transactions wait here that the source must have in its pool, or accepted, before this one.
    fn has_pending_dependencies(&self, _id: &Id) -> bool {
        false
    }

    /// Removes a waiting transaction that the source does not have, with those that depend on it, and records why.
    fn withdraw(&self, id: &Id, error: &ForwardError);

    /// Visits waiting transactions in the order in which a source accepts them, until `visit` breaks. No lock is held
    /// while it is called.
    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>);
}
