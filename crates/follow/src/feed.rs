//! The operations that a follower needs from a source.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{Bundle, BundleId};
use esker_primitives::ChainId;
use thiserror::Error;

/// A node from which a follower takes final bundles or blocks.
#[async_trait]
pub trait Source: Send + Sync + fmt::Debug + 'static {
    /// Its address, for logs and status.
    fn name(&self) -> &str;

    /// Connects, and continues after the follower's last final bundle.
    async fn open(&self, last: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError>;

    /// The changes of the validators that it knows, from the one that begins this epoch on. They need not come all at
    /// once.
    async fn validator_changes(&self, _from: u64) -> Result<Vec<Bytes>, SourceError> {
        Ok(Vec::new())
    }
}

/// An open connection to a source. Dropping it closes the connection.
#[async_trait]
pub trait Feed: Send + 'static {
    /// The next item. Waits for it; an honest source sends [`FeedItem::Remaining`] at least every second.
    async fn next(&mut self) -> Result<FeedItem, SourceError>;
}

/// One item of a feed, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedItem {
    /// The next final bundle.
    Bundle {
        /// The bundle.
        bundle: Bundle,
        /// The proof that the bundle is final.
        proof: Option<Bytes>,
    },
    /// The next final block of a source without bundles. The follower makes a bundle of it.
    Block {
        /// The chain.
        chain: ChainId,
        /// The block, in its chain's encoding.
        bytes: Bytes,
    },
    /// Number of bundles or blocks that the source has after the items so far.
    Remaining(u64),
}

impl FeedItem {
    /// Bytes of its blocks.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Bundle { bundle, .. } => bundle.encoded_len(),
            Self::Block { bytes, .. } => bytes.len(),
            Self::Remaining(_) => 0,
        }
    }
}

/// The reason why a source can't be followed further.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SourceError {
    /// There is no connection, or it broke.
    #[error("{0}")]
    Unreachable(String),
    /// No bytes arrived for this time.
    #[error("nothing arrived for {} s", .0.as_secs_f32())]
    Stalled(Duration),
    /// Bytes arrived, but not the requested bundles.
    #[error("the source withholds: {0}")]
    Withheld(String),
    /// The source has fewer bundles than this node.
    #[error("source is behind this node: {0}")]
    Behind(String),
    /// The source does not serve this node.
    #[error("source refused: {0}")]
    Refused(String),
    /// The source ended the stream.
    #[error("source ended the stream: {0}")]
    Ended(String),
    /// The source sent data of another form.
    #[error("invalid data from source: {0}")]
    Protocol(String),
    /// A proof that its bundles are final is false, or missing for too long.
    #[error("its certificates are refused: {0}")]
    Certificate(String),
    /// Its changes of the validators are false.
    #[error("its changes of the validators are refused: {0}")]
    Changes(String),
    /// A change of the validators is valid, but this node can't store it.
    #[error("a change of the validators can't be stored: {0}")]
    Storage(String),
    /// Its snapshot of the state is wrong.
    #[error("its snapshot is wrong: {0}")]
    Snapshot(String),
    /// The source is of another network, or has other bundles at heights that are final here.
    #[error("source contradicts this node: {0}")]
    Contradiction(String),
}

impl SourceError {
    /// Whether no honest source of this network fails in this way. An operator then has to act.
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::Protocol(_)
                | Self::Contradiction(_)
                | Self::Certificate(_)
                | Self::Changes(_)
                | Self::Snapshot(_)
        )
    }
}
