//! The ABI of a contract.

use std::collections::HashMap;
use std::sync::Arc;

use alloy_primitives::B256;

use crate::item::{Item, RawItem, Selector};

/// Most items of an ABI.
const MAX_ITEMS: usize = 4096;

/// An event's first topic, and the number of its further topics: events of ERC-20 and ERC-721 have the same first one.
pub(crate) type EventKey = (B256, usize);

/// The constructor, functions, events and errors of a contract.
#[derive(Clone, Debug, Default)]
pub struct Abi {
    /// `None`: it has no parameters.
    pub(crate) constructor: Option<Arc<Item>>,
    pub(crate) functions: HashMap<Selector, Arc<Item>>,
    pub(crate) events: HashMap<EventKey, Arc<Item>>,
    pub(crate) errors: HashMap<Selector, Arc<Item>>,
}

impl Abi {
    pub(crate) fn parse(raw: &[RawItem]) -> Self {
        let mut abi = Self::default();
        for one in raw.iter().take(MAX_ITEMS) {
            if one.kind == "constructor" {
                abi.constructor = Item::parse_constructor(one).map(Arc::new);
                continue;
            }
            let Some(item) = Item::parse(one) else { continue };
            abi.push(&one.kind, one.anonymous, item);
        }
        abi
    }

    pub(crate) fn push(&mut self, kind: &str, is_anonymous: bool, item: Item) {
        let item = Arc::new(item);
        match kind {
            "function" => {
                self.functions.entry(item.selector()).or_insert(item);
            }
            "error" => {
                self.errors.entry(item.selector()).or_insert(item);
            }
            "event" if !is_anonymous => {
                self.events.entry((item.hash(), item.indexed())).or_insert(item);
            }
            _ => {}
        }
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn size(&self) -> usize {
        let Self { constructor, functions, events, errors } = self;
        let items = functions.values().chain(events.values()).chain(errors.values());
        let items = items.chain(constructor);
        items.map(|item| item.size()).sum()
    }

    /// Adds the functions, events and errors that another ABI has and this one has not.
    pub(crate) fn extend(&mut self, other: &Self) {
        let Self { constructor: _, functions, events, errors } = other;
        for (key, item) in functions {
            self.functions.entry(*key).or_insert_with(|| Arc::clone(item));
        }
        for (key, item) in events {
            self.events.entry(*key).or_insert_with(|| Arc::clone(item));
        }
        for (key, item) in errors {
            self.errors.entry(*key).or_insert_with(|| Arc::clone(item));
        }
    }
}
