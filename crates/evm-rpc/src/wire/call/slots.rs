//! Slots of accounts as arguments.

use std::borrow::Cow;
use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::schema;

use super::overrides::decode_map;
use crate::wire::Hash;

/// Slots by their accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotRequests(pub BTreeMap<Address, Vec<B256>>);

schema!(SlotRequests, "SlotRequests", |generator| {
    "title": "slots",
    "description": "Slots by the addresses of their accounts.",
    "type": "object",
    "additionalProperties": generator.subschema_for::<Vec<Hash>>(),
});

impl Argument for SlotRequests {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("map[common.Address][]common.Hash")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut requests = BTreeMap::new();
        let insert = |address: [u8; 20], keys: Vec<Hash>| {
            requests.insert(address.into(), keys.into_iter().map(|Hash(key)| key).collect());
        };
        let go_type = "map[common.Address][]common.Hash";
        decode_map(value, go_type, "common.Address", insert)?;
        Ok(Self(requests))
    }
}
