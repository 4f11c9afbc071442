//! Decoding of calls, events and errors by their item.

use std::fmt;
use std::sync::Arc;

use alloy_primitives::{B256, hex};

use crate::item::Item;
use crate::text::{Stop, Text};
use crate::types::{AbiType, Param};

/// Most bytes of all values.
const MAX_TEXT: usize = 2000;

/// A call, an event or an error with its names. The text has one line of bounded length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The contract whose ABI has it, if it is known.
    pub contract: Option<Arc<str>>,
    /// The name of the function, the event or the error; of a call without one what is known of it.
    pub name: String,
    /// The first arguments; `None` if they can't be decoded.
    pub arguments: Option<Vec<Argument>>,
    /// Whether the last argument is cut and further ones are left out.
    pub is_cut: bool,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name; empty: it has none.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Decoded {
    /// Without the contract: `Transfer(from: 0x.., to: 0x.., value: 5)`.
    #[must_use]
    pub fn without_contract(mut self) -> Self {
        self.contract = None;
        self
    }

    /// Without the contract and the names of arguments: `Unauthorized(5)`.
    #[must_use]
    pub fn without_names(mut self) -> Self {
        self.contract = None;
        self.arguments.iter_mut().flatten().for_each(|argument| argument.name.clear());
        self
    }
}

impl fmt::Display for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(contract) = &self.contract {
            write!(f, "{contract}.")?;
        }
        f.write_str(&self.name)?;
        let Some(arguments) = &self.arguments else { return Ok(()) };
        f.write_str("(")?;
        for (index, Argument { name, value }) in arguments.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            match name.as_str() {
                "" => write!(f, "{separator}{value}")?,
                name => write!(f, "{separator}{name}: {value}")?,
            }
        }
        // A value that is cut says so itself.
        f.write_str(")")
    }
}

impl Item {
    /// Decodes what follows a selector; `None` if it is not the item's.
    pub(crate) fn decode(&self, data: &[u8]) -> Option<Decoded> {
        let mut values = Values::new();
        let mut at = 0_usize;
        for input in &self.inputs {
            if !values.push(input, |text| text.value(&input.ty, data, at))? {
                break;
            }
            at = at.checked_add(input.ty.head())?;
        }
        Some(values.into_decoded(self))
    }

    /// What is known of data whose arguments are not the item's.
    pub(crate) fn malformed(&self, data: &[u8]) -> Decoded {
        let (name, length) = (&self.name, data.len());
        Decoded::undecoded(format!("{name} (malformed arguments, {length} bytes)"))
    }

    /// Decodes an event; `None` if topics or data are not the item's.
    pub(crate) fn decode_event(&self, topics: &[B256], data: &[u8]) -> Option<Decoded> {
        let (mut values, mut topics) = (Values::new(), topics.iter().skip(1));
        let mut at = 0_usize;
        for input in &self.inputs {
            let is_whole = if input.is_indexed {
                let topic = topics.next()?;
                values.push(input, |text| text.topic(&input.ty, topic))?
            } else {
                let head = at;
                at = at.checked_add(input.ty.head())?;
                values.push(input, |text| text.value(&input.ty, data, head))?
            };
            if !is_whole {
                break;
            }
        }
        Some(values.into_decoded(self))
    }
}

impl Text {
    /// Writes an indexed value. Of those that are longer than a word the topic is the hash.
    fn topic(&mut self, ty: &AbiType, topic: &B256) -> Result<(), Stop> {
        match ty {
            AbiType::Bytes
            | AbiType::String
            | AbiType::Array(_)
            | AbiType::FixedArray(..)
            | AbiType::Tuple(_) => self.hash(topic),
            ty => self.value(ty, &topic.0, 0),
        }
    }

    fn hash(&mut self, topic: &B256) -> Result<(), Stop> {
        self.value(&AbiType::FixedBytes(32), &topic.0, 0)
    }
}

/// The arguments so far.
struct Values {
    arguments: Vec<Argument>,
    is_cut: bool,
    left: usize,
}

impl Values {
    const fn new() -> Self {
        Self { arguments: Vec::new(), is_cut: false, left: MAX_TEXT }
    }

    fn into_decoded(self, item: &Item) -> Decoded {
        let Self { arguments, is_cut, .. } = self;
        Decoded { contract: None, name: item.name.clone(), arguments: Some(arguments), is_cut }
    }

    /// Adds an argument. Returns whether there is room for more; `None`: the data is malformed.
    fn push(
        &mut self,
        input: &Param,
        write: impl FnOnce(&mut Text) -> Result<(), Stop>,
    ) -> Option<bool> {
        let mut text = Text::new(self.left);
        let written = write(&mut text);
        let mut value = text.into_string();
        let is_whole = match written {
            Ok(()) => true,
            Err(Stop::Full) => false,
            Err(Stop::Malformed) => return None,
        };
        self.left = self.left.saturating_sub(value.len() + input.name.len() + 4);
        if !is_whole {
            self.is_cut = true;
            value.push_str("...");
        }
        self.arguments.push(Argument { name: input.name.clone(), value });
        Some(is_whole)
    }
}

impl Decoded {
    /// A call of which only this is known.
    pub(crate) const fn undecoded(name: String) -> Self {
        Self { contract: None, name, arguments: None, is_cut: false }
    }
}

/// What is known of a call of a function without a name.
pub(crate) fn unnamed(data: &[u8]) -> String {
    match data.len() {
        0 => "receive()".to_owned(),
        length => {
            let selector = hex::encode_prefixed(&data[..length.min(4)]);
            format!("{selector} (unknown function, {length} bytes)")
        }
    }
}
