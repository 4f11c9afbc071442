//! Names of what the transactions of a block did, for the screen.

use esker_chain::TxReport;
use esker_evm_state::state::StateView;
use esker_evm_state::types::SealedHeader;

use super::AcceptedBlock;
use super::vm::Evm;
use crate::names::Names;
use crate::view::ChainReader as _;

/// Most transactions of a block that get names.
pub(super) const MAX_TXS: usize = 10;

impl Evm {
    /// Adds names to the reports of a block's first transactions.
    pub(super) fn add_names(&self, accepted: &AcceptedBlock, reports: &mut [TxReport]) {
        if self.controls.is_none() {
            return;
        }
        let AcceptedBlock { block, hash, receipts, .. } = accepted;
        let header = SealedHeader { header: block.header.clone(), hash: *hash };
        // The block may have been taken back meanwhile.
        let Ok(state) = self.state_after(&header) else { return };
        let mut names = self.names(state.view());
        let txs = block.transactions.iter().zip(receipts).zip(reports).take(MAX_TXS);
        for ((tx, receipt), report) in txs {
            match names.of_tx(tx, receipt) {
                Ok((of_tx, target)) => {
                    report.names = of_tx;
                    report.run.get_or_insert_default().target = target;
                }
                Err(error) => tracing::debug!(%error, "cannot name what a transaction did"),
            }
        }
    }

    /// Names in this state: by artifacts on a development network, elsewhere by common standards.
    pub(super) fn names<'a>(&self, state: StateView<'a>) -> Names<'a> {
        let registry = self.controls.as_ref().map(|controls| controls.artifacts().clone());
        Names::new(registry.unwrap_or_default(), state)
    }
}
