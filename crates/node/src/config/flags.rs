//! What a command line says about the configuration.

use std::collections::BTreeMap;

/// Flags that were given, by name, with their texts.
pub type Flags = BTreeMap<&'static str, String>;

/// How the node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `esker dev`: the development network, with a screen.
    Dev,
    /// `esker node`: any network, quiet.
    Node,
}
