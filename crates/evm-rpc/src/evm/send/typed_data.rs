//! Structured data as an argument.

use std::borrow::Cow;

use alloy_primitives::B256;
use esker_evm::accounts::{TypedData, TypedDataError};
use esker_go_json::args::{Argument, ArgumentError};
use esker_go_json::{Document, Kind};

/// Data with its types, as an object or, as wallets send it, as the text of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedDataArg(Vec<u8>);

esker_rpc::schema!(TypedDataArg, "TypedData", {
    "title": "typed data",
    "description": "Structured data (EIP-712): an object, or the text of one.",
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "types": { "type": "object" },
                "primaryType": { "type": "string" },
                "domain": { "type": "object" },
                "message": { "type": "object" },
            },
            "required": ["types", "primaryType", "domain", "message"],
        },
        { "type": "string" },
    ],
});

impl Argument for TypedDataArg {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("apitypes.TypedData")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match (value.as_str(), value.kind()) {
            (Some(text), _) => Ok(Self(text.into_owned().into_bytes())),
            (None, Kind::Object) => Ok(Self(value.as_bytes().to_vec())),
            (None, kind) => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

impl TypedDataArg {
    /// The hash that is signed.
    pub(super) fn signing_hash(&self) -> Result<B256, TypedDataError> {
        TypedData::parse(&self.0)?.signing_hash()
    }
}
