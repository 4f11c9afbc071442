//! A page of an account's transactions.

use std::ops::ControlFlow;

use alloy_primitives::Address;
use esker_storage::{KvRead, Scope, StorageResult};

use super::places::TxPlaces;
use super::tables::ADDRESS_TXS;

/// What to find.
#[derive(Clone, Copy, Debug)]
pub struct AddressQuery {
    /// The account.
    pub address: Address,
    /// The lowest height.
    pub from: u64,
    /// The highest height.
    pub to: u64,
    /// Begin with the newest block instead of the oldest one.
    pub is_backward: bool,
    /// Transactions after which the page ends. A block is never cut, so it may have more.
    pub count: usize,
}

/// The transactions of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPlaces {
    /// Height of the block.
    pub height: u64,
    /// Places in the block, ascending.
    pub places: Vec<u32>,
}

/// A page of an account's transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPage {
    /// Blocks, in the order of the query.
    pub blocks: Vec<BlockPlaces>,
    /// Whether the range has further blocks with such transactions.
    pub has_more: bool,
}

/// The first page of a range of heights. It reads a row for each block of the page, and one more.
pub fn find(reader: &dyn KvRead, scope: Scope, query: &AddressQuery) -> StorageResult<AddressPage> {
    match query.is_backward {
        true => find_back(reader, scope, query),
        false => find_forth(reader, scope, query),
    }
}

fn find_back(
    reader: &dyn KvRead,
    scope: Scope,
    query: &AddressQuery,
) -> StorageResult<AddressPage> {
    let mut page = PageBuilder::new(query);
    let mut to = Some(query.to);
    while let Some(height) = to {
        let key = ADDRESS_TXS.key(scope, &(query.address.into_array(), height));
        let row = key.len() - size_of::<u64>();
        let Some((found, value)) = reader.seek_back(&key)? else { break };
        if found.len() != key.len() || found[..row] != key[..row] {
            break;
        }
        let ((_, height), TxPlaces(places)) =
            ADDRESS_TXS.entry(&found[ADDRESS_TXS.prefix(scope).len()..], &value)?;
        if height < query.from || page.add(height, places).is_break() {
            break;
        }
        to = height.checked_sub(1);
    }
    Ok(page.page)
}

fn find_forth(
    reader: &dyn KvRead,
    scope: Scope,
    query: &AddressQuery,
) -> StorageResult<AddressPage> {
    let mut page = PageBuilder::new(query);
    let address = query.address.into_array();
    let from = [&address[..], &query.from.to_be_bytes()].concat();
    let mut damaged = Ok(());
    ADDRESS_TXS.scan(reader, scope, &address, Some(&from), |key, value| {
        match ADDRESS_TXS.entry(key, value) {
            Ok(((_, height), _)) if height > query.to => ControlFlow::Break(()),
            Ok(((_, height), TxPlaces(places))) => page.add(height, places),
            Err(error) => {
                damaged = Err(error);
                ControlFlow::Break(())
            }
        }
    })?;
    damaged.map(|()| page.page)
}

struct PageBuilder {
    page: AddressPage,
    left: usize,
}

impl PageBuilder {
    fn new(query: &AddressQuery) -> Self {
        Self { page: AddressPage::default(), left: query.count }
    }

    /// Adds a block, unless the page is full.
    fn add(&mut self, height: u64, places: Vec<u32>) -> ControlFlow<()> {
        if self.left == 0 {
            self.page.has_more = true;
            return ControlFlow::Break(());
        }
        self.left = self.left.saturating_sub(places.len());
        self.page.blocks.push(BlockPlaces { height, places });
        ControlFlow::Continue(())
    }
}
