//! The port of a source of AvalancheGo's blocks ([`esker_avalanchego::Source`]) to this node: reading blocks, the
//! accepted state, and the position of each chain.

use std::sync::Arc;

use bytes::Bytes;
use esker_avalanchego::{
    Accepted, BlockReader, Chain as Followed, ChainIds, Export, Import, InnerBlock, PortError,
    Shared, SharedMemory, Start,
};
use esker_chain::{ChainError, ChainVm};
use esker_evm::chain::Evm;
use esker_platform::{Block as PBlock, Exchange, Platform};
use esker_primitives::{ChainId, Id};
use esker_settings::networks::{ChainSpec, Network};
use esker_shared_memory::{SharedMemoryError, get};
use esker_storage::Store;
use esker_transactions::nat::{ExtDataForm, UnsignedAtomicTx, decode_ext_data};
use esker_transactions::xvm::Block as XBlock;
use esker_transactions::xvm::UnsignedTx;
use esker_utxo::{TransferableInput, Utxo};

use super::Chain;

/// Reads the blocks of P, X and C.
#[derive(Debug)]
pub struct FollowedBlocks(Arc<Evm>);

impl FollowedBlocks {
    /// Finds C among these chains; `None` if it is not there.
    pub fn new(chains: &[(ChainSpec, Chain)], network: &Network) -> Option<Self> {
        let c = network.evm_chain().id;
        chains.iter().find_map(|(spec, chain)| match chain {
            Chain::Evm(chain) if spec.id == c => Some(Self(Arc::clone(chain.evm()))),
            Chain::Evm(_) | Chain::Xvm(_) => None,
        })
    }

    fn read_c(&self, bytes: &[u8]) -> Result<InnerBlock, PortError> {
        let rules = &self.0.params().rules;
        let block = rules.decode_block(bytes)?;
        let mut found = InnerBlock {
            id: Id::new(rules.block_hash(&block.header).0),
            parent: Id::new(block.header.parent_hash.0),
            height: block.header.number,
            ..InnerBlock::default()
        };
        for tx in decode_ext_data(&block.ext_data, ExtDataForm::Batch)? {
            match tx.unsigned() {
                UnsignedAtomicTx::Import(import) => {
                    found.imports.extend(imports(import.source_chain, &import.imported_inputs));
                }
                UnsignedAtomicTx::Export(export) => {
                    let utxos = export.exported_utxos(tx.id());
                    found.exports.extend(exports(export.destination_chain, utxos));
                }
            }
        }
        Ok(found)
    }
}

fn read_x(bytes: &[u8]) -> Result<InnerBlock, PortError> {
    let block = XBlock::parse(bytes)?;
    let mut found = InnerBlock {
        id: block.id(),
        parent: block.parent_id(),
        height: block.height(),
        ..InnerBlock::default()
    };
    for tx in block.txs() {
        match tx.unsigned() {
            UnsignedTx::Import(import) => {
                found.imports.extend(imports(import.source_chain, &import.imported_inputs));
            }
            UnsignedTx::Export(export) => {
                found.exports.extend(exports(export.destination_chain, tx.exported_utxos()));
            }
            UnsignedTx::Base(_) | UnsignedTx::CreateAsset(_) | UnsignedTx::Operation(_) => {}
        }
    }
    Ok(found)
}

fn read_p(bytes: &[u8]) -> Result<InnerBlock, PortError> {
    let block = PBlock::parse(bytes)?;
    let (id, parent, height) = (block.id, block.parent_id, block.height);
    let mut found = InnerBlock { id, parent, height, ..InnerBlock::default() };
    for exchange in block.txs.into_iter().filter_map(|tx| tx.exchange) {
        match exchange {
            Exchange::Import { source, inputs } => found.imports.extend(imports(source, &inputs)),
            Exchange::Export { destination, utxos } => {
                found.exports.extend(exports(destination, utxos.into_iter()));
            }
        }
    }
    Ok(found)
}

fn imports(
    source: ChainId,
    inputs: &[TransferableInput],
) -> impl Iterator<Item = Import> + use<'_> {
    inputs.iter().map(move |input| Import { source, utxo: input.utxo_id })
}

fn exports(
    destination: ChainId,
    utxos: impl Iterator<Item = Utxo>,
) -> impl Iterator<Item = Export> {
    utxos.map(move |utxo| Export { destination, key: utxo.utxo_id.input_id() })
}

impl BlockReader for FollowedBlocks {
    fn read(&self, chain: Followed, block: &[u8]) -> Result<InnerBlock, PortError> {
        match chain {
            Followed::P => read_p(block),
            Followed::X => read_x(block),
            Followed::C => self.read_c(block),
        }
    }
}

/// Accepted shared memory.
#[derive(Debug)]
pub struct AcceptedMemory(pub Store);

impl SharedMemory for AcceptedMemory {
    fn contains(&self, utxo: &Shared) -> Result<bool, PortError> {
        let reader = self.0.snapshot()?;
        let key = utxo.key.as_bytes().to_vec();
        match get(reader.as_ref(), &utxo.destination, &utxo.source, &[key]) {
            Ok(_) => Ok(true),
            Err(SharedMemoryError::NotFound) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The IDs of the followed chains; `None` for a network without X, which has no AvalancheGo.
pub fn ids(network: &Network) -> Option<ChainIds> {
    Some(ChainIds { x: network.x_chain()?.id, c: network.evm_chain().id })
}

/// The position of this node: network, chains and the last accepted blocks.
pub fn start(
    (network_id, ids): (u32, ChainIds),
    chains: &[(ChainSpec, Chain)],
    p: &Platform,
    blocks: &FollowedBlocks,
    store: &Store,
) -> Result<Start, ChainError> {
    let vm = |id: ChainId| {
        let found = chains.iter().find(|(spec, _)| spec.id == id);
        found.map(|(_, chain)| chain.vm()).ok_or_else(|| {
            ChainError::Mismatch(format!("this node does not run chain {id}, which it follows"))
        })
    };
    let accepted = [
        accepted(Followed::P, p, blocks, store)?,
        accepted(Followed::X, vm(ids.x)?.as_ref(), blocks, store)?,
        accepted(Followed::C, vm(ids.c)?.as_ref(), blocks, store)?,
    ];
    Ok(Start { network_id, ids, accepted })
}

fn accepted(
    chain: Followed,
    vm: &dyn ChainVm,
    blocks: &FollowedBlocks,
    store: &Store,
) -> Result<Accepted, ChainError> {
    let reader = store.snapshot()?;
    let damaged = |reason: String| ChainError::Corrupted(format!("{chain}: {reason}"));
    let height = vm.stats().height;
    let bytes = match height {
        0 => Bytes::new(),
        _ => vm
            .block_at(reader.as_ref(), height)?
            .ok_or_else(|| damaged(format!("block {height} is missing")))?,
    };
    // P has no genesis block.
    let genesis = vm.block_at(reader.as_ref(), 0)?;
    let genesis = genesis.map(|block| blocks.read(chain, &block)).transpose();
    let genesis = genesis.map_err(|error| damaged(error.to_string()))?;
    Ok(Accepted { height, bytes, genesis: genesis.map(|block| block.id) })
}
