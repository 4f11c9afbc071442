//! The stages of a start. Each owns what it made and what the stages before it made, so a start that fails at any of them
//! leaves nothing behind: what depends on something else is dropped before it.

mod chains;
mod http;
mod order;
mod serve;
mod store;

pub(super) use chains::ChainStage;
pub(super) use order::OrderStage;
pub(super) use store::StoreStage;
