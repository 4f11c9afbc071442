//! Builds chains by the kind of their virtual machine: one line per kind in [`build`].

use std::io;
use std::sync::Arc;

use esker_chain::audit::Audit;
use esker_chain::forward::TxKind;
use esker_chain::{ChainContext, ChainError, ChainVm, Maintenance};
use esker_evm::chain::Evm;
use esker_evm::control::Controls;
use esker_primitives::network::{MAIN_ID, TEST_ID};
use esker_settings::config::Config;
use esker_settings::networks::{ChainParameters, ChainSpec, Fees};
use esker_transactions::xvm::Block;
use esker_xvm::genesis::{Genesis, primary};
use esker_xvm::{Xvm, XvmConfig};

use super::evm;
use super::evm_chain::EvmChain;
use super::parts::ChainInputs;
use crate::taken_over::TakenOver;

/// A chain of this node. The machine uses only [`ChainVm`]. The wiring needs the kind for further parts (threads, an
/// index).
#[derive(Clone, Debug)]
pub enum Chain {
    /// A chain of the asset VM.
    Xvm(Arc<Xvm>),
    /// A chain of the EVM.
    Evm(EvmChain),
}

impl Chain {
    /// The chain as the machine's trait object.
    pub fn vm(&self) -> Arc<dyn ChainVm> {
        match self {
            Self::Xvm(xvm) => Arc::clone(xvm) as Arc<dyn ChainVm>,
            Self::Evm(chain) => Arc::clone(chain.evm()) as Arc<dyn ChainVm>,
        }
    }

    /// The chain, if it is one of the EVM.
    pub(crate) fn evm(&self) -> Option<&Arc<Evm>> {
        match self {
            Self::Xvm(_) => None,
            Self::Evm(chain) => Some(chain.evm()),
        }
    }

    /// What the chain took over from another network's chain.
    pub(crate) fn taken_over(&self) -> Option<TakenOver> {
        match self {
            Self::Xvm(xvm) => xvm.takeover().map(|takeover| TakenOver::of(takeover)),
            Self::Evm(_) => None,
        }
    }

    /// The controls, of an EVM chain of a development node.
    pub(crate) fn controls(&self) -> Option<&Arc<Controls>> {
        self.evm().and_then(|evm| evm.controls())
    }

    /// The chain as the auditor's trait object.
    pub fn audit(&self) -> Arc<dyn Audit> {
        match self {
            Self::Xvm(xvm) => Arc::clone(xvm) as Arc<dyn Audit>,
            Self::Evm(chain) => Arc::clone(chain.evm()) as Arc<dyn Audit>,
        }
    }

    /// Whether the reference also indexes transactions and vertices of this chain, because it was a DAG.
    pub const fn was_dag(&self) -> bool {
        matches!(self, Self::Xvm(_))
    }

    /// Number of transactions in a block of this chain, including atomic ones. `None` if the block can't be decoded.
    pub fn count_txs(&self, block: &[u8]) -> Option<(usize, usize)> {
        match self {
            Self::Xvm(_) => Some((Block::parse(block).ok()?.txs().len(), 0)),
            Self::Evm(chain) => chain.count_txs(block),
        }
    }

    /// Starts the chain's maintenance thread.
    pub fn start_maintenance(&self) -> io::Result<Maintenance> {
        match self {
            Self::Xvm(xvm) => xvm.start_maintenance(),
            Self::Evm(chain) => chain.evm().start_maintenance(),
        }
    }
}

/// Builds the chain of a specification. `is_known`: the stored rows of the chain were made with the same parameters.
pub fn build(
    spec: &ChainSpec,
    context: ChainContext,
    config: &Config,
    inputs: ChainInputs<'_>,
    is_known: bool,
) -> Result<Chain, ChainError> {
    match &spec.parameters {
        ChainParameters::Xvm(fees) => {
            let exchange = context.exchange.clone();
            let xvm = xvm((spec, fees), context, config, inputs)?;
            if let Some(pools) = exchange {
                pools.register(spec.id, TxKind::Asset, xvm.exchange_pool());
            }
            Ok(Chain::Xvm(xvm))
        }
        ChainParameters::Evm(parameters) => {
            evm::build((spec, parameters), context, config, inputs, is_known).map(Chain::Evm)
        }
    }
}

fn xvm(
    (spec, fees): (&ChainSpec, &Fees),
    context: ChainContext,
    config: &Config,
    inputs: ChainInputs<'_>,
) -> Result<Arc<Xvm>, ChainError> {
    let fault = |error: &dyn std::fmt::Display| {
        ChainError::Genesis(format!("chain {}: {error}", spec.primary_alias()))
    };
    let genesis = Genesis::parse(&spec.genesis).map_err(|error| fault(&error))?;
    // Only the X-Chains of these two networks were DAGs.
    let once_a_dag = [MAIN_ID, TEST_ID].contains(&context.network_id)
        && config.network.x_chain().is_some_and(|chain| context.chain_id == chain.id);
    let block = match once_a_dag {
        true => primary::x_genesis_block(context.network_id, spec.id),
        false => primary::fresh_genesis_block(spec.id),
    };
    let xvm_config = XvmConfig {
        tx_fee: fees.tx_fee,
        create_asset_tx_fee: fees.create_asset_tx_fee,
        index_transactions: config.index_transactions(&spec.id),
        keystore: Arc::clone(inputs.keystore),
        takeover: inputs.takeover.cloned(),
        ..XvmConfig::default()
    };
    Xvm::new(context, xvm_config, genesis, block).map_err(|error| fault(&error))
}
