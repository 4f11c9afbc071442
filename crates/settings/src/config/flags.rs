//! The command line's part of the configuration.

use std::collections::BTreeMap;

/// Flags that were given, by name, with their texts.
pub type Flags = BTreeMap<&'static str, String>;

/// The mode of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `esker dev`: the development network, with a screen.
    Dev,
    /// `esker node`: any network, quiet.
    Node,
}
