//! The command line's part of the configuration.

use std::collections::BTreeMap;

/// Flags that were given, by name, with their texts.
pub type Flags = BTreeMap<&'static str, String>;

/// The mode of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `esker dev`: the development network, with a screen.
    Dev,
    /// `esker evm`: one chain of the EVM alone, with a screen.
    Evm,
    /// `esker node`: any network, quiet.
    Node,
}

impl Mode {
    /// Whether it is a node for development, with a screen.
    pub const fn is_development(self) -> bool {
        match self {
            Self::Dev | Self::Evm => true,
            Self::Node => false,
        }
    }

    /// The command that runs such a node.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Dev => "esker dev",
            Self::Evm => "esker evm",
            Self::Node => "esker node",
        }
    }
}
