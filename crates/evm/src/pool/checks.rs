//! Checks of a transaction that do not need the pool.

use alloy_consensus::Transaction as _;
use alloy_primitives::{U256, U512};
use esker_evm_execution::executor::{floor_gas, has_warp_predicate, intrinsic_gas};
use esker_evm_execution::rules::ExecutionRules;
use esker_evm_state::types::Transaction;

use super::{BLOB_SIZE, MAX_TX_SIZE, PoolConfig, PoolError, PooledTx};

/// Parameters of the next block.
#[derive(Clone, Copy, Debug)]
pub struct NextBlock {
    /// How transactions run in it.
    pub rules: ExecutionRules,
    /// Gas of a block.
    pub gas_limit: u64,
    /// Its base fee, wei.
    pub base_fee: u128,
    /// The least base fee that the rules allow, wei.
    pub min_base_fee: u128,
}

/// Checks 2 to 7: before the sender is recovered, which is costly.
pub fn before_recovery(tx: &Transaction, size: usize, next: &NextBlock) -> Result<(), PoolError> {
    if !next.rules.has_transaction_type(tx.tx_type() as u8) {
        return Err(PoolError::TypeNotSupported);
    }
    let limit = max_size(tx, &next.rules);
    if size > limit {
        return Err(PoolError::Oversized { size, limit });
    }
    let (size, limit) = (tx.input().len(), next.rules.max_init_code());
    if tx.is_create() && size > limit {
        return Err(PoolError::InitCode { size, limit });
    }
    if let Some(cap) = next.rules.max_tx_gas().filter(|cap| tx.gas_limit() > *cap) {
        return Err(PoolError::GasCap { cap, gas: tx.gas_limit() });
    }
    if tx.gas_limit() > next.gas_limit {
        return Err(PoolError::GasLimit { gas: tx.gas_limit(), limit: next.gas_limit });
    }
    if tx.max_priority_fee_per_gas().is_some_and(|tip| tip > tx.max_fee_per_gas()) {
        return Err(PoolError::TipAboveFeeCap);
    }
    if tx.access_list().is_some_and(|list| has_warp_predicate(&next.rules, list)) {
        return Err(PoolError::WarpPredicate);
    }
    if tx.authorization_list().is_some_and(<[_]>::is_empty) {
        return Err(PoolError::NoAuthorizations);
    }
    Ok(())
}

/// The longest transaction of this type, with its sidecar, bytes.
fn max_size(tx: &Transaction, rules: &ExecutionRules) -> usize {
    let limits = rules.blobs.filter(|_| tx.is_eip4844());
    let most = limits.map_or(0, |limits| limits.most_of_a_transaction());
    let blobs = usize::try_from(most).unwrap_or(usize::MAX);
    MAX_TX_SIZE.saturating_add(blobs.saturating_mul(BLOB_SIZE))
}

/// Checks 9 to 11.
pub(super) fn after_recovery(
    tx: &PooledTx,
    config: &PoolConfig,
    next: &NextBlock,
) -> Result<(), PoolError> {
    let (sender, gas) = (tx.sender(), tx.tx().gas_limit());
    let list = tx.tx().access_list().cloned().unwrap_or_default();
    let (rules, input) = (&next.rules, tx.tx().input());
    let authorizations = tx.tx().authorization_list().map_or(0, <[_]>::len);
    let needed = intrinsic_gas(rules, input, tx.tx().is_create(), &list, authorizations);
    if gas < needed {
        return Err(PoolError::IntrinsicGas { sender, gas, needed });
    }
    let needed = floor_gas(rules, input);
    if gas < needed {
        return Err(PoolError::FloorGas { gas, needed });
    }
    let (tip, needed) = (tx.tip_cap(), config.min_tip);
    if tip < needed {
        return Err(PoolError::TipUnderpriced { tip, needed });
    }
    // A development node may set the base fee of the next block below the minimum.
    let least = next.min_base_fee.min(next.base_fee);
    let (fee_cap, needed) = (tx.fee_cap(), least);
    if fee_cap < needed {
        return Err(PoolError::FeeCapUnderpriced { sender, fee_cap, needed });
    }
    if tx.nonce() == u64::MAX {
        return Err(PoolError::NonceMax { sender });
    }
    Ok(())
}

/// Why a transaction with so high a value is refused: checks 9 to 13 with `value` instead of the transaction's own.
pub fn refuse_value(
    tx: &PooledTx,
    value: U512,
    state: &AccountState,
    config: &PoolConfig,
    next: &NextBlock,
) -> PoolError {
    if let Err(error) = after_recovery(tx, config, next) {
        return error;
    }
    if tx.nonce() < state.nonce {
        return PoolError::NonceTooLow { next: state.nonce, nonce: tx.nonce() };
    }
    PoolError::Funds { balance: state.balance, cost: tx.cost_of(value) }
}

/// Nonce and balance of an account, for checks 12 to 14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountState {
    /// Next nonce.
    pub nonce: u64,
    /// Wei.
    pub balance: U256,
}

/// An account as it was read from the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountRead {
    /// The state of the account.
    pub state: AccountState,
    /// Height of the block after which the account had this state.
    pub height: u64,
    /// Whether the account has code: it delegates to a contract (EIP-7702).
    pub has_code: bool,
}

impl AccountState {
    /// Checks a transaction. `queued` is the cost of the account's pending transactions, `replaced` the transaction
    /// with the same nonce. Without `checks_balance` only the nonce counts.
    pub(super) fn check(
        &self,
        tx: &PooledTx,
        queued: U256,
        replaced: Option<U256>,
        checks_balance: bool,
    ) -> Result<(), PoolError> {
        let (nonce, next, balance, cost) = (tx.nonce(), self.nonce, self.balance, tx.cost());
        if nonce < next {
            return Err(PoolError::NonceTooLow { next, nonce });
        }
        if !checks_balance {
            return Ok(());
        }
        if cost > balance {
            return Err(PoolError::Funds {
                balance,
                cost: tx.cost_of(U512::from(tx.tx().value())),
            });
        }
        match replaced {
            Some(old) => {
                let bump = cost.saturating_sub(old);
                if queued.saturating_add(bump) > balance {
                    return Err(PoolError::BumpedFunds { balance, queued, bump });
                }
            }
            None if queued.saturating_add(cost) > balance => {
                return Err(PoolError::QueuedFunds { balance, queued, cost });
            }
            None => {}
        }
        Ok(())
    }
}
