//! Structured data to sign (EIP-712).

use alloy_dyn_abi::TypedData as DynTypedData;
use alloy_primitives::B256;
use thiserror::Error;

/// Most types that data may declare, and most members of one type: resolving them takes time that grows
/// with the product.
const MAX_TYPES: usize = 256;

/// Longest declaration of a member, bytes: a type is nested as deep as it has brackets.
const MAX_MEMBER: usize = 2 * MAX_TYPES;

/// Why data can't be signed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypedDataError {
    /// It lacks `types`, `primaryType`, `domain` or `message`, or one of them has another form.
    #[error("invalid typed data: {0}")]
    Form(String),
    /// Its types do not fit its values.
    #[error("invalid typed data: {0}")]
    Types(String),
    /// Too many types, too many members, or one declared at too great length.
    #[error("invalid typed data: more than {MAX_TYPES} types, members of a type or nested lists")]
    TooMany,
}

/// Data with its types, as `signTypedData_v4` takes it.
#[derive(Clone, Debug)]
pub struct TypedData(DynTypedData);

impl TypedData {
    /// Reads the JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, TypedDataError> {
        bound_types(json)?;
        let read = serde_json::from_slice(json);
        read.map(Self).map_err(|error| TypedDataError::Form(error.to_string()))
    }

    /// What is signed.
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
