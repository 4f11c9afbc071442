//! Access lists as arguments.

use std::borrow::Cow;

use alloy_eips::eip2930::{AccessList, AccessListItem};
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_rpc::schema_as;

use crate::wire::{AccessTuple, Addr, Hash};

/// Go's `types.AccessList`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessListArg(pub AccessList);

struct Tuple(AccessListItem);

schema_as!(AccessListArg, "AccessList", Vec<Tuple>);
schema_as!(Tuple, "AccessListEntry", AccessTuple<'_>);

impl Argument for AccessListArg {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.AccessList")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let tuples = Vec::<Tuple>::decode(value).map_err(|error| match error {
            // The list has a name of its own.
            ArgumentError::Type { found, wanted, field, deferred }
                if wanted == Vec::<Tuple>::go_type() =>
            {
                ArgumentError::Type { found, wanted: Self::go_type(), field, deferred }
            }
            error => error,
        })?;
        Ok(Self(AccessList(tuples.into_iter().map(|Tuple(item)| item).collect())))
    }
}

impl Argument for Tuple {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("types.AccessTuple")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut address, mut storage_keys) = (None::<Addr>, None::<Vec<Hash>>);
        decode_struct(
            value,
            "types.AccessTuple",
            &mut [("address", &mut address), ("storageKeys", &mut storage_keys)],
        )
        .map_err(ArgumentError::of_own_decoder)?;
        let missing = |field: &str| {
            ArgumentError::text(format!("missing required field '{field}' for AccessTuple"))
        };
        let Addr(address) = address.ok_or_else(|| missing("address"))?;
        let storage_keys = storage_keys.ok_or_else(|| missing("storageKeys"))?;
        let storage_keys = storage_keys.into_iter().map(|Hash(key)| key).collect();
        Ok(Self(AccessListItem { address, storage_keys }))
    }
}
