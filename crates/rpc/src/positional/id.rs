//! IDs that clients are given: of subscriptions and of filters.

use std::borrow::Cow;

use esker_go_json::args::{Argument, ArgumentError};
use esker_primitives::Randomness;
use serde::Serialize;

use esker_go_json::{Document, Kind};

/// Go's `rpc.ID`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct RpcId(pub String);

crate::text_schema!(
    RpcId,
    "SubscriptionOrFilterId",
    "id",
    "^0x[0-9a-f]+$",
    "ID of a subscription or of a filter."
);

impl RpcId {
    /// A new one: 16 random bytes in hex, without zeros in front.
    #[must_use]
    pub fn random(randomness: &Randomness) -> Self {
        let mut bytes = [0; 16];
        randomness(&mut bytes);
        Self(format!("{:#x}", u128::from_be_bytes(bytes)))
    }
}

impl Argument for RpcId {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("rpc.ID")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match (value.as_str(), value.kind()) {
            (Some(text), _) => Ok(Self(text.into_owned())),
            (None, Kind::Null) => Ok(Self(String::new())),
            (None, kind) => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_id_has_no_zeros_in_front() {
        let filled = |byte: u8, from: usize| {
            let randomness: Randomness = Arc::new(move |bytes| bytes[from..].fill(byte));
            RpcId::random(&randomness).0
        };
        assert_eq!(filled(0xab, 0), format!("0x{}", "ab".repeat(16)));
        assert_eq!(filled(0x0c, 0), format!("0xc{}", "0c".repeat(15)));
        assert_eq!(filled(1, 15), "0x1");
        assert_eq!(filled(0, 0), "0x0");
    }
}
