//! The calls and events of the transactions of a block, for the screen.

use esker_chain::TxReport;
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::trace::{BlockReplay, BufferOutput, ReplayEnv, TreeTracer};
use esker_evm_state::state::StateError;
use esker_evm_state::types::SealedHeader;
use esker_primitives::plain_text;
use thiserror::Error;

use super::AcceptedBlock;
use super::names::MAX_TXS;
use super::vm::Evm;
use crate::call_lines::{MAX_LINE, lines};
use crate::view::{ChainReader as _, ViewError};

/// Most gas of a block whose transactions are traced.
const MAX_GAS: u64 = 100_000_000;
/// Most bytes that code takes meanwhile.
const MAX_MEMORY: u64 = 64 << 20;

/// Why the calls of a block are not shown.
#[derive(Debug, Error)]
enum TreeError {
    /// Its transactions used too much.
    #[error("the block used {0} gas, more than {MAX_GAS}")]
    Gas(u64),
    /// Its parent is not there.
    #[error("the parent of the block is not there")]
    NoParent,
    /// The state can't be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The same.
    #[error(transparent)]
    State(#[from] StateError),
    /// Code can't run again.
    #[error(transparent)]
    Trace(#[from] esker_evm_execution::trace::TraceError),
}

impl Evm {
    /// Adds their calls to the reports of a block's first transactions.
    pub(super) fn add_call_lines(&self, accepted: &AcceptedBlock, reports: &mut [TxReport]) {
        if accepted.block.transactions.is_empty() {
            return;
        }
        match self.call_lines(accepted) {
            Ok(all) => reports.iter_mut().zip(all).for_each(|(tx, lines)| tx.calls = lines),
            Err(error) => {
                if let Some(first) = reports.first_mut() {
                    first.calls = vec![plain_text(&format!("(not shown: {error})"), MAX_LINE)];
                }
            }
        }
    }

    fn call_lines(&self, accepted: &AcceptedBlock) -> Result<Vec<Vec<String>>, TreeError> {
        let AcceptedBlock { block, hash, receipts, .. } = accepted;
        let header = &block.header;
        if header.gas_used > MAX_GAS {
            return Err(TreeError::Gas(header.gas_used));
        }
        let parent = header.number.checked_sub(1).ok_or(TreeError::NoParent)?;
        let parent = self.header_at(parent)?.filter(|found| found.hash == header.parent_hash);
        let parent = parent.ok_or(TreeError::NoParent)?;
        let (before, after) = (
            self.state_after(&parent)?,
            self.state_after(&SealedHeader { header: header.clone(), hash: *hash })?,
        );
        let hashes = |number: u64| Ok(self.hash_at(number).ok().flatten());
        let bounds = Bounds { memory: Some(MAX_MEMORY), ..Bounds::default() };
        let env = ReplayEnv { chain: self.params(), view: before.view(), hashes: &hashes, bounds };
        let mut out = BufferOutput::new(0);
        let mut replay = BlockReplay::new(&env, &parent.header, header, &mut out)?;
        let mut names = self.names(after.view());
        let mut all = Vec::new();
        let txs = block.transactions.iter().zip(receipts).enumerate().take(MAX_TXS);
        for (index, (tx, receipt)) in txs {
            let (tracer, tree) = TreeTracer::new();
            replay.trace(tx, Some(receipt.from), *hash, index, Box::new(tracer))?;
            all.push(lines(&mut names, &tree.borrow())?);
        }
        Ok(all)
    }
}
