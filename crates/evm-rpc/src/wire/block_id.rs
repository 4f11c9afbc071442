//! The block parameter (docs/protocol/c-chain-rpc.md, "Block parameter").

use std::borrow::Cow;

use alloy_primitives::B256;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};

use super::Hash;
use super::data::between_quotes;
use super::hexutil::{self, HexError};
use super::number_forms::small_number_of_any_form;

/// Largest number of a block: that of Go's `int64`.
const MAX_NUMBER: u64 = i64::MAX as u64;

/// A block by its number or by a name. All names mean the last accepted block, but that [`Self::Pending`] counts the pool
/// in where that makes sense, and on a development node means the block that would be built now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNumber {
    /// `latest`
    Latest,
    /// `pending`
    Pending,
    /// `accepted`
    Accepted,
    /// `finalized`
    Finalized,
    /// `safe`
    Safe,
    /// `earliest`: the genesis
    Earliest,
    /// A number, at most that of Go's `int64`.
    Number(u64),
}

/// A block by number, name or hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockNumberOrHash {
    /// By number or name.
    Number(BlockNumber),
    /// By hash.
    Hash {
        /// The block's hash.
        hash: B256,
        /// Refuse a block that is not part of the accepted chain.
        require_canonical: bool,
    },
    /// Neither was given; methods refuse it in their own words.
    Neither,
    /// `null`: the last block on a development network, elsewhere as [`Self::Neither`].
    Null,
}

impl BlockNumber {
    /// Its name, or its number in hex.
    pub(super) fn to_text(self) -> String {
        match self {
            Self::Latest => "latest".to_owned(),
            Self::Pending => "pending".to_owned(),
            Self::Accepted => "accepted".to_owned(),
            Self::Finalized => "finalized".to_owned(),
            Self::Safe => "safe".to_owned(),
            Self::Earliest => "earliest".to_owned(),
            Self::Number(number) => format!("{number:#x}"),
        }
    }

    /// Its number, if it names none that moves. `earliest` counts as 0 here.
    pub(crate) const fn fixed(self) -> Option<u64> {
        match self {
            Self::Earliest => Some(0),
            Self::Number(number) => Some(number),
            Self::Latest | Self::Pending | Self::Accepted | Self::Finalized | Self::Safe => None,
        }
    }

    fn by_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"earliest" => Self::Earliest,
            b"latest" => Self::Latest,
            b"pending" => Self::Pending,
            b"accepted" => Self::Accepted,
            b"finalized" => Self::Finalized,
            b"safe" => Self::Safe,
            _ => return None,
        })
    }

    /// A number that is not in the form of the reference, where that is taken.
    fn of_any_form(value: Document<'_>) -> Option<Self> {
        let number = small_number_of_any_form(value).filter(|number| *number <= MAX_NUMBER)?;
        Some(Self::Number(number))
    }

    fn read(text: &[u8], too_large: &'static str) -> Result<Self, ArgumentError> {
        if let Some(named) = Self::by_name(text) {
            return Ok(named);
        }
        let number = hexutil::decode_uint64(text)
            .map_err(|fault: HexError| ArgumentError::text(fault.as_str()))?;
        if number > MAX_NUMBER {
            return Err(ArgumentError::text(too_large));
        }
        Ok(Self::Number(number))
    }
}

/// Where the block of a number or name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPlace {
    /// At this height, which may be above the last block.
    Height(u64),
    /// It is the last accepted block.
    Head,
    /// It is the block that would be built next.
    Pending,
}

/// A block as the last parameter of a method, which may be absent where the chain's dialect says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockOrAbsent(pub Option<BlockNumberOrHash>);

esker_rpc::schema_as!(BlockOrAbsent, "BlockNumberOrHash", BlockNumberOrHash);

impl Argument for BlockOrAbsent {
    fn go_type() -> Cow<'static, str> {
        BlockNumberOrHash::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        BlockNumberOrHash::decode(value).map(Some).map(Self)
    }

    fn absent() -> Option<Self> {
        Some(Self(None))
    }

    fn is_required() -> bool {
        true
    }
}

impl From<BlockNumber> for BlockNumberOrHash {
    fn from(number: BlockNumber) -> Self {
        Self::Number(number)
    }
}

esker_rpc::text_schema!(
    BlockNumber,
    "BlockNumber",
    "block",
    "^(earliest|latest|pending|accepted|finalized|safe|0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15}))$",
    "A block by its number, or by a name."
);
esker_rpc::schema!(BlockNumberOrHash, "BlockNumberOrHash", |generator| {
    "title": "block or hash",
    "description": "A block by its number, a name or its hash.",
    "anyOf": [
        generator.subschema_for::<BlockNumber>(),
        generator.subschema_for::<Hash>(),
        {
            "type": "object",
            "properties": { "blockNumber": generator.subschema_for::<BlockNumber>() },
            "required": ["blockNumber"],
        },
        {
            "type": "object",
            "properties": {
                "blockHash": generator.subschema_for::<Hash>(),
                "requireCanonical": { "type": "boolean" },
            },
            "required": ["blockHash"],
        },
    ],
});

impl Argument for BlockNumber {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("rpc.BlockNumber")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if let Some(number) = Self::of_any_form(value) {
            return Ok(number);
        }
        // A value without quotes is read like one with them, and is never right.
        let text = between_quotes(value).unwrap_or(value.as_bytes());
        Self::read(text, "block number larger than int64")
    }
}

impl BlockNumberOrHash {
    /// The object form.
    fn of_object(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut number, mut hash, mut require_canonical) = (None, None, false);
        let decoded = decode_struct(
            value,
            "rpc.erased",
            &mut [
                ("blockNumber", &mut number),
                ("blockHash", &mut hash),
                ("requireCanonical", &mut require_canonical),
            ],
        );
        if decoded.is_err() {
            // An object that does not decode is tried as a string, and that error is returned.
            return Err(ArgumentError::kind(Kind::Object, "string"));
        }
        match (number, hash) {
            (Some(_), Some(_)) => Err(ArgumentError::text(
                "cannot specify both BlockHash and BlockNumber, choose one or the other",
            )),
            (Some(number), None) => Ok(Self::Number(number)),
            (None, Some(Hash(hash))) => Ok(Self::Hash { hash, require_canonical }),
            (None, None) => Ok(Self::Neither),
        }
    }

    fn of_text(text: &str) -> Result<Self, ArgumentError> {
        if text.len() == 66 {
            let hash = hexutil::fixed::<32>(text.as_bytes(), "Hash")
                .map_err(|fault| ArgumentError::text(fault.to_string()))?;
            return Ok(Self::Hash { hash: hash.into(), require_canonical: false });
        }
        BlockNumber::read(text.as_bytes(), "blocknumber too high").map(Self::Number)
    }
}

impl Argument for BlockNumberOrHash {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("rpc.BlockNumberOrHash")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if let Some(number) = BlockNumber::of_any_form(value) {
            return Ok(Self::Number(number));
        }
        match (value.as_str(), value.kind()) {
            (Some(text), _) => Self::of_text(&text),
            (None, Kind::Null) => Ok(Self::Null),
            (None, Kind::Object) => Self::of_object(value),
            (None, kind) => Err(ArgumentError::kind(kind, "string")),
        }
    }
}
