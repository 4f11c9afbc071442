//! The commitment of the state: what a bundle says of the rows that block formats do not commit to
//! (docs/protocol/bundles.md, "State commitment").
//!
//! * [`StateTable`]: a table of the committed state; each chain lists its own ([`ChainVm::state_tables`]).
//!   [`StateTables`] are those of all chains, with the prefixes of their rows in the store.
//! * [`StatePart`]: the set hash of the rows of one part: a chain, or all that is node-wide.
//! * [`StateSummary`]: the checksums of the parts and the last block of each chain. Its hash is the commitment.
//!
//! The rows [`STATE_PARTS`](crate::tables::STATE_PARTS) and [`STATE`](crate::tables::STATE) are in the write set of
//! each bundle, so they hold for undecided bundles, after a rewind and after a restart.
//!
//! A state that arrives as rows is checked without a store: add each row to the [`StatePart`] of its part with
//! [`StatePart::insert`], compare [`StatePart::checksum`] with the [`StateSummary`] that the source sent, and
//! [`StateSummary::commitment`] with the bundle.
//!
//! [`ChainVm::state_tables`]: crate::ChainVm::state_tables

mod change;
mod part;
mod read;
mod scan;
mod stored_tables;
mod summary;
mod table;

use esker_primitives::{ChainId, Id};

pub(crate) use self::change::StateChange;
pub use self::part::StatePart;
pub use self::scan::{compute_parts, compute_summary};
pub use self::stored_tables::{StateTables, StoredTable};
pub use self::summary::{ChainState, StateSummary};
pub use self::table::StateTable;

/// Part of the rows that belong to no chain: shared memory.
pub const SHARED_PART: ChainId = Id::ZERO;
