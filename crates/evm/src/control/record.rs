//! The control record: its bytes, and what it does to the state.

use alloy_primitives::{Address, Bytes, U256};
use alloy_rlp::{Decodable as _, RlpDecodable, RlpEncodable};
use esker_evm_execution::executor::StateOverlay;
use esker_evm_execution::rules::{HeaderTerms, Rules};
use thiserror::Error;

use crate::extension::{ExtError, SupplyChange};

/// Begins ext data with a record. It can't be a codec version of atomic transactions, which begin at 0.
const MARK: [u8; 2] = [0xff, 0xff];

/// Most bytes of a record.
const MAX_RECORD: usize = 1 << 20;

/// Highest base fee in a record, wei.
pub const MAX_BASE_FEE: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);

/// Highest gas limit in a record. A block with so much gas runs for minutes.
pub const MAX_GAS_LIMIT: u64 = 1_000_000_000_000;

/// Most bytes of code in a record.
pub const MAX_CODE: usize = 128 * 1024;

/// The changes of a block besides its transactions. An empty record makes a block without transactions valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlRecord {
    /// The header fields that the block sets.
    pub header: HeaderTerms,
    /// The changes, applied in this order after all transactions of the block.
    pub changes: Vec<StateChange>,
}

/// A change of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// The balance, wei. The previous balance is in the record, so that the audit of the supply needs no old state.
    Balance {
        /// The account.
        address: Address,
        /// Wei before.
        before: U256,
        /// Wei after.
        after: U256,
    },
    /// The nonce.
    Nonce {
        /// The account.
        address: Address,
        /// The nonce.
        nonce: u64,
    },
    /// The code.
    Code {
        /// The account.
        address: Address,
        /// The code. Empty code removes the old one.
        code: Bytes,
    },
    /// A storage slot.
    Storage {
        /// The account.
        address: Address,
        /// The key as instructions use it.
        key: U256,
        /// The value.
        value: U256,
    },
}

/// A requested change: a [`StateChange`] without the values that depend on the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeRequest {
    /// Sets the balance, wei.
    Balance(Address, U256),
    /// Adds to the balance, wei.
    AddBalance(Address, U256),
    /// Sets the nonce.
    Nonce(Address, u64),
    /// Sets the nonce, never to a lower one.
    RaiseNonce(Address, u64),
    /// Sets the code.
    Code(Address, Bytes),
    /// Sets a storage slot: key and value.
    Storage(Address, U256, U256),
}

impl ChangeRequest {
    /// The change of this state.
    pub(crate) fn resolve(&self, state: &mut StateOverlay<'_>) -> Result<StateChange, ExtError> {
        let mut balance = |address: Address, after: &dyn Fn(U256) -> Option<U256>| {
            let before = state.balance(address)?;
            match after(before) {
                Some(after) => Ok(StateChange::Balance { address, before, after }),
                None => Err(ExtError::Invalid(format!(
                    "the balance of {address} would be above {} wei, the most that an account can have",
                    U256::MAX
                ))),
            }
        };
        Ok(match self {
            Self::Balance(address, wei) => balance(*address, &|_| Some(*wei))?,
            Self::AddBalance(address, wei) => {
                balance(*address, &|before| before.checked_add(*wei))?
            }
            Self::Nonce(address, nonce) => StateChange::Nonce { address: *address, nonce: *nonce },
            Self::RaiseNonce(address, nonce) => {
                let found = state.nonce(*address)?;
                if *nonce < found {
                    return Err(ExtError::Invalid(format!(
                        "New nonce ({nonce}) must not be smaller than the existing nonce ({found})"
                    )));
                }
                StateChange::Nonce { address: *address, nonce: *nonce }
            }
            Self::Code(_, code) if code.len() > MAX_CODE => {
                let length = code.len();
                return Err(ExtError::Invalid(format!(
                    "code of {length} bytes: at most {MAX_CODE} can be set"
                )));
            }
            Self::Code(address, code) => {
                StateChange::Code { address: *address, code: code.clone() }
            }
            Self::Storage(address, key, value) => {
                StateChange::Storage { address: *address, key: *key, value: *value }
            }
        })
    }
}

/// Why ext data with the mark of a record is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The ext data ends within the record.
    #[error("control record: the ext data ends too early")]
    Short,
    /// The record is too long.
    #[error("control record: {0} bytes, at most {MAX_RECORD} are allowed")]
    TooLong(usize),
    /// The record can't be decoded.
    #[error("control record: {0}")]
    Form(String),
}

#[derive(RlpEncodable, RlpDecodable)]
struct RawChange {
    kind: u8,
    address: Address,
    first: Bytes,
    second: Bytes,
}

#[derive(RlpEncodable, RlpDecodable)]
struct RawRecord {
    changes: Vec<RawChange>,
}

