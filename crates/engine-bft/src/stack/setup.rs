//! The parts that the stages of a start share, and the settings of the library's parts.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use commonware_broadcast::buffered;
use commonware_consensus::marshal;
use commonware_consensus::marshal::resolver::p2p as resolver;
use commonware_consensus::simplex::elector::RoundRobin;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::{Activity, Context};
use commonware_consensus::simplex::{self, ForwardPolicy, SkipBudget, SkipPolicy};
use commonware_consensus::types::{Epoch, ViewDelta};
use commonware_consensus::{CertifiableAutomaton, Relay, Reporter};
use commonware_cryptography::ed25519::PublicKey;
use commonware_cryptography::{Digested, Sha256};
use commonware_p2p::{Blocker, Provider};
use commonware_parallel::Sequential;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_utils::{NZU64, NZUsize, NonZeroDuration};
use esker_chain::ChainMachine;
use esker_validators::Timings;
use esker_validators::journal::VOTES;

use super::origin::{Deliveries, Votes};
use crate::block::{BundleBlock, Digest, MAX_NETWORK_BUNDLE};
use crate::changes::{ChangeState, Epochs, Schemes};
use crate::finalizer::MAX_PENDING;
use crate::shared::Shared;
use crate::store::{BUFFER, FinalBundles, SECTION};

/// Messages that wait inside a part.
const MAILBOX: NonZeroUsize = NZUsize!(1024);

/// Bundles of one sender that are kept until they are asked for.
const BUNDLES_OF_A_PEER: usize = 16;

/// Rounds below the final one of which votes and bundles are kept.
const KEPT_ROUNDS: u64 = 64;

/// Heights that are fetched from peers at a time.
const MAX_REPAIR: NonZeroUsize = NZUsize!(32);

/// Delay before a peer is asked again.
const FETCH_RETRY: Duration = Duration::from_millis(100);

/// The parts that the stages of a start share.
pub(super) struct Setup<E> {
    pub(super) me: PublicKey,
    pub(super) epoch: u64,
    pub(super) scheme: Scheme,
    pub(super) schemes: Schemes,
    pub(super) changes: Arc<ChangeState>,
    pub(super) timings: Timings,
    pub(super) fetch_timeout: NonZeroDuration,
    pub(super) machine: Arc<dyn ChainMachine>,
    pub(super) shared: Arc<Shared>,
    pub(super) finals: Arc<FinalBundles<E>>,
    pub(super) cache: CacheRef,
    /// Begins the names of the files.
    pub(super) partition: String,
}

impl<E> Setup<E> {
    /// Settings of the dissemination of bundles.
    pub(super) fn broadcast<P>(&self, peers: P) -> buffered::Config<PublicKey, usize, P, Sequential>
    where
        P: Provider<PublicKey = PublicKey>,
    {
        buffered::Config {
            public_key: self.me.clone(),
            mailbox_size: MAILBOX,
            deque_size: BUNDLES_OF_A_PEER,
            priority: true,
            codec_config: MAX_NETWORK_BUNDLE,
            peer_provider: peers,
            strategy: Sequential,
        }
    }

    /// Settings of what fetches missing bundles.
    pub(super) fn backfill<P, B>(&self, peers: P, blocker: B) -> resolver::Config<PublicKey, P, B>
    where
        P: Provider<PublicKey = PublicKey>,
        B: Blocker<PublicKey = PublicKey>,
    {
        resolver::Config {
            public_key: self.me.clone(),
            peer_provider: peers,
            blocker,
            mailbox_size: MAILBOX,
            fetch_timeout: self.fetch_timeout,
            fetch_retry_delay: FETCH_RETRY,
            priority_requests: false,
            priority_responses: false,
        }
    }

    /// Settings of marshal, which delivers final bundles in order.
    pub(super) fn marshal(
        &self,
        start: Deliveries,
    ) -> marshal::Config<Schemes, Epochs, Sequential, BundleBlock, Digested<BundleBlock>> {
        let partition = &self.partition;
        marshal::Config {
            provider: self.schemes.clone(),
            epocher: Epochs::agreed(Arc::clone(&self.changes)),
            start,
            partition_prefix: format!("{partition}marshal"),
            mailbox_size: MAILBOX,
            view_retention: ViewDelta::new(KEPT_ROUNDS),
            prunable_items_per_section: NZU64!(SECTION),
            page_cache: self.cache.clone(),
            replay_buffer: BUFFER,
            key_write_buffer: BUFFER,
            value_write_buffer: BUFFER,
            block_codec_config: MAX_NETWORK_BUNDLE,
            max_repair: MAX_REPAIR,
            max_pending_acks: NZUsize!(MAX_PENDING),
            strategy: Sequential,
        }
    }

    /// Settings of the votes of this epoch.
    pub(super) fn votes<B, A, F>(
        &self,
        blocker: B,
        automaton: A,
        reporter: F,
        floor: Votes,
    ) -> simplex::Config<Scheme, RoundRobin<Sha256>, B, Digest, A, A, F, Sequential>
    where
        B: Blocker<PublicKey = PublicKey>,
        A: CertifiableAutomaton<Context = Context<Digest, PublicKey>> + Relay,
        F: Reporter<Activity = Activity<Scheme, Digest>>,
    {
        let (partition, epoch) = (&self.partition, self.epoch);
        simplex::Config {
            scheme: self.scheme.clone(),
            elector: RoundRobin::<Sha256>::default(),
            blocker,
            relay: automaton.clone(),
            automaton,
            reporter,
            track_historical_votes: false,
            strategy: Sequential,
            partition: match epoch {
                0 => format!("{partition}{VOTES}"),
                _ => format!("{partition}{VOTES}-{epoch}"),
            },
            mailbox_size: MAILBOX,
            epoch: Epoch::new(epoch),
            floor,
            replay_buffer: BUFFER,
            write_buffer: BUFFER,
            page_cache: self.cache.clone(),
            leader_timeout: self.timings.leader,
            certification_timeout: self.timings.certification,
            timeout_retry: self.timings.retry,
            view_retention: ViewDelta::new(KEPT_ROUNDS),
            skip: SkipPolicy::Enabled {
                timeout: self.timings.skip,
                budget: SkipBudget::Participants,
            },
            fetch_timeout: self.fetch_timeout,
            fetch_retry_delay: FETCH_RETRY,
            forward: ForwardPolicy::SilentVoters,
        }
    }
}
