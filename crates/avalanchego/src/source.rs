//! A followed node: its three indexes as one stream of blocks.

use bytes::Bytes;
use esker_primitives::BlockId;
use thiserror::Error;

use crate::block::{Block, BlockReader, Blocked, Chain, ChainIds};
use crate::chain_feed::{ChainFeed, FeedError};
use crate::client::{Containers, IndexClient, MAX_ANSWER_LEN, MAX_PAGE};
use crate::error::ClientError;
use crate::order::{Next, Order, OrderError, SharedMemory};

/// Containers that the first request of a chain asks for.
const FIRST_PAGE: u64 = 32;

/// The last accepted block of a chain at this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its height.
    pub height: u64,
    /// Its bytes; of height 0 they are not looked at.
    pub bytes: Bytes,
    /// ID of the genesis block, if it is known.
    pub genesis: Option<BlockId>,
}

/// The node's side of a start.
#[derive(Clone, Debug)]
pub struct Start {
    /// ID of the network.
    pub network_id: u32,
    /// The chains' IDs.
    pub ids: ChainIds,
    /// The last accepted blocks of P, X and C.
    pub accepted: [Accepted; 3],
}

/// The result of [`Source::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next block.
    Block(Block),
    /// Nothing now: ask again later.
    Wait(Waiting),
}

/// The reason why there is no block now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Blocks whose imports are not there; empty if the node has nothing new.
    pub blocked: Vec<Blocked>,
    /// A chain of the node that has fewer blocks than this node, with that number.
    pub behind: Option<(Chain, u64)>,
    /// The blocks that were handed out have to be accepted first.
    pub is_full: bool,
}

/// The reason why a node can't be followed, or not now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// A request failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A container is refused.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The chains contradict each other.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The node is one of another network.
    #[error("wrong network: the source has {found}, this node has {expected}")]
    Network {
        /// The node's.
        found: u32,
        /// This node's.
        expected: u32,
    },
    /// A chain is another one.
    #[error("wrong {chain}: the source has {found}, this node has {expected}")]
    ChainId {
        /// The chain.
        chain: Chain,
        /// The node's.
        found: esker_primitives::ChainId,
        /// This node's.
        expected: esker_primitives::ChainId,
    },
    /// The node has not come to this node's last block.
    #[error("the {chain} of the source has {total} blocks, that of this node has {height}")]
    Behind {
        /// The chain.
        chain: Chain,
        /// Containers in the node's index.
        total: u64,
        /// This node's height.
        height: u64,
    },
}

impl SourceError {
    /// Whether it may pass without a change by somebody.
    #[must_use]
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Client(error) => error.is_temporary(),
            Self::Behind { .. } => true,
            Self::Feed(_) | Self::Order(_) | Self::Network { .. } | Self::ChainId { .. } => false,
        }
    }
}

/// A followed node.
#[derive(Debug)]
pub struct Source<R> {
    client: IndexClient,
    reader: R,
    order: Order,
    feeds: [Feed; 3],
    /// The reason why the last request failed, until what came before is handed out.
    failed: Option<SourceError>,
}

#[derive(Debug)]
struct Feed {
    chain: Chain,
    position: ChainFeed,
    /// Containers of the next request.
    page: u64,
}

/// The result of one request.
enum FetchResult {
    Blocks,
    Nothing { total: u64 },
}

impl<R: BlockReader> Source<R> {
    /// Checks that the node is one of the same network with the same chains, and that its containers at this node's
    /// heights hold this node's blocks.
    ///
    /// # Errors
    /// [`SourceError::is_temporary`] says whether it can be tried again.
    pub async fn open(
        mut client: IndexClient,
        reader: R,
        start: Start,
    ) -> Result<Self, SourceError> {
        let Start { network_id, ids, accepted } = start;
        let found = client.network_id().await?;
        if found != network_id {
            return Err(SourceError::Network { found, expected: network_id });
        }
        for chain in [Chain::X, Chain::C] {
            let (found, expected) = (client.blockchain_id(chain).await?, ids.id_of(chain));
            if found != expected {
                return Err(SourceError::ChainId { chain, found, expected });
            }
        }
        let [p, x, c] = accepted;
        let feeds = [
            Feed::open(Chain::P, p, &mut client, &reader).await?,
            Feed::open(Chain::X, x, &mut client, &reader).await?,
            Feed::open(Chain::C, c, &mut client, &reader).await?,
        ];
        Ok(Self { client, reader, order: Order::new(ids), feeds, failed: None })
    }

