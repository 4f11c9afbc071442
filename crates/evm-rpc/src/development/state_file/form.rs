//! The members of anvil's form that are read, and how its texts become values.

use std::fmt;
use std::str::FromStr;

use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor,
};
use serde::{Deserialize, Deserializer};

use super::super::numbers::Number;

/// A value that is written as a text.
#[derive(Clone, Debug)]
pub(super) struct Text<T>(pub(super) T);

impl<'de, T: FromStr> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let shown = || text.chars().take(80).collect::<String>();
        let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        text.parse().map(Self).map_err(|_| D::Error::custom(format!("{:?} is no {name}", shown())))
    }
}

/// A number, or a text of decimal digits or of `0x` and hex digits; a boolean is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quantity(pub(super) U256);

impl Quantity {
    pub(super) fn to_u64(self) -> Option<u64> {
        self.0.try_into().ok()
    }

    pub(super) fn to_u128(self) -> Option<u128> {
        self.0.try_into().ok()
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Quantity, E> {
        Ok(Quantity(U256::from(value)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Quantity, E> {
        Ok(Quantity(U256::from(u8::from(value))))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
        Number::parse(text.as_bytes()).map(Quantity).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            E::custom(format!("{shown:?} is no number"))
        })
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

/// The next block's surroundings.
#[derive(Debug, Deserialize)]
pub(super) struct BlockEnv {
    pub(super) number: Option<Quantity>,
    pub(super) timestamp: Option<Quantity>,
}

/// A block.
#[derive(Debug, Deserialize)]
pub(super) struct RawBlock {
    pub(super) header: RawHeader,
    #[serde(default)]
    pub(super) transactions: Vec<RawBlockTx>,
}

/// A header.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawHeader {
    pub(super) parent_hash: Text<B256>,
    pub(super) sha3_uncles: Text<B256>,
    pub(super) miner: Text<Address>,
    pub(super) state_root: Text<B256>,
    pub(super) transactions_root: Text<B256>,
    pub(super) receipts_root: Text<B256>,
    pub(super) logs_bloom: Text<Bloom>,
    pub(super) difficulty: Quantity,
    pub(super) number: Quantity,
    pub(super) gas_limit: Quantity,
    pub(super) gas_used: Quantity,
    pub(super) timestamp: Quantity,
    pub(super) extra_data: Text<Bytes>,
    pub(super) mix_hash: Text<B256>,
    pub(super) nonce: Text<B64>,
    pub(super) base_fee_per_gas: Option<Quantity>,
    pub(super) withdrawals_root: Option<Text<B256>>,
    pub(super) blob_gas_used: Option<Quantity>,
    pub(super) excess_blob_gas: Option<Quantity>,
    pub(super) parent_beacon_block_root: Option<Text<B256>>,
    pub(super) requests_hash: Option<Text<B256>>,
}

/// A transaction of a block, alone or as the member `transaction` beside the account that sent it without its key. Nothing
/// is kept of it before it is known which: an untagged enum would hold all of its JSON.
#[derive(Debug)]
pub(super) struct RawBlockTx(pub(super) Box<RawTx>);

impl<'de> Deserialize<'de> for RawBlockTx {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawBlockTxVisitor)
    }
}

struct RawBlockTxVisitor;

impl<'de> Visitor<'de> for RawBlockTxVisitor {
    type Value = RawBlockTx;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a transaction")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawBlockTx, A::Error> {
        let mut wrapped = None;
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "transaction" => wrapped = Some(map.next_value()?),
                "impersonated_sender" | "impersonatedSender" => {
                    let _ignored: IgnoredAny = map.next_value()?;
                }
                _ if wrapped.is_none() => {
                    let begun = StartedMap { first: Some(name), map };
                    let tx = RawTx::deserialize(MapAccessDeserializer::new(begun))?;
                    return Ok(RawBlockTx(Box::new(tx)));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        wrapped.map(RawBlockTx).ok_or_else(|| A::Error::missing_field("transaction"))
    }
}

/// A map whose first key has been read.
struct StartedMap<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for StartedMap<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// A signed transaction.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawTx {
    #[serde(rename = "type")]
    pub(super) tx_type: Option<Quantity>,
    pub(super) chain_id: Option<Quantity>,
    pub(super) nonce: Quantity,
    #[serde(alias = "gasLimit")]
    pub(super) gas: Quantity,
    pub(super) gas_price: Option<Quantity>,
    pub(super) max_fee_per_gas: Option<Quantity>,
    pub(super) max_priority_fee_per_gas: Option<Quantity>,
    pub(super) to: Option<Text<Address>>,
    pub(super) value: Quantity,
    pub(super) access_list: Option<Vec<RawAccess>>,
    #[serde(alias = "data")]
    pub(super) input: Text<Bytes>,
    pub(super) r: Quantity,
    pub(super) s: Quantity,
    pub(super) v: Option<Quantity>,
    pub(super) y_parity: Option<Quantity>,
}

/// An entry of an access list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawAccess {
    pub(super) address: Text<Address>,
    pub(super) storage_keys: Vec<Text<B256>>,
}

/// The result of a transaction.
#[derive(Debug, Deserialize)]
pub(super) struct RawMined {
    pub(super) info: RawInfo,
    pub(super) receipt: RawReceipt,
    pub(super) block_hash: Text<B256>,
}

/// Members that are missing in a receipt.
#[derive(Debug, Deserialize)]
pub(super) struct RawInfo {
    pub(super) transaction_hash: Text<B256>,
    pub(super) transaction_index: u64,
    pub(super) from: Text<Address>,
    pub(super) contract_address: Option<Text<Address>>,
    pub(super) gas_used: Quantity,
}

/// A receipt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawReceipt {
    pub(super) status: Quantity,
    pub(super) cumulative_gas_used: Quantity,
    pub(super) logs: Vec<RawLog>,
}

/// A log.
#[derive(Debug, Deserialize)]
pub(super) struct RawLog {
    pub(super) address: Text<Address>,
    pub(super) topics: Vec<Text<B256>>,
    pub(super) data: Text<Bytes>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_read_alone_and_beside_their_sender() {
        let tx = r#"{"hash":[1],"nonce":"0x7","gasLimit":1,"value":0,"data":"0x","r":1,"s":2}"#;
        let sender = r#""impersonated_sender":null"#;
        let (before, after) = (
            format!("{{{sender},\"transaction\":{tx}}}"),
            format!("{{\"transaction\":{tx},{sender},\"more\":{{}}}}"),
        );
        for json in [tx, before.as_str(), after.as_str()] {
            let RawBlockTx(read) = serde_json::from_str(json).unwrap();
            assert_eq!(read.nonce, Quantity(U256::from(7)), "{json}");
        }
        for (json, text) in [
            ("{}", "missing field `transaction`"),
            (r#"{"transaction":null}"#, "expected struct RawTx"),
            (r#"{"nonce":"0x7"}"#, "missing field"),
            ("[0]", "expected a transaction"),
        ] {
            let error = serde_json::from_str::<RawBlockTx>(json).unwrap_err().to_string();
            assert!(error.contains(text), "{json}: {error}");
        }
    }
}