/// Separates ext data into the bytes of the control record, if there is one, and the rest.
pub fn split_record(ext_data: &[u8]) -> Result<(Option<&[u8]>, &[u8]), RecordError> {
    let Some(marked) = ext_data.strip_prefix(&MARK) else { return Ok((None, ext_data)) };
    let (length, rest) = marked.split_first_chunk::<4>().ok_or(RecordError::Short)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_RECORD {
        return Err(RecordError::TooLong(length));
    }
    let (record, rest) = rest.split_at_checked(length).ok_or(RecordError::Short)?;
    Ok((Some(record), rest))
}

/// Kinds of changes of the header.
const BASE_FEE: u8 = 4;
const GAS_LIMIT: u8 = 5;
const COINBASE: u8 = 6;
const RANDOM: u8 = 7;
const BEACON_ROOT: u8 = 8;

fn raw_header(header: &HeaderTerms) -> impl Iterator<Item = RawChange> {
    let of_number = |kind, number: U256| {
        let first = number.to_be_bytes_trimmed_vec().into();
        RawChange { kind, address: Address::ZERO, first, second: Bytes::new() }
    };
    let of_address = |address| {
        let (first, second) = (Bytes::new(), Bytes::new());
        RawChange { kind: COINBASE, address, first, second }
    };
    let HeaderTerms { base_fee, gas_limit, coinbase, random, beacon_root } = *header;
    let base_fee = base_fee.map(|wei| of_number(BASE_FEE, wei));
    let gas_limit = gas_limit.map(|gas| of_number(GAS_LIMIT, U256::from(gas)));
    let random = random.map(|random| of_number(RANDOM, random.into()));
    let beacon_root = beacon_root.map(|root| of_number(BEACON_ROOT, root.into()));
    [base_fee, gas_limit, coinbase.map(of_address), random, beacon_root].into_iter().flatten()
}

fn set_header(header: &mut HeaderTerms, raw: &RawChange) -> Result<(), RecordError> {
    let form = |text: String| RecordError::Form(text);
    let has_address = !raw.address.is_zero();
    if !raw.second.is_empty() || raw.kind != COINBASE && has_address {
        return Err(form(format!("a change of kind {} has one value", raw.kind)));
    }
    let number = parse_number(&raw.first)?;
    match raw.kind {
        BASE_FEE if number > MAX_BASE_FEE => {
            return Err(form(format!("a base fee of {number} wei: at most {MAX_BASE_FEE}")));
        }
        BASE_FEE => header.base_fee = Some(number),
        GAS_LIMIT => match u64::try_from(number) {
            Ok(gas @ 1..=MAX_GAS_LIMIT) => header.gas_limit = Some(gas),
            Ok(_) | Err(_) => {
                return Err(form(format!("a gas limit of {number}: 1 to {MAX_GAS_LIMIT}")));
            }
        },
        COINBASE if !raw.first.is_empty() => {
            return Err(form("a coinbase is an address alone".to_owned()));
        }
        COINBASE => header.coinbase = Some(raw.address),
        RANDOM => header.random = Some(number.into()),
        BEACON_ROOT => header.beacon_root = Some(number.into()),
        kind => return Err(form(format!("unknown kind {kind}"))),
    }
    Ok(())
}

fn parse_number(bytes: &Bytes) -> Result<U256, RecordError> {
    match U256::try_from_be_slice(bytes) {
        Some(value) if bytes.first() != Some(&0) => Ok(value),
        _ => Err(RecordError::Form("a number has leading zeros or too many bytes".to_owned())),
    }
}

impl ControlRecord {
    /// A record of these changes.
    pub fn from_changes(changes: Vec<StateChange>) -> Self {
        Self { header: HeaderTerms::default(), changes }
    }

    /// The ext data of this record and the rest.
    ///
    /// # Errors
    /// The record is too long.
    pub fn prefix_to(&self, rest: &[u8]) -> Result<Bytes, RecordError> {
        let changes = raw_header(&self.header).chain(self.changes.iter().map(StateChange::to_raw));
        let raw = RawRecord { changes: changes.collect() };
        let record = alloy_rlp::encode(&raw);
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        if record.len() > MAX_RECORD {
            return Err(RecordError::TooLong(record.len()));
        }
        Ok([&MARK[..], &length.to_be_bytes(), &record, rest].concat().into())
    }