    /// The next block, in an order in which each finds what it imports. Waits for answers of the node only, never for
    /// new blocks. The blocks before a container that is refused come first, those of the other chains too.
    ///
    /// # Errors
    /// After a temporary one the next call goes on. After another the node can't be followed any more.
    pub async fn next(&mut self, memory: &dyn SharedMemory) -> Result<Step, SourceError> {
        let mut behind = None;
        loop {
            let blocked = match self.order.next(memory)? {
                Next::Block(block) => return Ok(Step::Block(block)),
                Next::Full => {
                    return Ok(Step::Wait(Waiting { is_full: true, ..Waiting::default() }));
                }
                Next::Blocked(blocked) => blocked,
            };
            match self.failed.take() {
                Some(error) if error.is_temporary() => return Err(error),
                Some(error) => {
                    self.failed = Some(error.clone());
                    return Err(error);
                }
                None => {}
            }
            let mut has_new = false;
            for feed in &mut self.feeds {
                if !self.order.has_room(feed.chain) {
                    continue;
                }
                match feed.fetch(&mut self.client, &self.reader, &mut self.order).await {
                    Ok(FetchResult::Blocks) => has_new = true,
                    Ok(FetchResult::Nothing { total }) if total < feed.position.next_index() => {
                        behind = Some((feed.chain, total));
                    }
                    Ok(FetchResult::Nothing { .. }) => {}
                    Err(error) => {
                        // Without a connection the other chains would fail alike.
                        let is_last = error.is_temporary();
                        (self.failed, has_new) = (Some(error), true);
                        if is_last {
                            break;
                        }
                    }
                }
            }
            if !has_new {
                return Ok(Step::Wait(Waiting { blocked, behind, is_full: false }));
            }
        }
    }

    /// The blocks of a chain up to that height are accepted by this node.
    pub fn accepted(&mut self, chain: Chain, height: u64) {
        self.order.accepted(chain, height);
    }

    /// Asks the node whether P has accepted the transaction that a block waits for, although P's index does not have it
    /// (yet). Its exports still come from P's blocks alone, so that none is applied twice.
    pub async fn has_source(&mut self, blocked: &Blocked) -> Result<bool, SourceError> {
        if blocked.source != Chain::P {
            return Ok(false);
        }
        Ok(self.client.p_tx(&blocked.tx_id).await?.is_some())
    }
}

impl Feed {
    async fn open(
        chain: Chain,
        accepted: Accepted,
        client: &mut IndexClient,
        reader: &dyn BlockReader,
    ) -> Result<Self, SourceError> {
        let Accepted { height, bytes, genesis } = accepted;
        let Some(index) = height.checked_sub(1) else {
            return Ok(Self {
                chain,
                position: ChainFeed::start(chain, genesis),
                page: FIRST_PAGE,
            });
        };
        let found = match client.containers(chain, index, 1).await? {
            Containers::Some(found) => found,
            Containers::None { total } => return Err(SourceError::Behind { chain, total, height }),
        };
        let Some(container) = found.first() else {
            return Err(SourceError::Behind { chain, total: 0, height });
        };
        let given = (container.id, container.bytes.as_ref());
        let position = ChainFeed::resume(chain, height, &bytes, given, reader)?;
        Ok(Self { chain, position, page: FIRST_PAGE })
    }

    /// One request; asks for less as long as the answer is too long.
    async fn fetch(
        &mut self,
        client: &mut IndexClient,
        reader: &dyn BlockReader,
        order: &mut Order,
    ) -> Result<FetchResult, SourceError> {
        let found = loop {
            let index = self.position.next_index();
            match client.containers(self.chain, index, self.page).await {
                Err(ClientError::TooLong { .. }) if self.page > 1 => self.page /= 2,
                found => break found?,
            }
        };
        let containers = match found {
            Containers::None { total } => return Ok(FetchResult::Nothing { total }),
            Containers::Some(containers) => containers,
        };
        let bytes: usize = containers.iter().map(|container| container.bytes.len()).sum();
        for container in containers {
            order.push(self.position.take(container.id, &container.bytes, reader)?);
        }
        // In hexadecimal twice as long: the double page would fill half of the limit.
        if bytes < MAX_ANSWER_LEN / 8 {
            self.page = self.page.saturating_mul(2).min(MAX_PAGE);
        }
        Ok(FetchResult::Blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::InnerBlock;
    use crate::error::PortError;

    /// An engine awaits these calls on any thread.
    #[test]
    fn calls_may_move_between_threads() {
        fn is_send<T: Send>(_: impl FnOnce() -> T) {}
        fn of<R: BlockReader>(
            source: &mut Source<R>,
            client: IndexClient,
            (reader, start): (R, Start),
            memory: &dyn SharedMemory,
            blocked: &Blocked,
        ) {
            is_send(|| Source::open(client, reader, start));
            is_send(|| source.next(memory));
            is_send(|| source.has_source(blocked));
        }
        // The check is the compiler's.
        let _of = of::<Never>;
    }

    #[derive(Debug)]
    struct Never;

    impl BlockReader for Never {
        fn read(&self, chain: Chain, _: &[u8]) -> Result<InnerBlock, PortError> {
            Err(chain.to_string().into())
        }
    }
}
