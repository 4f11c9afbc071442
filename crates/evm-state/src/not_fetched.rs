//! Parts of the state below the store's that are not here yet.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_trie::Nibbles;
use thiserror::Error;

/// A part of the base state that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Want {
    /// An account.
    Account(Address),
    /// The value of a slot.
    Slot(Address, U256),
    /// Code by its hash. An account with it is known.
    Code(B256),
    /// A node of the account trie.
    AccountNode(Nibbles),
    /// A node of an account's storage trie.
    StorageNode(Address, Nibbles),
    /// The hash of a block before the base's.
    BlockHash(u64),
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) => write!(f, "account {address}"),
            Self::Slot(address, slot) => write!(f, "slot {slot:#x} of {address}"),
            Self::Code(hash) => write!(f, "code {hash}"),
            Self::AccountNode(path) => write!(f, "account trie node {}", path_text(path)),
            Self::StorageNode(address, path) => {
                write!(f, "storage trie node {} of {address}", path_text(path))
            }
            Self::BlockHash(number) => write!(f, "the hash of block {number}"),
        }
    }
}

/// The nibbles of a path, one digit each.
pub fn path_text(path: &Nibbles) -> String {
    path.iter().map(|nibble| char::from_digit(u32::from(nibble), 16).unwrap_or('?')).collect()
}

/// The call whose run lacks parts. The source may know what else the call reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LackingCall {
    /// The sender.
    pub from: Address,
    /// The recipient; `None` creates a contract.
    pub to: Option<Address>,
    /// Value, wei.
    pub value: U256,
    /// Call data, or init code.
    pub input: Bytes,
    /// Gas limit.
    pub gas: u64,
}

/// The future of a fetch; the error is for the client.
pub type Fetching = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Takes the outcome of a fetch.
pub type OnFetched = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Fetches parts of a base state.
pub trait FetchState: Send + Sync {
    /// Fetches parts. Afterwards a run that lacked them may begin again. `call` is a hint only.
    fn fetch(&self, wants: BTreeSet<Want>, call: Option<Arc<LackingCall>>) -> Fetching;

    /// Begins to fetch parts, and reports the outcome. Any thread may call this.
    fn begin(&self, wants: BTreeSet<Want>, then: OnFetched);

    /// Whether nothing can ever be fetched.
    fn is_closed(&self) -> bool {
        false
    }
}

/// Parts of the base state are not here yet. The run that needed them may begin again once they were fetched.
#[derive(Clone, Error)]
pub struct NotFetched {
    wants: BTreeSet<Want>,
    call: Option<Arc<LackingCall>>,
    fetcher: Arc<dyn FetchState>,
}

impl NotFetched {
    /// A part is not here.
    pub fn new(want: Want, fetcher: Arc<dyn FetchState>) -> Self {
        Self { wants: BTreeSet::from([want]), call: None, fetcher }
    }

    /// What is not here.
    pub fn wants(&self) -> &BTreeSet<Want> {
        &self.wants
    }

    /// Whether it can never be fetched.
    pub fn is_final(&self) -> bool {
        self.fetcher.is_closed()
    }

    /// Adds what else the same run lacks.
    pub fn add(&mut self, more: &Self) {
        self.wants.extend(more.wants.iter().cloned());
    }

    /// Names the call that lacks it.
    pub fn with_call(self, call: LackingCall) -> Self {
        Self { call: Some(Arc::new(call)), ..self }
    }

    /// Fetches all of it.
    pub fn fetch(&self) -> Fetching {
        self.fetcher.fetch(self.wants.clone(), self.call.clone())
    }

    /// Begins to fetch all of it, and reports the outcome.
    pub fn begin(&self, then: OnFetched) {
        self.fetcher.begin(self.wants.clone(), then);
    }
}

impl fmt::Display for NotFetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.wants.len();
        match self.wants.first() {
            Some(want) if count == 1 => write!(f, "{want} of the forked state is not fetched yet"),
            Some(want) => write!(
                f,
                "{want} and {} more parts of the forked state are not fetched yet",
                count - 1
            ),
            None => f.write_str("nothing of the forked state is lacking"),
        }
    }
}

impl fmt::Debug for NotFetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotFetched").field("wants", &self.wants).finish_non_exhaustive()
    }
}
