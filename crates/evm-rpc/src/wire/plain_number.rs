//! Block parameters that may also be JSON numbers, as Erigon reads them.

use std::borrow::Cow;

use esker_go_json::args::{Argument, ArgumentError};
use esker_go_json::{Document, Kind};

use super::{BlockNumber, BlockNumberOrHash};

/// A block by its number, which may be a JSON number, or by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainBlock(pub(crate) BlockNumber);

/// A block by its number, which may be a JSON number, by a name or by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainBlockOrHash(pub(crate) BlockNumberOrHash);

esker_rpc::schema!(PlainBlock, "PlainBlock", |generator| {
    "title": "block",
    "description": "A block by its number, which may be a JSON number, or by a name.",
    "anyOf": [{ "type": "integer", "minimum": 0 }, generator.subschema_for::<BlockNumber>()],
});
esker_rpc::schema!(PlainBlockOrHash, "PlainBlockOrHash", |generator| {
    "title": "block or hash",
    "description": "A block by its number, which may be a JSON number, by a name or by its hash.",
    "anyOf": [{ "type": "integer", "minimum": 0 }, generator.subschema_for::<BlockNumberOrHash>()],
});

impl Argument for PlainBlock {
    fn go_type() -> Cow<'static, str> {
        BlockNumber::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match plain(value)? {
            Some(number) => Ok(Self(number)),
            None => BlockNumber::decode(value).map(Self),
        }
    }
}

impl Argument for PlainBlockOrHash {
    fn go_type() -> Cow<'static, str> {
        BlockNumberOrHash::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match plain(value)? {
            Some(number) => Ok(Self(number.into())),
            None => BlockNumberOrHash::decode(value).map(Self),
        }
    }
}

/// A JSON number; `None` for another value.
fn plain(value: Document<'_>) -> Result<Option<BlockNumber>, ArgumentError> {
    if value.kind() != Kind::Number {
        return Ok(None);
    }
    let text = str::from_utf8(value.as_bytes()).unwrap_or_default();
    match text.parse::<i64>().map(u64::try_from) {
        Ok(Ok(number)) => Ok(Some(BlockNumber::Number(number))),
        Ok(Err(_)) | Err(_) => Err(ArgumentError::text(
            "expected a block number from 0 to 9223372036854775807, or a name such as latest",
        )),
    }
}
