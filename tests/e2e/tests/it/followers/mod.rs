//! Followers: nodes that take the bundles of another node.

mod access;
mod avalanchego;
mod faults;
mod forward;
mod golden;
mod lies;
mod load;
mod measure;
mod snapshot;
pub(crate) mod support;
