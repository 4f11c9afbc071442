//! An account between two transactions of a block: `accountInfoAt`, which reth and anvil have.

use esker_rpc::{CallContext, RpcError};

use crate::error::read_error;
use crate::evm::replayed::{block_of, out_of_range, parent_of, state_before};
use crate::evm::{AccountInfoReply, TransactApi};
use crate::wire::{Addr, Big, BlockNumberOrHash, Data, HexOrDecimal, Uint64};

/// The account after the transaction of an index; `null`: there is none then.
pub(super) fn account_info_at(
    transact: &TransactApi,
    (at, HexOrDecimal(index), Addr(address)): (BlockNumberOrHash, HexOrDecimal, Addr),
    context: &CallContext,
) -> Result<Option<AccountInfoReply>, RpcError> {
    let block = block_of(&transact.reads, at)?;
    let parent = parent_of(&transact.reads, &block)?;
    let transactions = block.block.transactions.len();
    let position = usize::try_from(index).ok().filter(|position| *position < transactions);
    let position = position.ok_or_else(|| out_of_range(&block, index))?;
    state_before(transact, &block, &parent, position + 1, context, |mut state| {
        let Some(account) = state.account(address).map_err(read_error)? else { return Ok(None) };
        Ok(Some(AccountInfoReply {
            balance: Big(account.balance),
            nonce: Uint64(account.nonce),
            code: Data(state.code(address).map_err(read_error)?),
        }))
    })
}
