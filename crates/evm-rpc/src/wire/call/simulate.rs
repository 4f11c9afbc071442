//! Blocks to be simulated, as arguments.

use std::borrow::Cow;
use std::collections::BTreeMap;

use alloy_primitives::Address;
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_rpc::schema;

use super::overrides::decode_map;
use super::{AccountOverride, StateOverrides, TransactionArgs};
use crate::wire::{Addr, Big, Hash, Uint64, WithdrawalMembers};
use schemars::JsonSchema;

/// Blocks to be simulated, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "Simulation", title = "simulation", rename_all = "camelCase", default)]
pub struct SimulateArgs {
    /// The blocks.
    pub block_state_calls: Vec<SimulatedBlockArgs>,
    /// Show transfers of the chain's own coin as logs.
    pub trace_transfers: bool,
    /// Check nonces and fees as of signed transactions.
    pub validation: bool,
    /// Show transactions whole.
    pub return_full_transactions: bool,
}

/// One block.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "BlockToSimulate", title = "block", default)]
pub struct SimulatedBlockArgs {
    /// What is different in its header.
    #[schemars(rename = "blockOverrides")]
    pub header: HeaderArgs,
    /// What is different in accounts.
    #[schemars(rename = "stateOverrides", with = "Accounts")]
    pub accounts: StateOverrides,
    /// Precompiled contracts that are elsewhere.
    #[schemars(skip)]
    pub moves: BTreeMap<Address, Address>,
    /// What is called.
    pub calls: Vec<TransactionArgs>,
}

/// What is different in a header.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(
    rename = "HeaderOverrides",
    title = "header overrides",
    rename_all = "camelCase",
    default
)]
pub struct HeaderArgs {
    /// Its number.
    pub number: Option<Big>,
    /// Its time, Unix s.
    pub time: Option<Uint64>,
    /// Its difficulty.
    pub difficulty: Option<Big>,
    /// Its gas limit.
    pub gas_limit: Option<Uint64>,
    /// Who gets its fees.
    pub fee_recipient: Option<Addr>,
    /// Its randomness.
    pub prev_randao: Option<Hash>,
    /// Its base fee, wei.
    pub base_fee_per_gas: Option<Big>,
    /// Its fee of blob gas, wei.
    pub blob_base_fee: Option<Big>,
    /// The parent's beacon root.
    pub beacon_root: Option<Hash>,
    /// Withdrawals of validators.
    pub withdrawals: Option<Vec<WithdrawalMembers>>,
}

impl Argument for SimulateArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ethapi.simOpts")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut args = Self::default();
        decode_struct(
            value,
            "ethapi.simOpts",
            &mut [
                ("BlockStateCalls", &mut args.block_state_calls),
                ("TraceTransfers", &mut args.trace_transfers),
                ("Validation", &mut args.validation),
                ("ReturnFullTransactions", &mut args.return_full_transactions),
            ],
        )?;
        Ok(args)
    }
}

impl Argument for SimulatedBlockArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ethapi.simBlock")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut header, mut accounts) = (HeaderArgs::default(), Accounts::default());
        let mut calls = Vec::new();
        decode_struct(
            value,
            "ethapi.simBlock",
            &mut [
                ("BlockOverrides", &mut header),
                ("StateOverrides", &mut accounts),
                ("Calls", &mut calls),
            ],
        )?;
        let Accounts { changes, moves } = accounts;
        Ok(Self { header, accounts: changes, moves, calls })
    }
}

impl Argument for HeaderArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("override.BlockOverrides")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut header = Self::default();
        decode_struct(
            value,
            "override.BlockOverrides",
            &mut [
                ("Number", &mut header.number),
                ("Difficulty", &mut header.difficulty),
                ("Time", &mut header.time),
                ("GasLimit", &mut header.gas_limit),
                ("FeeRecipient", &mut header.fee_recipient),
                ("PrevRandao", &mut header.prev_randao),
                ("BaseFeePerGas", &mut header.base_fee_per_gas),
                ("BlobBaseFee", &mut header.blob_base_fee),
                ("BeaconRoot", &mut header.beacon_root),
                ("Withdrawals", &mut header.withdrawals),
            ],
        )?;
        Ok(header)
    }
}

/// An account override with the fields that only simulations have.
#[derive(Default, JsonSchema)]
#[schemars(rename = "SimulatedAccountOverride", title = "account override")]
struct Account {
    #[schemars(flatten)]
    changes: AccountOverride,
    #[schemars(rename = "movePrecompileToAddress")]
    moved_to: Option<Addr>,
}

impl Argument for Account {
    fn go_type() -> Cow<'static, str> {
        AccountOverride::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let changes = AccountOverride::decode(value)?;
        let mut moved_to = None;
        decode_struct(
            value,
            "ethapi.OverrideAccount",
            &mut [("movePrecompileToAddress", &mut moved_to)],
        )?;
        Ok(Self { changes, moved_to })
    }
}

#[derive(Default)]
struct Accounts {
    changes: StateOverrides,
    moves: BTreeMap<Address, Address>,
}

schema!(Accounts, "SimulatedStateOverrides", |generator| {
    "title": "state overrides",
    "type": "object",
    "additionalProperties": generator.subschema_for::<Account>(),
});

impl Argument for Accounts {
    fn go_type() -> Cow<'static, str> {
        StateOverrides::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut accounts = Self::default();
        let insert = |address: [u8; 20], Account { changes, moved_to }| {
            let address = address.into();
            accounts.changes.0.insert(address, changes);
            // The last of equal keys counts.
            match moved_to {
                Some(Addr(to)) => accounts.moves.insert(address, to),
                None => accounts.moves.remove(&address),
            };
        };
        decode_map(value, "ethapi.StateOverride", "common.Address", insert)?;
        Ok(accounts)
    }
}
