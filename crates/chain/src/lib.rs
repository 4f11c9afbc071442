//! The contract between the chains, the engine that orders their blocks, and the node.
//!
//! * [`ChainVm`] is one chain: it builds, verifies and describes blocks, and reads state through
//!   [`esker_storage::KvRead`]. It never writes: a block's changes are a [`WriteSet`].
//! * [`Bundle`] is the unit that an engine orders: at most one block of each chain.
//! * [`ChainMachine`] is the interface that an [`Engine`] drives: propose, verify, finalize. It has bundles, parents
//!   and state, but no votes. A Byzantine-fault-tolerant engine can replace the single-node one without a change to
//!   any chain.
//! * [`Machine`] implements it over any number of chains. Undecided state is kept in overlays, one for each bundle. A
//!   final bundle is **one atomic write** for all chains, indexes, shared memory and the final position.
//! * [`commitment`] is what a bundle says of the state after it.
//!
//! This crate has no HTTP and no consensus protocol. Start with `vm.rs` and `machine/mod.rs`.
//!
//! [`WriteSet`]: esker_storage::WriteSet

pub mod address;
mod adjustable_clock;
pub mod audit;
mod block_waits;
mod bundle;
pub mod commitment;
mod context;
mod drop_log;
mod engine;
mod error;
mod figures;
mod final_bundles;
mod finality;
pub mod forward;
mod impersonations;
mod machine;
mod maintenance;
mod report;
pub mod snapshot;
mod stored;
pub mod tables;
mod transfer_log;
mod verdict;
mod vm;

pub use adjustable_clock::{AdjustableClock, ClockSetting};
pub use block_waits::{BlockWait, BlockWaits, MAX_BLOCK_WAIT, MAX_BLOCK_WAITS};
pub use bundle::{
    Bundle, BundleId, MAX_BUNDLE_AHEAD_MS, MAX_BUNDLE_BLOCKS, MAX_BUNDLE_SIZE, MAX_BUNDLE_TIME_MS,
};
pub use context::{Aliases, ChainContext, FixedAliases};
pub use drop_log::{DropLog, DropRecord, DropTables, Dropped, MAX_AGE_MS, MAX_RECORDS};
pub use engine::{
    ChainMachine, Engine, EngineError, EngineStatus, ProposeCtx, Role, Shutdown, ShutdownTrigger,
};
pub use error::{BlockError, ChainError, FinalizeError, ProposeError, RewindError};
pub use figures::{ChainStats, GasFigures, PoolFigures, ReasonCounters};
pub use finality::{ProofError, ProofVerifier};
pub use impersonations::{Impersonations, MAX_IMPERSONATED, NotImpersonated, TooManyImpersonated};
pub use machine::{
    AcceptedEvent, BuildPause, GenesisBundle, Machine, MachineConfig, MachineEvent, OneChainOnly,
    Rewound, Undo, UndoLimits, write_initial_rows,
};
pub use maintenance::{Maintenance, Wakeup};
pub use report::{BlockReport, PrintedTexts, RunFailure, RunReport, RunTarget, TxNames, TxReport};
pub use transfer_log::{Transfer, TransferKind};
pub use verdict::Verdict;
pub use vm::{
    AfterRewind, Backfill, BlockFigures, BuildContext, Built, ChainVm, ExecutedBlock, Rewinding,
};
