//! The stages of a start. Each stage owns what it made and what the stages before it made. A start that fails at any
//! of them leaves nothing behind: a part is dropped before the parts on which it depends.

mod chains;
mod http;
mod order;
mod serve;
mod store;

pub(super) use chains::ChainStage;
pub(super) use order::OrderStage;
pub(super) use store::StoreStage;
