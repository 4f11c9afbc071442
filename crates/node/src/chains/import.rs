//! Blocks that somebody brings, to the machine of a running node.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{Bundle, ChainMachine as _, FinalizeError, Machine};
use esker_evm_rpc::{BlockImporter, ImportError};
use esker_primitives::ChainId;
use esker_primitives::clock::Clock;

/// The machine of a node that decides alone, once it is open: chains are made before it. It stays empty where other
/// nodes decide too, and in commands on a stopped node's folder.
#[derive(Debug, Default)]
pub struct MachineSlot(OnceLock<Weak<Machine>>);

impl MachineSlot {
    /// Sets the machine; the first call counts.
    pub fn set(&self, machine: &Arc<Machine>) {
        // A second call is a defect of the wiring that changes nothing.
        let _already = self.0.set(Arc::downgrade(machine));
    }

    fn get(&self) -> Option<Arc<Machine>> {
        self.0.get().and_then(Weak::upgrade)
    }
}

/// Brings blocks of one chain.
#[derive(Debug)]
pub(super) struct Importer {
    pub(super) chain: ChainId,
    pub(super) machine: Arc<MachineSlot>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Importer {
    /// One bundle a block, on top of a bundle of this height.
    fn bundles(&self, parent: &Bundle, blocks: Vec<Bytes>) -> Vec<(Bundle, Option<Bytes>)> {
        let timestamp_ms = self.clock.now_ms().max(parent.timestamp_ms);
        let (mut height, mut id) = (parent.height, parent.id());
        let bundle = |block| {
            height += 1;
            let version = Bundle::VERSION;
            let blocks = vec![(self.chain, block)];
            let bundle = Bundle { version, parent: id, height, timestamp_ms, blocks };
            id = bundle.id();
            (bundle, None)
        };
        blocks.into_iter().map(bundle).collect()
    }
}

#[async_trait]
impl BlockImporter for Importer {
    async fn import(&self, blocks: Vec<Bytes>) -> Result<(), ImportError> {
        let machine = self.machine.get().ok_or(ImportError::NotAlone)?;
        let refused = |error: &dyn std::fmt::Display| ImportError::Refused(error.to_string());
        let (height, last) = machine.last_final();
        let parent = machine.bundle_at(height).map_err(|error| refused(&error))?;
        let Some((parent, _)) = parent.filter(|(parent, _)| parent.id() == last) else {
            return Err(ImportError::Overtaken);
        };
        // The machine verifies what it does not know, in the same call: the engine's bundles come before or after.
        let done = machine.finalize_all(self.bundles(&parent, blocks)).await;
        match done {
            Ok(()) => Ok(()),
            // The engine was faster, or some of the blocks are final.
            Err(_) if machine.last_final().1 != last => Err(ImportError::Overtaken),
            Err(FinalizeError::Invalid(reason) | FinalizeError::NotYet { reason, .. }) => {
                Err(ImportError::Refused(reason))
            }
            Err(error) => Err(refused(&error)),
        }
    }
}
