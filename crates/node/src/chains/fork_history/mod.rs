//! What was before the block on which a forked chain begins: its source answers, its answers are checked, and the newest are kept.

mod answers;
mod ask;
mod methods;
mod offline;
mod room;

pub(super) use methods::ForkHistory;
