//! Withdrawals of validators (EIP-4895).

use std::borrow::Cow;

use alloy_eips::eip4895::Withdrawal;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Addr, Uint64};

/// A withdrawal, as argument and as reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Withdrawal", title = "withdrawal")]
pub struct WithdrawalMembers {
    /// Its number.
    pub index: Uint64,
    /// The validator.
    pub validator_index: Uint64,
    /// Who gets it.
    pub address: Addr,
    /// Gwei.
    pub amount: Uint64,
}

impl From<&Withdrawal> for WithdrawalMembers {
    fn from(withdrawal: &Withdrawal) -> Self {
        Self {
            index: Uint64(withdrawal.index),
            validator_index: Uint64(withdrawal.validator_index),
            address: Addr(withdrawal.address),
            amount: Uint64(withdrawal.amount),
        }
    }
}

impl From<WithdrawalMembers> for Withdrawal {
    fn from(members: WithdrawalMembers) -> Self {
        let WithdrawalMembers { index, validator_index, address, amount } = members;
        Self {
            index: index.0,
            validator_index: validator_index.0,
            address: address.0,
            amount: amount.0,
        }
    }
}

impl Argument for WithdrawalMembers {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.Withdrawal")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut members = Self::default();
        decode_struct(
            value,
            "types.Withdrawal",
            &mut [
                ("index", &mut members.index),
                ("validatorIndex", &mut members.validator_index),
                ("address", &mut members.address),
                ("amount", &mut members.amount),
            ],
        )?;
        Ok(members)
    }
}
