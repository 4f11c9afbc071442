//! Followers: nodes that take the bundles of another node.

mod access;
mod avalanchego;
mod beginning;
mod crowd;
mod faults;
mod forward;
mod golden;
pub(crate) mod lies;
mod load;
mod measure;
mod snapshot;
mod snapshot_faults;
mod snapshot_use;
pub(crate) mod support;
