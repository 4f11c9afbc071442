//! The chains of a node: their names ([`AliasTable`]) and how each kind is made ([`factory`]).

mod aliases;
pub mod factory;

pub use aliases::{AliasError, AliasTable};