    /// Decodes a record. Only one encoding of a record is accepted.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let form = |error: &dyn std::fmt::Display| RecordError::Form(error.to_string());
        let mut rest = bytes;
        let raw = RawRecord::decode(&mut rest).map_err(|error| form(&error))?;
        if !rest.is_empty() {
            return Err(form(&"bytes after the record"));
        }
        let mut record = Self::default();
        let mut last_kind = 0;
        for raw in &raw.changes {
            if raw.kind < BASE_FEE {
                record.changes.push(StateChange::from_raw(raw)?);
                continue;
            }
            if !record.changes.is_empty() || raw.kind <= last_kind {
                return Err(form(&"members of the header come first, in order, once each"));
            }
            last_kind = raw.kind;
            set_header(&mut record.header, raw)?;
        }
        Ok(record)
    }

    /// Applies the changes to the state after the block's transactions.
    pub(crate) fn apply(
        &self,
        rules: &dyn Rules,
        state: &mut StateOverlay<'_>,
    ) -> Result<(), ExtError> {
        self.changes.iter().try_for_each(|change| change.apply(rules, state))
    }

    /// The change of the supply of the chain's coin.
    pub fn supply_change(&self) -> SupplyChange {
        let mut supply = SupplyChange::default();
        for change in &self.changes {
            match change {
                StateChange::Balance { before, after, .. } => supply.add_balance(*before, *after),
                StateChange::Nonce { .. }
                | StateChange::Code { .. }
                | StateChange::Storage { .. } => {}
            }
        }
        supply
    }
}

impl StateChange {
    fn to_raw(&self) -> RawChange {
        let number = |value: U256| Bytes::from(value.to_be_bytes_trimmed_vec());
        let (kind, address, first, second) = match self {
            Self::Balance { address, before, after } => {
                (0, address, number(*before), number(*after))
            }
            Self::Nonce { address, nonce } => {
                (1, address, number(U256::from(*nonce)), Bytes::new())
            }
            Self::Code { address, code } => (2, address, code.clone(), Bytes::new()),
            Self::Storage { address, key, value } => (3, address, number(*key), number(*value)),
        };
        RawChange { kind, address: *address, first, second }
    }

    fn from_raw(raw: &RawChange) -> Result<Self, RecordError> {
        let address = raw.address;
        let form = |text: String| Err(RecordError::Form(text));
        let number = parse_number;
        if matches!(raw.kind, 1 | 2) && !raw.second.is_empty() {
            return form(format!("a change of kind {} has one value", raw.kind));
        }
        Ok(match raw.kind {
            0 => {
                let (before, after) = (number(&raw.first)?, number(&raw.second)?);
                Self::Balance { address, before, after }
            }
            1 => match u64::try_from(number(&raw.first)?) {
                Ok(nonce) => Self::Nonce { address, nonce },
                Err(_) => return form("a nonce has at most 64 bits".to_owned()),
            },
            2 if raw.first.len() > MAX_CODE => {
                let length = raw.first.len();
                return form(format!("code of {length} bytes, at most {MAX_CODE} are allowed"));
            }
            2 => Self::Code { address, code: raw.first.clone() },
            3 => Self::Storage { address, key: number(&raw.first)?, value: number(&raw.second)? },
            kind => return form(format!("unknown kind {kind}")),
        })
    }

