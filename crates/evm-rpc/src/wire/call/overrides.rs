//! Changes of accounts and of the block that hold while a call runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use esker_go_json::args::{Argument, ArgumentError, check_memory, decode_struct};
use esker_go_json::{Document, Kind, Name};
use esker_rpc::schema;

use crate::wire::data::fixed_text;
use crate::wire::{Addr, Big, Data, Hash, Uint64};
use schemars::JsonSchema;

/// Go's `ethapi.OverrideAccount`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(
    title = "account override",
    description = "What is different in an account.",
    rename_all = "camelCase"
)]
pub struct AccountOverride {
    /// Another nonce.
    pub nonce: Option<Uint64>,
    /// Other code.
    pub code: Option<Data>,
    /// Another balance, wei.
    pub balance: Option<Big>,
    /// The whole storage.
    #[schemars(with = "Option<Slots>")]
    pub state: Option<BTreeMap<B256, B256>>,
    /// Some slots of the storage.
    #[schemars(with = "Option<Slots>")]
    pub state_diff: Option<BTreeMap<B256, B256>>,
}

/// Go's `ethapi.StateOverride`: what is different in accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides(pub BTreeMap<Address, AccountOverride>);

/// Go's `ethapi.BlockOverrides`: what is different in the block.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(
    title = "block overrides",
    description = "What is different in the block.",
    rename_all = "camelCase"
)]
pub struct BlockOverrides {
    /// Its number.
    pub number: Option<Big>,
    /// Its difficulty.
    pub difficulty: Option<Big>,
    /// Its time, Unix s.
    pub time: Option<Uint64>,
    /// Its gas limit.
    pub gas_limit: Option<Uint64>,
    /// Who gets its fees.
    pub coinbase: Option<Addr>,
    /// Its base fee, wei.
    pub base_fee: Option<Big>,
    /// Its fee of blob gas, wei.
    pub blob_base_fee: Option<Big>,
}

/// Decodes an object of any members as a Go map whose keys are data of `N` bytes; `insert` gets its entries. `null` is
/// an empty one; of equal keys the last counts.
///
/// The value is read before the key; but Go reads on after a value of the wrong kind, and then reports the key.
pub(super) fn decode_map<const N: usize, V: Argument>(
    value: Document<'_>,
    go_type: &'static str,
    key_type: &'static str,
    mut insert: impl FnMut([u8; N], V),
) -> Result<(), ArgumentError> {
    match value.kind() {
        Kind::Null => return Ok(()),
        Kind::Object => {}
        kind => return Err(ArgumentError::kind(kind, go_type)),
    }
    let (mut deferred, mut refused) = (None, None);
    let member = |name: Name<'_>, value: Document<'_>| {
        if refused.is_some() {
            return;
        }
        if let Err(error) = check_memory(0) {
            refused = Some(error);
            return;
        }
        let value = match V::decode(value) {
            Err(error) if !error.is_deferred() => {
                refused = Some(error);
                return;
            }
            value => value,
        };
        match (fixed_text(name.literal().unwrap_or_default(), key_type), value) {
            (Err(error), _) => refused = Some(error),
            (Ok(key), Ok(value)) => insert(key, value),
            (Ok(_), Err(error)) => {
                deferred.get_or_insert(error);
            }
        }
    };
    value.each_member(member);
    refused.or(deferred).map_or(Ok(()), Err)
}

/// Slots by their keys.
#[derive(Default)]
struct Slots(BTreeMap<B256, B256>);

schema!(Slots, "Slots", |generator| {
    "title": "slots",
    "description": "Values by their slots.",
    "type": "object",
    "additionalProperties": generator.subschema_for::<Hash>(),
});
schema!(StateOverrides, "StateOverrides", |generator| {
    "title": "state overrides",
    "description": "What is different in accounts, by their addresses.",
    "type": "object",
    "additionalProperties": generator.subschema_for::<AccountOverride>(),
});

impl Argument for Slots {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("map[common.Hash]common.Hash")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut slots = BTreeMap::new();
        let insert = |key: [u8; 32], Hash(value)| {
            slots.insert(key.into(), value);
        };
        decode_map(value, "map[common.Hash]common.Hash", "common.Hash", insert)?;
        Ok(Self(slots))
    }
}

impl Argument for AccountOverride {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ethapi.OverrideAccount")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut account = Self::default();
        let (mut state, mut state_diff) = (None::<Slots>, None::<Slots>);
        decode_struct(
            value,
            "ethapi.OverrideAccount",
            &mut [
                ("nonce", &mut account.nonce),
                ("code", &mut account.code),
                ("balance", &mut account.balance),
                ("state", &mut state),
                ("stateDiff", &mut state_diff),
            ],
        )?;
        account.state = state.map(|Slots(slots)| slots);
        account.state_diff = state_diff.map(|Slots(slots)| slots);
        Ok(account)
    }
}

impl Argument for StateOverrides {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ethapi.StateOverride")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut accounts = BTreeMap::new();
        let insert = |address: [u8; 20], account| {
            accounts.insert(address.into(), account);
        };
        decode_map(value, "ethapi.StateOverride", "common.Address", insert)?;
        Ok(Self(accounts))
    }
}

impl Argument for BlockOverrides {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ethapi.BlockOverrides")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut block = Self::default();
        decode_struct(
            value,
            "ethapi.BlockOverrides",
            &mut [
                // The reference gives these fields no names for JSON, so texts show those of Go.
                ("Number", &mut block.number),
                ("Difficulty", &mut block.difficulty),
                ("Time", &mut block.time),
                ("GasLimit", &mut block.gas_limit),
                ("Coinbase", &mut block.coinbase),
                ("BaseFee", &mut block.base_fee),
                ("BlobBaseFee", &mut block.blob_base_fee),
            ],
        )?;
        Ok(block)
    }
}
