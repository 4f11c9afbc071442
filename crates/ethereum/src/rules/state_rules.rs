//! Changes of the state that no transaction makes.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, Bytes, U256};
use esker_evm_execution::executor::StateOverlay;
use esker_evm_execution::rules::{
    BlockEnd, BlockPoint, BlockRewards, BlockStepError, BlockSupply, HeaderRules, RunningBlock,
    StateRules, SystemCalls,
};
use esker_evm_state::not_fetched::NotFetched;
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Block, Header, Receipt};

use super::error::StepError;
use super::ethereum::EthereumRules;
use crate::forks::Fork;
use crate::ommers::{Mined, rewards};
use crate::system::{
    Credit, DRAINED, REFUND, SYSTEM_ADDRESS, SystemCall, begin_calls, deposit_request, request,
    request_calls, requests_hash, withdrawals,
};

/// Makes a call at the beginning of a block. The block continues whatever its outcome.
fn begin_call(call: SystemCall, calls: &mut dyn SystemCalls<'_>) -> Result<(), StateError> {
    if !calls.state().code(call.address)?.is_empty() {
        let _outcome = calls.system_call(SYSTEM_ADDRESS, call.address, call.input, call.gas)?;
    }
    Ok(())
}

impl StateRules for EthereumRules {
    fn apply_forks(
        &self,
        from: &BlockPoint,
        to: &BlockPoint,
        state: &mut StateOverlay<'_>,
    ) -> Result<(), StateError> {
        if from.number < to.number && self.config.is_dao_block(to.number) {
            for address in DRAINED {
                let amount = state.balance(address)?;
                let refund = state.balance(REFUND)?.saturating_add(amount);
                state.set_balance(REFUND, refund)?;
                state.set_balance(address, U256::ZERO)?;
            }
        }
        Ok(())
    }

    fn begin_block(
        &self,
        block: &RunningBlock<'_>,
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<(), BlockStepError> {
        let beacon_root = block.beacon_root.unwrap_or_default();
        for call in begin_calls(self.fork(&block.point), beacon_root, block.parent_hash) {
            match begin_call(call, calls) {
                // The slot follows from the block's time and height. A fork without a source has few of them.
                Err(error) if error.not_fetched().is_some_and(NotFetched::is_final) => {}
                called => called?,
            }
        }
        Ok(())
    }

    fn end_block(
        &self,
        block: &RunningBlock<'_>,
        receipts: &[Receipt],
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<BlockEnd, BlockStepError> {
        let fork = self.fork(&block.point);
        let end = match fork >= Fork::Prague {
            true => {
                let requests = self.requests(fork, receipts, calls)?;
                BlockEnd { requests_hash: Some(requests_hash(&requests)), requests }
            }
            false => BlockEnd::default(),
        };
        let point = &block.point;
        let header = (point.number, block.coinbase);
        let uncles = block.uncles;
        for payment in credits(fork, point.is_merged, header, uncles, block.withdrawals) {
            credit(calls.state(), &payment)?;
        }
        Ok(end)
    }

    fn rewards(&self, block: &Block) -> BlockRewards {
        let header = &block.header;
        let point = BlockPoint::of(header);
        if header.number == 0 || point.is_merged {
            return BlockRewards::default();
        }
        let mined = (header.number, header.coinbase);
        let paid = credits(self.fork(&point), point.is_merged, mined, &block.uncles, None);
        // The maker of the block comes last.
        let own = paid.split_last();
        BlockRewards {
            block: own.map_or(U256::ZERO, |(maker, _)| maker.amount),
            uncles: own.map_or(&[][..], |(_, uncles)| uncles).iter().map(|paid| paid.amount).sum(),
        }
    }

    fn supply(&self, block: &Block) -> BlockSupply {
        let header = &block.header;
        // The first block pays nobody.
        if header.number == 0 {
            return BlockSupply::default();
        }
        let point = BlockPoint::of(header);
        let mined = (header.number, header.coinbase);
        let withdrawals = block.withdrawals.as_deref();
        let paid = credits(self.fork(&point), point.is_merged, mined, &block.uncles, withdrawals);
        let base_fees = header.base_fee.unwrap_or_default() * U256::from(header.gas_used);
        let blob_gas = U256::from(header.blob_gas_used.unwrap_or(0));
        BlockSupply {
            created: paid.iter().map(|payment| payment.amount).sum(),
            burnt: base_fees + self.blob_base_fee(header) * blob_gas,
        }
    }
}

impl EthereumRules {
    /// The requests of a block, in the order of their types.
    fn requests(
        &self,
        fork: Fork,
        receipts: &[Receipt],
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<Vec<Bytes>, BlockStepError> {
        let logs = receipts.iter().flat_map(|receipt| &receipt.logs);
        let deposits =
            deposit_request(self.config.deposit_contract, logs).map_err(StepError::from)?;
        let mut requests: Vec<Bytes> = deposits.into_iter().collect();
        for asked in request_calls(fork) {
            let call = asked.call;
            if calls.state().code(call.address)?.is_empty() {
                return Err(StepError::NoContract.into());
            }
            let outcome = calls.system_call(SYSTEM_ADDRESS, call.address, call.input, call.gas)?;
            if !outcome.success {
                return Err(StepError::Call.into());
            }
            requests.extend(request(asked.request_type, &outcome.output));
        }
        Ok(requests)
    }
}

/// Rewards, or withdrawals from the merge on. `block` is its height and the recipient of its reward.
fn credits(
    fork: Fork,
    is_merged: bool,
    (number, coinbase): (u64, Address),
    uncles: &[Header],
    paid_out: Option<&[Withdrawal]>,
) -> Vec<Credit> {
    if is_merged {
        return withdrawals(paid_out.unwrap_or_default());
    }
    let ommer = |header: &Header| Mined { number: header.number, coinbase: header.coinbase };
    rewards(fork, Mined { number, coinbase }, uncles.iter().map(ommer))
}

/// Pays an account. A payment of nothing removes an empty account (EIP-161).
fn credit(state: &mut StateOverlay<'_>, credit: &Credit) -> Result<(), StateError> {
    if credit.amount.is_zero() {
        return state.clear_if_empty(credit.address);
    }
    let balance = state.balance(credit.address)?;
    state.set_balance(credit.address, balance.saturating_add(credit.amount))
}
