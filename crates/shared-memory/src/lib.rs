//! Values that one chain of the node leaves for another: the atomic key-value exchange behind exports and imports.
//!
//! Each ordered pair of chains has a space of its own. The source puts [`Element`]s into it, the destination reads
//! them ([`get`], [`indexed`]) and removes them; both through [`apply`], which adds to the pending writes of the block
//! that does it, so that what is exchanged is committed together with the chains' state or not at all.
//!
//! Nothing here knows a UTXO: keys, values and traits are bytes. Elements may be removed before they are put (a chain
//! that catches up before its peer); the space then remembers the removal until the put comes.
//!
//! Start with [`apply`] for the rules and [`indexed`] for the order of pages; [`visit_page`] reads them for owners.

mod apply;
mod audit;
mod error;
mod page;
mod query;
mod restore;
mod tables;

pub use apply::{Element, Requests, apply};
pub use audit::{compare, visit};
pub use error::{SharedMemoryError, SharedMemoryResult};
pub use page::{MAX_UTXO_PAGE, PageEnd, PageStart, visit_page};
pub use query::{Cursor, Page, get, indexed};
pub use restore::{ROW_KEY_LEN, restore_row};
pub use tables::{ELEMENTS_TAG, MAX_KEY_LEN, MAX_TRAIT_LEN};