    pub(crate) fn apply(
        &self,
        rules: &dyn Rules,
        state: &mut StateOverlay<'_>,
    ) -> Result<(), ExtError> {
        match self {
            Self::Balance { address, before, after } => {
                let found = state.balance(*address)?;
                if found != *before {
                    return Err(ExtError::Invalid(format!(
                        "control record: account {address} has {found} wei, not {before}"
                    )));
                }
                state.set_balance(*address, *after)?;
                state.clear_if_empty(*address)?;
            }
            Self::Nonce { address, nonce } => {
                state.set_nonce(*address, *nonce)?;
                state.clear_if_empty(*address)?;
            }
            Self::Code { address, code } => {
                state.set_code(*address, code.clone())?;
                state.clear_if_empty(*address)?;
            }
            Self::Storage { address, key, value } => {
                if state.account(*address)?.is_none() {
                    return Err(ExtError::Invalid(format!(
                        "account {address} does not exist: set its code, balance or nonce before its storage"
                    )));
                }
                state.set_slot(*address, rules.storage_keys().slot(*key), *value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, U512};

    use super::*;

    fn changes() -> Vec<StateChange> {
        let address = Address::repeat_byte(7);
        vec![
            StateChange::Balance { address, before: U256::from(1), after: U256::MAX },
            StateChange::Balance { address, before: U256::MAX, after: U256::from(3) },
            StateChange::Nonce { address, nonce: u64::MAX },
            StateChange::Code { address, code: Bytes::from_static(&[0x60, 0]) },
            StateChange::Storage { address, key: U256::ZERO, value: U256::from(256) },
        ]
    }

    #[test]
    fn records_round_trip() {
        for changes in [Vec::new(), changes()] {
            let record = ControlRecord::from_changes(changes);
            let ext_data = record.prefix_to(b"rest").unwrap();
            let (bytes, rest) = split_record(&ext_data).unwrap();
            assert_eq!(rest, b"rest");
            assert_eq!(ControlRecord::decode(bytes.unwrap()), Ok(record));
        }
        assert_eq!(split_record(b"\0\0rest"), Ok((None, &b"\0\0rest"[..])));
        assert_eq!(split_record(b""), Ok((None, &b""[..])));
    }

    #[test]
    fn damaged_records_are_refused() {
        let ext_data = ControlRecord::from_changes(changes()).prefix_to(b"").unwrap();
        for length in 2..ext_data.len() {
            assert_eq!(split_record(&ext_data[..length]), Err(RecordError::Short), "{length}");
        }
        let too_long = [0xff, 0xff, 0xff, 0, 0, 0];
        assert_eq!(split_record(&too_long), Err(RecordError::TooLong(0xff00_0000)));
        let record = split_record(&ext_data).unwrap().0.unwrap();
        let longer = [record, &[0]].concat();
        assert_eq!(
            ControlRecord::decode(&longer).unwrap_err().to_string(),
            "control record: bytes after the record"
        );
        let raw = |kind, first: &[u8], second: &[u8]| {
            let (first, second) = (first.to_vec().into(), second.to_vec().into());
            let change = RawChange { kind, address: Address::ZERO, first, second };
            let bytes = alloy_rlp::encode(RawRecord { changes: vec![change] });
            ControlRecord::decode(&bytes).unwrap_err().to_string()
        };
        assert_eq!(raw(9, b"", b""), "control record: unknown kind 9");
        assert_eq!(raw(4, b"", b"\x01"), "control record: a change of kind 4 has one value");
        let long = "control record: a base fee of 340282366920938463463374607431768211456 wei";
        assert!(raw(4, &[&[1][..], &[0; 16]].concat(), b"").starts_with(long));
        assert_eq!(raw(5, b"", b""), "control record: a gas limit of 0: 1 to 1000000000000");
        assert_eq!(raw(6, b"\x01", b""), "control record: a coinbase is an address alone");
        assert_eq!(raw(1, b"\x01", b"\x01"), "control record: a change of kind 1 has one value");
        assert_eq!(raw(1, &[1; 9], b""), "control record: a nonce has at most 64 bits");
        let number = "control record: a number has leading zeros or too many bytes";
        assert_eq!(raw(0, b"\0", b""), number);
        assert_eq!(raw(3, &[1; 33], b""), number);
        assert_eq!(raw(0, b"", &[1; 33]), number);
        assert_eq!(
            raw(2, &vec![1; MAX_CODE + 1], b""),
            "control record: code of 131073 bytes, at most 131072 are allowed"
        );
        let big = StateChange::Code { address: Address::ZERO, code: vec![1; MAX_CODE].into() };
        let record = ControlRecord::from_changes(vec![big; 9]);
        assert!(matches!(record.prefix_to(b""), Err(RecordError::TooLong(_))));
    }

    #[test]
    fn headers_round_trip() {
        let header = HeaderTerms {
            base_fee: Some(U256::ZERO),
            gas_limit: Some(7),
            coinbase: Some(Address::ZERO),
            random: Some(B256::repeat_byte(9)),
            beacon_root: Some(B256::ZERO),
        };
        for header in [header, header.lasting(), HeaderTerms::default()] {
            let record = ControlRecord { header, changes: changes() };
            let ext_data = record.prefix_to(b"").unwrap();
            let bytes = split_record(&ext_data).unwrap().0.unwrap();
            assert_eq!(ControlRecord::decode(bytes), Ok(record));
        }
        let raw = |kinds: &[u8]| {
            let change = |kind: &u8| {
                let first = if *kind == 6 { Bytes::new() } else { vec![1].into() };
                RawChange { kind: *kind, address: Address::ZERO, first, second: Bytes::new() }
            };
            let changes = kinds.iter().map(change).collect();
            ControlRecord::decode(&alloy_rlp::encode(RawRecord { changes })).map(drop)
        };
        assert_eq!(raw(&[4, 5, 6, 7, 8, 1]), Ok(()));
        let order = "members of the header come first, in order, once each";
        for kinds in [&[5, 4][..], &[4, 4], &[1, 4]] {
            assert_eq!(raw(kinds), Err(RecordError::Form(order.to_owned())), "{kinds:?}");
        }
    }

    #[test]
    fn supply_of_changes() {
        let supply = ControlRecord::from_changes(changes()).supply_change();
        assert_eq!(supply.given - supply.taken, U512::from(2));
        assert_eq!(supply.given, U512::from(U256::MAX) - U512::from(1));
        let (address, before) = (Address::ZERO, U256::from(7));
        let changes = vec![StateChange::Balance { address, before, after: U256::ZERO }];
        let supply = ControlRecord::from_changes(changes).supply_change();
        assert_eq!((supply.given, supply.taken), (U512::ZERO, U512::from(7)));
    }
}
