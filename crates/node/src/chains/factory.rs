//! How each kind of virtual machine becomes a chain of this node: one line a kind in [`build`].

use std::io;
use std::sync::Arc;

use esker_chain::audit::Audit;
use esker_chain::{ChainContext, ChainError, ChainVm, Maintenance};
use esker_evm::chain::Evm;
use esker_keystore::Keystore;
use esker_nat::txs::{ExtDataForm, decode_ext_data};
use esker_primitives::Randomness;
use esker_primitives::network::{MAIN_ID, TEST_ID};
use esker_xvm::block::Block;
use esker_xvm::genesis::{Genesis, primary};
use esker_xvm::{Xvm, XvmConfig};

use super::evm;
use crate::config::Config;
use crate::networks::{ChainParameters, ChainSpec, Fees};

/// A chain that this node runs. The machine sees all of them through [`ChainVm`]; what a kind has beside it
/// (threads of its own, an index) the wiring takes from here.
#[derive(Clone, Debug)]
pub enum Chain {
    /// A chain of the asset VM.
    Xvm(Arc<Xvm>),
    /// A chain of the EVM.
    Evm(Arc<Evm>),
}

impl Chain {
    /// As the machine sees it.
    pub fn vm(&self) -> Arc<dyn ChainVm> {
        match self {
            Self::Xvm(xvm) => Arc::clone(xvm) as Arc<dyn ChainVm>,
            Self::Evm(evm) => Arc::clone(evm) as Arc<dyn ChainVm>,
        }
    }

    /// As one that looks at all of its rows.
    pub fn audit(&self) -> Arc<dyn Audit> {
        match self {
            Self::Xvm(xvm) => Arc::clone(xvm) as Arc<dyn Audit>,
            Self::Evm(evm) => Arc::clone(evm) as Arc<dyn Audit>,
        }
    }

    /// Whether the reference lists transactions and vertices of such a chain too: it once was a graph.
    pub const fn was_dag(&self) -> bool {
        matches!(self, Self::Xvm(_))
    }

    /// Transactions of a block of this chain: its own, and those that it carries for other chains; `None` if it can't be
    /// read.
    pub fn count_txs(&self, block: &[u8]) -> Option<(usize, usize)> {
        match self {
            Self::Xvm(_) => Some((Block::parse(block).ok()?.txs().len(), 0)),
            Self::Evm(evm) => {
                let block = evm.params().rules.decode_block(block).ok()?;
                let atomic = decode_ext_data(&block.ext_data, ExtDataForm::Batch).ok()?;
                Some((block.transactions.len(), atomic.len()))
            }
        }
    }

    /// Starts the thread that does its slow work.
    pub fn start_maintenance(&self) -> io::Result<Maintenance> {
        match self {
            Self::Xvm(xvm) => xvm.start_maintenance(),
            Self::Evm(evm) => evm.start_maintenance(),
        }
    }
}

/// The chain of a specification. `is_known`: what the store holds of it was made with the same parameters.
pub fn build(
    spec: &ChainSpec,
    context: ChainContext,
    config: &Config,
    (keystore, randomness): (&Arc<Keystore>, &Randomness),
    is_known: bool,
) -> Result<Chain, ChainError> {
    match &spec.parameters {
        ChainParameters::Xvm(fees) => xvm(spec, fees, context, config, keystore).map(Chain::Xvm),
        ChainParameters::Evm(parameters) => {
            evm::build((spec, parameters), context, config, (keystore, randomness), is_known)
                .map(Chain::Evm)
        }
    }
}

fn xvm(
    spec: &ChainSpec,
    fees: &Fees,
    context: ChainContext,
    config: &Config,
    keystore: &Arc<Keystore>,
) -> Result<Arc<Xvm>, ChainError> {
    let fault = |error: &dyn std::fmt::Display| {
        ChainError::Genesis(format!("chain {}: {error}", spec.primary_alias()))
    };
    let genesis = Genesis::parse(&spec.genesis).map_err(|error| fault(&error))?;
    // Only the X-Chains of these two networks once were DAGs.
    let once_a_dag = [MAIN_ID, TEST_ID].contains(&context.network_id)
        && context.chain_id == config.network.x_chain().id;
    let block = match once_a_dag {
        true => primary::x_genesis_block(context.network_id, spec.id),
        false => primary::fresh_genesis_block(spec.id),
    };
    let xvm_config = XvmConfig {
        tx_fee: fees.tx_fee,
        create_asset_tx_fee: fees.create_asset_tx_fee,
        index_transactions: config.index_transactions(&spec.id),
        keystore: Arc::clone(keystore),
        ..XvmConfig::default()
    };
    Xvm::new(context, xvm_config, genesis, block).map_err(|error| fault(&error))
}
