//! A transaction or a block in the encoding that the client asked for.

use std::borrow::Cow;

use esker_rpc::wire::{Encoding, EncodingError};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::json::{AddressFormat, Json};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::chain::Xvm;
use esker_transactions::xvm::json::schema::{BlockSchema, TxSchema};

/// The form of a `T` in a reply: a text, or the value itself for `json`.
#[derive(Debug)]
pub(super) enum EncodedReply<T> {
    /// Its bytes in one of the hex encodings.
    Text(String),
    /// The value, with what its addresses need.
    Object { value: T, alias: String, hrp: String },
}

impl JsonSchema for EncodedReply<Tx> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("EncodedTx")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        text_or::<TxSchema>(generator)
    }
}

impl JsonSchema for EncodedReply<Block> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("EncodedBlock")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        text_or::<BlockSchema>(generator)
    }
}

fn text_or<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "title": "text or object",
        "description": "Bytes in one of the hex encodings; an object for `json`.",
        "anyOf": [
            { "type": "string", "pattern": "^0x[0-9a-f]*$" },
            generator.subschema_for::<T>(),
        ],
    })
}

impl<T> EncodedReply<T> {
    /// Bytes as text.
    pub(super) fn text(bytes: &[u8], encoding: Encoding) -> Result<Self, EncodingError> {
        Ok(Self::Text(encoding.encode(bytes)?))
    }

    /// A value of this chain as JSON.
    pub(super) fn object(vm: &Xvm, value: T) -> Self {
        let context = vm.context();
        Self::Object { value, alias: context.primary_alias(), hrp: context.hrp.clone() }
    }
}

impl<T> Serialize for EncodedReply<T>
where
    for<'a> Json<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Object { value, alias, hrp } => {
                Json::new(value, AddressFormat { alias, hrp }).serialize(serializer)
            }
        }
    }
}
