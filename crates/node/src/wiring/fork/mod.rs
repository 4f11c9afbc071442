//! The block of another node on which the EVM chain begins.

mod c_chain_rules;
mod choice;
mod form;
mod open;
mod origin;
mod prepared;
mod recorded;
mod rules;
mod rules_origin;

pub(super) use open::open;
pub(super) use recorded::refuse;
