//! Followers: nodes that take the bundles of another node.

mod access;
mod faults;
mod lies;
mod load;
mod support;
