//! The pinned block.

use alloy_primitives::B256;
use esker_evm_state::types::Header;
use serde_json::{Value, json};

use super::header::{HeaderForm, ethereum_hash, form_of, read_header};
use crate::error::{Contradiction, ForkError, HeaderHashError};
use crate::json::{FieldError, quantity};
use crate::source::{Call, Source};

/// A field of the C-Chain's headers since Granite.
const GRANITE_FIELD: &str = "timestampMilliseconds";

/// The block to fork at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockChoice {
    /// By its height.
    Number(u64),
    /// By its hash.
    Hash(B256),
    /// The newest block.
    Latest,
    /// The newest safe block.
    Safe,
    /// The newest final block.
    Finalized,
}

impl std::fmt::Display for BlockChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Hash(hash) => write!(f, "{hash}"),
            Self::Latest => f.write_str("latest"),
            Self::Safe => f.write_str("safe"),
            Self::Finalized => f.write_str("finalized"),
        }
    }
}

impl BlockChoice {
    fn call(self) -> Call {
        let by_number = |block: Value| Call::new("eth_getBlockByNumber", json!([block, false]));
        match self {
            Self::Number(number) => by_number(format!("{number:#x}").into()),
            Self::Hash(hash) => Call::new("eth_getBlockByHash", json!([hash.to_string(), false])),
            tag @ (Self::Latest | Self::Safe | Self::Finalized) => {
                by_number(tag.to_string().into())
            }
        }
    }
}

/// The block whose state is the base of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The chain's ID.
    pub chain_id: u64,
    /// The block's hash.
    pub hash: B256,
    /// The form in which the header has this hash.
    pub form: HeaderForm,
    /// The header. In the form [`HeaderForm::Unknown`] only what the source says.
    pub header: Header,
    /// The block as the source gave it, with the hashes of its transactions.
    json: String,
}

impl Pin {
    /// Reads a header of JSON-RPC, and recomputes its hash.
    ///
    /// # Errors
    /// A field is missing or has another form.
    pub fn from_json(chain_id: u64, value: &Value) -> Result<Self, FieldError> {
        let (header, hash) = read_header(value)?;
        let json = value.to_string();
        Ok(Self { chain_id, hash, form: form_of(&header, hash), header, json })
    }

    /// Whether the hash was recomputed from the header.
    pub fn is_verified(&self) -> bool {
        self.form != HeaderForm::Unknown
    }

    /// The block as the source gave it, with the hashes of its transactions.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The header as the source gave it, without what else is in the block.
    pub(crate) fn header_json(&self) -> String {
        let mut value: Value = serde_json::from_str(&self.json).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, value| !value.is_array() && name != "size");
        }
        value.to_string()
    }
}

/// Asks a source for a block once, and makes the source one of its chain only.
///
/// # Errors
/// The source does not answer, does not have the block, answers with another one, or the header's hash is not that of
/// its fields, and `accepts_unknown_header` is not set.
pub async fn resolve(
    source: &Source,
    choice: BlockChoice,
    accepts_unknown_header: bool,
) -> Result<Pin, ForkError> {
    let call = choice.call();
    let method = call.method;
    let mut answers = source.batch(&[Call::new("eth_chainId", json!([])), call]).await.into_iter();
    let (Some(id), Some(block)) = (answers.next(), answers.next()) else {
        return Err(ForkError::Cancelled);
    };
    let (id, block) = (id?, block?);
    let url = block.url.to_string();
    let chain_id = quantity(&id.result).and_then(|id| u64::try_from(id).ok());
    let chain_id = chain_id.ok_or_else(|| ForkError::Form {
        url: id.url.to_string(),
        method: "eth_chainId",
        fault: FieldError::new("", "a number of at most 64 bits", Some(&id.result)),
    })?;
    if block.result.is_null() {
        return Err(ForkError::NoBlock { url, block: choice.to_string() });
    }
    let pin = Pin::from_json(chain_id, &block.result);
    let pin = pin.map_err(|fault| ForkError::Form { url: url.clone(), method, fault })?;
    check_choice(choice, &pin, &url, method)?;
    if !pin.is_verified() && !accepts_unknown_header {
        let (ethereum, c_chain) = (ethereum_hash(&pin.header), pin.header.hash());
        let is_granite = block.result.get(GRANITE_FIELD).is_some();
        let claimed = pin.hash;
        let error = HeaderHashError { url, method, claimed, ethereum, c_chain, is_granite };
        return Err(ForkError::HeaderHash(Box::new(error)));
    }
    source.expect_chain(chain_id, &id.url);
    Ok(pin)
}

/// Checks that the block is the one that was asked for.
fn check_choice(
    choice: BlockChoice,
    pin: &Pin,
    url: &str,
    method: &'static str,
) -> Result<(), ForkError> {
    let contradiction = |field, claimed: String| {
        let (url, part) = (url.to_owned(), format!("block {choice}"));
        Contradiction { url, method, part, field, claimed, proven: choice.to_string() }.into()
    };
    match choice {
        BlockChoice::Number(number) if number != pin.header.number => {
            Err(contradiction("number", pin.header.number.to_string()))
        }
        BlockChoice::Hash(hash) if hash != pin.hash => {
            Err(contradiction("hash", pin.hash.to_string()))
        }
        _ => Ok(()),
    }
}
