//! The simulated network: links that are cut and slowed down.

use std::time::Duration;

use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::simulated::{
    Config, Control, Link, Manager, Network, Oracle, Receiver, Sender,
};
use commonware_runtime::deterministic::Context;
use commonware_runtime::{Quota, Supervisor as _};
use commonware_utils::{NZU32, NZUsize, Probability, probability};

use crate::stack::Links;

const QUOTA: Quota = Quota::per_second(NZU32!(4096));

/// The links of a node in the simulation.
pub(crate) type SimulatedLinks = Links<
    Manager<PublicKey, Context>,
    Control<PublicKey, Context>,
    Sender<PublicKey, Context>,
    Receiver<PublicKey>,
>;

/// The quality of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quality {
    Good,
    /// Slow, and it loses one message of five.
    Bad,
    Cut,
}

impl Quality {
    fn link(self) -> Option<Link> {
        let link = |ms, jitter, success_rate: Probability| Link {
            latency: Duration::from_millis(ms),
            jitter: Duration::from_millis(jitter),
            success_rate,
        };
        match self {
            Self::Good => Some(link(10, 3, probability!(1.0))),
            Self::Bad => Some(link(250, 200, probability!(4, 5))),
            Self::Cut => None,
        }
    }
}

/// All links between the nodes.
#[derive(Clone)]
pub(crate) struct Wires {
    oracle: Oracle<PublicKey, Context>,
    nodes: Vec<PublicKey>,
}

impl Wires {
    pub(crate) async fn start(context: &Context, nodes: Vec<PublicKey>) -> Self {
        let config = Config {
            max_size: 32 << 20,
            max_peers_per_set: NZUsize!(8),
            disconnect_on_block: true,
            tracked_peer_sets: NZUsize!(1),
        };
        let (network, oracle) =
            Network::new_with_peers(context.child("network"), config, nodes.clone()).await;
        network.start();
        let wires = Self { oracle, nodes };
        wires.set_all(|_, _| Quality::Good).await;
        wires
    }

    /// Sets the quality of each link, both ways.
    pub(crate) async fn set_all(&self, quality: impl Fn(usize, usize) -> Quality) {
        for (from, sender) in self.nodes.iter().enumerate() {
            for (to, receiver) in self.nodes.iter().enumerate() {
                if from == to {
                    continue;
                }
                let _was_cut = self.oracle.remove_link(sender.clone(), receiver.clone()).await;
                if let Some(link) = quality(from.min(to), from.max(to)).link() {
                    self.oracle.add_link(sender.clone(), receiver.clone(), link).await.unwrap();
                }
            }
        }
    }

    /// A node's channels; those of an earlier run of the node end.
    pub(crate) async fn connect(&self, node: usize) -> SimulatedLinks {
        let control = self.oracle.control(self.nodes[node].clone());
        let channel = async |number| control.register(number, QUOTA).await.unwrap();
        SimulatedLinks {
            peers: self.oracle.manager(),
            blocker: control.clone(),
            votes: channel(0).await,
            certificates: channel(1).await,
            fetches: channel(2).await,
            bundles: channel(3).await,
            backfill: channel(4).await,
            transactions: channel(5).await,
            changes: channel(6).await,
        }
    }

    /// Pairs of nodes of which one has refused the other: nobody misbehaves here.
    pub(crate) async fn blocked(&self) -> Vec<(PublicKey, PublicKey)> {
        self.oracle.blocked().await.unwrap()
    }
}
