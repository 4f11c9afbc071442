//! Functions, events and errors of an ABI.

use alloy_primitives::{B256, keccak256};
use serde::Deserialize;

use crate::types::{self, Param, RawParam};

/// The first bytes of call data, which name a function; also of a revert's data.
pub(crate) type Selector = [u8; 4];

/// Bytes that an item and its place in an index take beside its name and its types.
const OVERHEAD: usize = 128;

/// A function, an event or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) inputs: Vec<Param>,
}

/// An item as artifacts have it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RawItem {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) inputs: Vec<RawParam>,
    #[serde(default)]
    pub(crate) anonymous: bool,
}

impl Item {
    /// The item; `None` if its name or a type is not one of the language.
    pub(crate) fn parse(raw: &RawItem) -> Option<Self> {
        let name = raw.name.clone().filter(|name| types::is_identifier(name))?;
        Some(Self { name, inputs: types::parse(&raw.inputs)? })
    }

    /// The constructor; `None` if it has no parameters, or a type that is not one of the language.
    pub(crate) fn parse_constructor(raw: &RawItem) -> Option<Self> {
        let inputs = types::parse(&raw.inputs).filter(|inputs| !inputs.is_empty())?;
        Some(Self { name: "constructor".to_owned(), inputs })
    }

    /// `transfer(address,uint256)`
    pub(crate) fn signature(&self) -> String {
        format!("{}({})", self.name, types::list(&self.inputs))
    }

    /// The hash of the signature: the first topic of an event.
    pub(crate) fn hash(&self) -> B256 {
        keccak256(self.signature())
    }

    pub(crate) fn selector(&self) -> Selector {
        let [a, b, c, d, ..] = self.hash().0;
        [a, b, c, d]
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn size(&self) -> usize {
        OVERHEAD + self.name.len() + types::size(&self.inputs)
    }

    /// The number of parameters that are topics.
    pub(crate) fn indexed(&self) -> usize {
        self.inputs.iter().filter(|input| input.is_indexed).count()
    }
}
