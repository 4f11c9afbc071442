//! What is different while a call runs: accounts, and the block.

use std::borrow::Cow;
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use esker_rpc::args::{Argument, ArgumentError, decode_struct};
use esker_rpc::go_json::{Document, Kind, Name};

use crate::wire::hexutil;
use crate::wire::{Addr, Big, Data, Hash, Uint64};

/// Go's `ethapi.OverrideAccount`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// Another nonce.
    pub nonce: Option<Uint64>,
    /// Other code.
    pub code: Option<Data>,
    /// Another balance, wei.
    pub balance: Option<Big>,
    /// The whole storage.
    pub state: Option<BTreeMap<B256, B256>>,
    /// Some slots of the storage.
    pub state_diff: Option<BTreeMap<B256, B256>>,
}

/// Go's `ethapi.StateOverride`: what is different in accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOverrides(pub BTreeMap<Address, AccountOverride>);

/// Go's `ethapi.BlockOverrides`: what is different in the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Decodes an object of any members as a Go map whose keys are data of `N` bytes. `null` is an empty one; of
/// equal keys the last counts.
pub(super) fn decode_map<const N: usize, V: Argument>(
    value: Document<'_>,
    go_type: &'static str,
    key_name: &'static str,
) -> Result<BTreeMap<[u8; N], V>, ArgumentError> {
    match value.kind() {
        Kind::Null => return Ok(BTreeMap::new()),
        Kind::Object => {}
        kind => return Err(ArgumentError::kind(kind, go_type)),
    }
    let mut decoded = Ok(BTreeMap::new());
    let member = |name: Name<'_>, value: Document<'_>| {
        let Ok(map) = &mut decoded else { return };
        let key = hexutil::fixed(name.text().as_bytes(), key_name);
        let key = key.map_err(|fault| ArgumentError::text(fault.to_string()));
        // The value is decoded first.
        match V::decode(value).and_then(|value| Ok((key?, value))) {
            Ok((key, value)) => {
                map.insert(key, value);
            }
            Err(error) => decoded = Err(error),
        }
    };
    let scanned = Document::first_with_members(value.as_bytes(), member);
    debug_assert!(scanned.is_ok(), "a document is valid JSON");
    decoded
}

/// Slots by their keys.
#[derive(Default)]
struct Slots(BTreeMap<B256, B256>);

impl Argument for Slots {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("map[common.Hash]common.Hash")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let slots = decode_map::<32, Hash>(value, "map[common.Hash]common.Hash", "Hash")?;
        Ok(Self(slots.into_iter().map(|(key, Hash(value))| (key.into(), value)).collect()))
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
        let accounts = decode_map::<20, _>(value, "ethapi.StateOverride", "Address")?;
        Ok(Self(accounts.into_iter().map(|(address, account)| (address.into(), account)).collect()))
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
