//! Attributes of a block as arguments.

use std::borrow::Cow;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use schemars::JsonSchema;

use crate::wire::{Addr, Hash, Uint64, WithdrawalMembers};

/// Go's `engine.PayloadAttributes`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(title = "attributes", rename_all = "camelCase")]
pub(super) struct PayloadAttributes {
    /// Unix s.
    pub(super) timestamp: Uint64,
    /// The result of PREVRANDAO.
    pub(super) prev_randao: Hash,
    /// Recipient of the fees.
    #[schemars(rename = "suggestedFeeRecipient")]
    pub(super) fee_recipient: Addr,
    /// Withdrawals of validators.
    pub(super) withdrawals: Option<Vec<WithdrawalMembers>>,
    /// The parent's beacon root.
    #[schemars(rename = "parentBeaconBlockRoot")]
    pub(super) beacon_root: Option<Hash>,
}

impl Argument for PayloadAttributes {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("engine.PayloadAttributes")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut timestamp, mut prev_randao, mut fee_recipient) = (None, None, None);
        let (mut withdrawals, mut beacon_root) = (None, None);
        decode_struct(
            value,
            "engine.PayloadAttributes",
            &mut [
                ("timestamp", &mut timestamp),
                ("prevRandao", &mut prev_randao),
                ("suggestedFeeRecipient", &mut fee_recipient),
                ("withdrawals", &mut withdrawals),
                ("parentBeaconBlockRoot", &mut beacon_root),
            ],
        )
        .map_err(ArgumentError::of_own_decoder)?;
        Ok(Self {
            timestamp: required(timestamp, "timestamp")?,
            prev_randao: required(prev_randao, "prevRandao")?,
            fee_recipient: required(fee_recipient, "suggestedFeeRecipient")?,
            withdrawals,
            beacon_root,
        })
    }
}

fn required<T>(member: Option<T>, name: &str) -> Result<T, ArgumentError> {
    let text = || format!("missing required field '{name}' for PayloadAttributes");
    member.ok_or_else(|| ArgumentError::text(text()))
}
