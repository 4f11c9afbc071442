//! Structured data to sign (EIP-712).

use std::collections::BTreeMap;

use alloy_dyn_abi::TypedData as DynTypedData;
use alloy_dyn_abi::eip712::Eip712Types;
use alloy_primitives::B256;
use esker_primitives::excerpt;
use thiserror::Error;

/// Longest data, bytes. A byte of the data can take 120 bytes of memory and a microsecond.
const MAX_BYTES: usize = 1 << 20;

/// Most types that data may declare, and most members of one type: resolving them takes time that grows
/// with the product.
const MAX_TYPES: usize = 256;

/// Longest declaration of a member, bytes: a type is nested as deep as it has brackets.
const MAX_MEMBER: usize = 2 * MAX_TYPES;

/// Most members that a type has with those of its members' types, at all depths: each of 40 types that holds
/// the next one twice is small, and the first one has 2^40 members when written out.
const MAX_RESOLVED: usize = 16 * MAX_TYPES;

/// Why data can't be signed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypedDataError {
    /// The data lacks `types`, `primaryType`, `domain` or `message`, or one of them has another form.
    #[error("invalid typed data: {}", excerpt(.0))]
    Form(String),
    /// The types do not fit the values.
    #[error("invalid typed data: {}", excerpt(.0))]
    Types(String),
    /// The text is too long.
    #[error("invalid typed data: {0} bytes, at most {MAX_BYTES}")]
    TooLong(usize),
    /// There are too many types or members, or the declaration of a member is too long.
    #[error("invalid typed data: more than {MAX_TYPES} types, members of a type or nested lists")]
    TooMany,
    /// A type has too many members, those of its members' types included.
    #[error("invalid typed data: a type of more than {MAX_RESOLVED} members at all depths")]
    TooLarge,
}

/// Data with its types, as `signTypedData_v4` takes it.
#[derive(Clone, Debug)]
pub struct TypedData(DynTypedData);

impl TypedData {
    /// Reads the JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, TypedDataError> {
        if json.len() > MAX_BYTES {
            return Err(TypedDataError::TooLong(json.len()));
        }
        bound_types(json)?;
        let read: DynTypedData = serde_json::from_slice(json)
            .map_err(|error| TypedDataError::Form(error.to_string()))?;
        bound_resolved(&Eip712Types::from(&read.resolver))?;
        Ok(Self(read))
    }

    /// The hash to sign.
    pub fn signing_hash(&self) -> Result<B256, TypedDataError> {
        let hash = self.0.eip712_signing_hash();
        hash.map_err(|error| TypedDataError::Types(error.to_string()))
    }
}

fn bound_types(json: &[u8]) -> Result<(), TypedDataError> {
    #[derive(serde::Deserialize)]
    struct Types<'a> {
        #[serde(borrow, default)]
        types: std::collections::BTreeMap<String, Vec<&'a serde_json::value::RawValue>>,
    }
    let read: Types<'_> =
        serde_json::from_slice(json).map_err(|error| TypedDataError::Form(error.to_string()))?;
    let fits = read.types.values().all(|members| {
        let short = members.iter().all(|member| member.get().len() <= MAX_MEMBER);
        short && members.len() <= MAX_TYPES
    });
    if read.types.len() > MAX_TYPES || !fits { Err(TypedDataError::TooMany) } else { Ok(()) }
}

/// Limits the cost of resolving the types before they are resolved.
fn bound_resolved(types: &Eip712Types) -> Result<(), TypedDataError> {
    let mut sizes = BTreeMap::new();
    let fits = types.keys().all(|name| resolved_size(types, name, &mut sizes) <= MAX_RESOLVED);
    if fits { Ok(()) } else { Err(TypedDataError::TooLarge) }
}

/// Number of members of the type at all depths. A type inside itself counts once; it is refused later, with its name.
fn resolved_size<'a>(
    types: &'a Eip712Types,
    name: &'a str,
    sizes: &mut BTreeMap<&'a str, usize>,
) -> usize {
    if let Some(known) = sizes.get(name) {
        return *known;
    }
    let Some(members) = types.get(name) else { return 0 };
    sizes.insert(name, 1);
    let mut size = members.len();
    for member in members {
        size = size.saturating_add(resolved_size(types, member.root_type_name(), sizes));
    }
    sizes.insert(name, size);
    size
}
