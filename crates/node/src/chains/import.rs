//! Blocks that somebody brings, to the machine of a running node.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{ChainMachine as _, FinalizeError, Machine};
use esker_evm_rpc::{BlockImporter, ImportError};
use esker_primitives::ChainId;

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
}

#[async_trait]
impl BlockImporter for Importer {
    async fn import(&self, blocks: Vec<Bytes>) -> Result<(), ImportError> {
        let machine = self.machine.get().ok_or(ImportError::NotAlone)?;
        let refused = |error: &dyn std::fmt::Display| ImportError::Refused(error.to_string());
        let (_, last) = machine.last_final();
        let blocks = blocks.into_iter().map(|block| (self.chain, block)).collect();
        // One call: the engine's bundles come before or after.
        let done = machine.finalize_blocks(&last, blocks).await;
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
