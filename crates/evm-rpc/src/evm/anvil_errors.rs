//! Errors of transactions and of code as anvil has them, where geth's differ (docs/from-anvil.md, "In the place of
//! anvil"): tools and tests that were made for it compare the texts.

use std::str::from_utf8;

use alloy_primitives::{U256, hex};
use esker_evm::chain::SubmitError;
use esker_evm::pool::PoolError;
use esker_evm_execution::call::{CallError, CallOutcome, RevertReason};
use esker_evm_execution::executor::{TxError, VmError};
use esker_evm_execution::simulate::SimulateError;
use esker_rpc::RpcError;

use super::running::REVERTED;
use super::transact::TransactApi;
use crate::error::submit_error;
use crate::wire::Data;

/// Code of a transaction that is refused (EIP-1474).
const REJECTED: i64 = -32003;

const FUNDS: &str = "Insufficient funds for gas * price + value";
const LOW_FEE: &str = "max fee per gas less than block base fee";
const HIGH_TIP: &str = "max priority fee per gas higher than max fee per gas";
const INIT_CODE: &str = "max initcode size exceeded";
const LAST_NONCE: &str = "nonce has max value";
const LOW_NONCE: &str = "nonce too low";

fn rejected(text: impl Into<String>) -> RpcError {
    RpcError::with_code(REJECTED, text)
}

impl TransactApi {
    /// The error of a transaction that was refused.
    pub(crate) fn submit_error(&self, error: SubmitError) -> RpcError {
        match &error {
            SubmitError::Pool(refused) if self.reads.config.anvil_answers => of_pool(refused),
            _ => submit_error(error),
        }
    }

    /// The error of bytes that are no transaction; `None`: as geth's.
    pub(super) fn undecodable(&self, bytes: &[u8]) -> Option<RpcError> {
        let text = match bytes {
            [] => "Empty transaction data",
            _ => "Failed to decode transaction",
        };
        let has_text = self.reads.config.anvil_answers;
        has_text.then(|| RpcError::with_code(RpcError::INVALID_PARAMS, text))
    }

    /// The error of an account that the node does not hold.
    pub(crate) fn no_signer(&self) -> Option<RpcError> {
        let text = "No Signer available";
        let has_text = self.reads.config.anvil_answers;
        has_text.then(|| RpcError::with_code(RpcError::INVALID_PARAMS, text))
    }

    /// The error of a call that gives no result; `None`: as geth's.
    pub(super) fn anvil_refusal(&self, error: &CallError) -> Option<RpcError> {
        if !self.reads.config.anvil_answers {
            return None;
        }
        match error {
            CallError::Refused { error, .. }
            | CallError::EstimateRefused { error, .. }
            | CallError::AccessListRefused { error, .. } => of_tx(error),
            CallError::TransactionRefused { error, .. } => of_tx(error),
            CallError::InsufficientFundsForTransfer => Some(rejected(FUNDS)),
            CallError::Allowance(gas) => {
                Some(rejected(format!("Out of gas: gas required exceeds allowance: {gas}")))
            }
            _ => None,
        }
    }

    /// As [`Self::anvil_refusal`], of calls in blocks that are not made.
    pub(super) fn anvil_simulate_refusal(&self, error: &SimulateError) -> Option<RpcError> {
        match error {
            SimulateError::Refused { error, .. } if self.reads.config.anvil_answers => of_tx(error),
            _ => None,
        }
    }

    /// The error of a call whose code failed; `None`: as geth's.
    pub(super) fn anvil_failure(&self, outcome: &CallOutcome) -> Option<RpcError> {
        if !self.reads.config.anvil_answers {
            return None;
        }
        match outcome.error.as_ref()? {
            VmError::Reverted => {
                let known = self.custom_error(&outcome.output).map(|error| error.to_string());
                let text = match known.or_else(|| revert_text(&outcome.output)) {
                    Some(reason) => format!("execution reverted: {reason}"),
                    None => "execution reverted".to_owned(),
                };
                Some(RpcError::with_code(REVERTED, text).with_data(&Data(outcome.output.clone())))
            }
            error => {
                let text = format!("EVM error {}", error.interpreter_name());
                Some(RpcError::with_code(RpcError::INTERNAL, text))
            }
        }
    }
}

/// Whether this is the error of a transaction that would fail, and not one of the node, after which it may run again.
pub(super) const fn is_of_execution(error: &RpcError) -> bool {
    matches!(error.code, REVERTED | REJECTED | RpcError::INTERNAL) && error.wait.is_none()
}

