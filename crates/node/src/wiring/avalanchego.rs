//! An AvalancheGo node as the source of a follower: its index API, read by [`esker_avalanchego`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use esker_avalanchego as avalanchego;
use esker_avalanchego::{Chain as Followed, ChainIds, IndexClient, Step, Waiting};
use esker_chain::{BundleId, ChainVm};
use esker_follow::{Feed, FeedItem, Source, SourceError};
use esker_outbound::{Dialer, SourceUrl};
use esker_platform::Platform;
use esker_primitives::ChainId;
use esker_settings::networks::{ChainSpec, Network, P_CHAIN_ID};
use esker_storage::Store;

use crate::chains::Chain;
use crate::chains::followed::{self, AcceptedMemory, FollowedBlocks};

/// Time between two polls of indexes without new containers, since the node sends no notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time between two checks of the blocks that this node has accepted, while the most blocks that are allowed are
/// handed out.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(2);
/// Time between two reports of the remaining blocks.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Time that a block may wait for its imports before the log reports it.
const STUCK: Duration = Duration::from_secs(10);

/// The parts that every source of this node reads.
pub(super) struct FollowedNode {
    pub(super) network: Network,
    pub(super) ids: ChainIds,
    pub(super) chains: Vec<(ChainSpec, Chain)>,
    pub(super) p: Arc<Platform>,
    pub(super) store: Store,
}

impl FollowedNode {
    /// Height of the last accepted block of a followed chain.
    fn height(&self, chain: Followed) -> u64 {
        let id = self.id(chain);
        let of = |(spec, chain): &(ChainSpec, Chain)| (spec.id == id).then(|| chain.vm().stats());
        match chain {
            Followed::P => self.p.stats().height,
            Followed::X | Followed::C => {
                self.chains.iter().find_map(of).map_or(0, |stats| stats.height)
            }
        }
    }

    fn id(&self, chain: Followed) -> ChainId {
        match chain {
            Followed::P => P_CHAIN_ID,
            Followed::X | Followed::C => self.ids.id_of(chain),
        }
    }
}

/// An AvalancheGo node.
pub(super) struct AvalancheGoSource {
    name: String,
    url: SourceUrl,
    dialer: Dialer,
    node: Arc<FollowedNode>,
}

impl AvalancheGoSource {
    pub(super) fn new(url: SourceUrl, dialer: Dialer, node: Arc<FollowedNode>) -> Self {
        Self { name: url.to_string(), url, dialer, node }
    }
}

impl fmt::Debug for AvalancheGoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AvalancheGoSource").field(&self.name).finish()
    }
}

#[async_trait]
impl Source for AvalancheGoSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn open(&self, _: (u64, BundleId)) -> Result<Box<dyn Feed>, SourceError> {
        let node = Arc::clone(&self.node);
        let FollowedNode { network, ids, chains, p, store } = &*node;
        let here = |error: &dyn fmt::Display| SourceError::Unreachable(error.to_string());
        let blocks = FollowedBlocks::new(chains, network)
            .ok_or_else(|| here(&"this node does not run the C-Chain"))?;
        let start =
            followed::start((network.id, *ids), chains, p, &blocks, store).map_err(|e| here(&e))?;
        let client = IndexClient::new(self.url.clone(), self.dialer.clone());
        let source = avalanchego::Source::open(client, blocks, start).await.map_err(fault)?;
        let memory = AcceptedMemory(store.clone());
        Ok(Box::new(AvalancheGoFeed { source, memory, node, reported: None, blocked: None }))
    }
}

/// Its blocks.
struct AvalancheGoFeed {
    source: avalanchego::Source<FollowedBlocks>,
    memory: AcceptedMemory,
    node: Arc<FollowedNode>,
    /// Time of the last report of the remaining blocks to the follower.
    reported: Option<Instant>,
    /// Time since which a block waits for its imports, and whether the log has reported it.
    blocked: Option<(Instant, bool)>,
}

impl AvalancheGoFeed {
    /// Whether a report is due. If so, the caller makes it now.
    fn is_report_due(&mut self) -> bool {
        let is_due = self.reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL);
        if is_due {
            self.reported = Some(Instant::now());
        }
        is_due
    }

    /// Logs a block that waits for too long.
    fn note_blocked(&mut self, waiting: &Waiting) {
        let Some(first) = waiting.blocked.first() else {
            self.blocked = None;
            return;
        };
        let (since, is_logged) = self.blocked.get_or_insert_with(|| (Instant::now(), false));
        if !*is_logged && since.elapsed() >= STUCK {
            *is_logged = true;
            tracing::warn!(%first, "a block of the source waits for what it imports");
        }
    }
}

#[async_trait]
impl Feed for AvalancheGoFeed {
    async fn next(&mut self) -> Result<FeedItem, SourceError> {
        loop {
            for chain in Followed::ALL {
                self.source.accepted(chain, self.node.height(chain));
            }
            let waiting = match self.source.next(&self.memory).await.map_err(fault)? {
                Step::Block(block) => {
                    self.blocked = None;
                    let chain = self.node.id(block.chain);
                    return Ok(FeedItem::Block { chain, bytes: block.bytes });
                }
                Step::Wait(waiting) => waiting,
            };
            if let Some((chain, total)) = waiting.behind {
                return Err(SourceError::Behind(format!("its {chain} has {total} blocks")));
            }
            if waiting.is_full {
                tokio::time::sleep(ACCEPT_INTERVAL).await;
                continue;
            }
            self.note_blocked(&waiting);
            if self.is_report_due() {
                return Ok(FeedItem::Remaining(waiting.blocked.len() as u64));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// The follower's error for a failure of the source.
fn fault(error: avalanchego::SourceError) -> SourceError {
    let text = error.to_string();
    match error {
        avalanchego::SourceError::Behind { .. } => SourceError::Behind(text),
        error if error.is_temporary() => SourceError::Unreachable(text),
        avalanchego::SourceError::Client(_) => SourceError::Protocol(text),
        avalanchego::SourceError::Feed(_)
        | avalanchego::SourceError::Order(_)
        | avalanchego::SourceError::Network { .. }
        | avalanchego::SourceError::ChainId { .. } => SourceError::Contradiction(text),
    }
}
