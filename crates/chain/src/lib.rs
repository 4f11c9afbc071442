//! The contract between the chains, the engine that orders their blocks, and the node around them.
//!
//! * [`ChainVm`] is one chain: it builds, verifies and describes blocks, and reads state through
//!   [`esker_storage::KvRead`]. It never writes: what a block changes is a [`WriteSet`].
//! * [`Bundle`] is what an engine orders: at most one block of each chain.
//! * [`ChainMachine`] is the seam an [`Engine`] drives: propose, verify, finalize. It knows bundles,
//!   parents and state, never votes, so that a Byzantine-fault-tolerant engine can replace the
//!   single-node one without touching a chain.
//! * [`Machine`] implements it over any number of chains: undecided state lives in overlays keyed by
//!   bundle, and a final bundle is **one atomic write** for all chains, indexes, shared memory and the
//!   final position.
//!
//! This crate never speaks HTTP and holds no consensus protocol. Start with `vm.rs` and `machine/mod.rs`.
//!
//! [`WriteSet`]: esker_storage::WriteSet

pub mod address;
pub mod audit;
mod bundle;
mod context;
mod drop_log;
mod engine;
mod error;
pub mod listing;
mod machine;
mod maintenance;
mod stored;
pub mod tables;
mod vm;

pub use bundle::{
    Bundle, BundleId, MAX_BUNDLE_AHEAD_MS, MAX_BUNDLE_BLOCKS, MAX_BUNDLE_SIZE, MAX_BUNDLE_TIME_MS,
};
pub use context::{Aliases, ChainContext, FixedAliases};
pub use drop_log::{DropLog, DropRecord, DropTables, Dropped, MAX_AGE_MS, MAX_RECORDS};
pub use engine::{
    ChainMachine, Engine, EngineError, EngineStatus, ProposeCtx, Role, Shutdown, ShutdownTrigger,
    Verdict,
};
pub use error::{BlockError, ChainError, FinalizeError, ProposeError, RewindError};
pub use machine::{
    AcceptedEvent, GenesisBundle, Machine, MachineConfig, MachineEvent, Rewound, Undo, UndoLimits,
};
pub use maintenance::{Maintenance, Wakeup};
pub use vm::{
    AfterRewind, Backfill, BuildContext, Built, ChainStats, ChainVm, Dialect, ExecutedBlock,
    PoolFigures, Rewinding, Route,
};