fn of_pool(error: &PoolError) -> RpcError {
    match error {
        PoolError::AlreadyKnown => rejected("transaction already imported"),
        PoolError::InitCode { .. } => rejected(INIT_CODE),
        PoolError::GasLimit { .. } => {
            RpcError::new("intrinsic gas too high -- tx.gas_limit > env.block.gas_limit")
        }
        PoolError::GasCap { .. } => {
            RpcError::new("intrinsic gas too high -- tx.gas_limit > env.cfg.tx_gas_limit_cap")
        }
        PoolError::TipAboveFeeCap => rejected(HIGH_TIP),
        PoolError::InvalidSender => rejected("invalid chain id for signer"),
        PoolError::IntrinsicGas { .. } | PoolError::FloorGas { .. } => {
            RpcError::new("intrinsic gas too low")
        }
        PoolError::NonceTooLow { .. } => rejected(LOW_NONCE),
        PoolError::BelowBaseFee { .. } => rejected(LOW_FEE),
        PoolError::NonceMax { .. } => rejected(LAST_NONCE),
        PoolError::Funds { .. } | PoolError::QueuedFunds { .. } | PoolError::BumpedFunds { .. } => {
            rejected(FUNDS)
        }
        error => rejected(error.to_string()),
    }
}

/// `None`: as geth's.
fn of_tx(error: &TxError) -> Option<RpcError> {
    let gas = |what| Some(RpcError::new(format!("intrinsic gas too high -- {what}")));
    match error {
        TxError::NonceTooHigh { .. } => Some(rejected("Nonce too high")),
        TxError::NonceTooLow { .. } => Some(rejected(LOW_NONCE)),
        TxError::NonceMax { .. } => Some(rejected(LAST_NONCE)),
        TxError::TipAboveFeeCap { .. } => Some(RpcError::with_code(
            RpcError::INVALID_PARAMS,
            "Invalid input: `max_priority_fee_per_gas` greater than `max_fee_per_gas`",
        )),
        TxError::FeeCapTooLow { .. } => Some(rejected(LOW_FEE)),
        TxError::InsufficientFunds { .. } | TxError::CostOverflow(_) => Some(rejected(FUNDS)),
        TxError::IntrinsicGas { .. } => gas("CallGasCostMoreThanGasLimit"),
        TxError::FloorGas { .. } => gas("GasFloorMoreThanGasLimit"),
        TxError::InitCodeSize { .. } => Some(rejected(INIT_CODE)),
        _ => None,
    }
}

/// What the data of a revert say; `None`: there are none.
fn revert_text(data: &[u8]) -> Option<String> {
    match RevertReason::parse(data) {
        Some(RevertReason::Text(reason)) => return Some(reason),
        Some(RevertReason::Panic(code)) => return Some(panic_text(code)),
        None => {}
    }
    let plain = from_utf8(data).ok().filter(|text| text.is_ascii() && !text.is_empty());
    if let Some(text) = plain {
        return Some(text.to_owned());
    }
    let Some((selector, rest)) = data.split_first_chunk::<4>() else {
        let bytes = || format!("custom error bytes {}", hex::encode_prefixed(data));
        return (!data.is_empty()).then(bytes);
    };
    let rest = match (rest, from_utf8(rest)) {
        ([], _) => String::new(),
        (_, Ok(text)) => format!(": {text}"),
        (_, Err(_)) => format!(": {}", hex::encode(rest)),
    };
    Some(format!("custom error {}{rest}", hex::encode_prefixed(selector)))
}

fn panic_text(code: U256) -> String {
    let meaning = match u64::try_from(code) {
        Ok(0x00) => "generic/unspecified error",
        Ok(0x01) => "assertion failed",
        Ok(0x11) => "arithmetic underflow or overflow",
        Ok(0x12) => "division or modulo by zero",
        Ok(0x21) => "failed to convert value into enum type",
        Ok(0x22) => "storage byte array incorrectly encoded",
        Ok(0x31) => "called `.pop()` on an empty array",
        Ok(0x32) => "array out-of-bounds access",
        Ok(0x41) => "memory allocation error",
        Ok(0x51) => "called an invalid internal function",
        Ok(_) | Err(_) => "unknown code",
    };
    format!("panic: {meaning} (0x{code:02x})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(data: &str) -> Option<String> {
        revert_text(&hex::decode(data).unwrap())
    }

    #[test]
    fn reverts_have_anvils_texts() {
        let word = |text: &str| format!("{text:0>64}");
        for (data, text) in [
            (String::new(), None),
            ("41424344".to_owned(), Some("ABCD")),
            ("dead".to_owned(), Some("custom error bytes 0xdead")),
            ("deadbeef".to_owned(), Some("custom error 0xdeadbeef")),
            ("deadbeef4141".to_owned(), Some("custom error 0xdeadbeef: AA")),
            ("deadbeefffff".to_owned(), Some("custom error 0xdeadbeef: ffff")),
            (format!("4e487b71{}", word("1")), Some("panic: assertion failed (0x01)")),
            (format!("4e487b71{}", word("1234")), Some("panic: unknown code (0x1234)")),
            (format!("08c379a0{}{}{:0<64}", word("20"), word("3"), "616263"), Some("abc")),
        ] {
            assert_eq!(text_of(&data).as_deref(), text, "{data}");
        }
    }
}
