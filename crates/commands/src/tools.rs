//! The commands in the place of another tool's: `esker anvil` and `esker hardhat`.

use esker_node::StartError;
use esker_settings::config::Flags;

use crate::anvil::{AnvilCommand, AnvilOutput};
use crate::screen::{self, Ready};

/// A parsed command line of such a tool.
#[derive(Debug)]
pub struct ToolCommand {
    /// The settings of the node.
    pub flags: Flags,
    /// What is written when the node is ready.
    pub output: ToolOutput,
}

/// What is written when the node is ready.
#[derive(Clone, Debug)]
pub enum ToolOutput {
    /// Anvil's banner, and perhaps its file.
    Anvil(AnvilOutput),
    /// The banner of `npx hardhat node`.
    Hardhat,
}

impl From<AnvilCommand> for ToolCommand {
    fn from(command: AnvilCommand) -> Self {
        Self { flags: command.flags, output: ToolOutput::Anvil(command.output) }
    }
}

impl ToolOutput {
    /// The banner, with the line for which launchers wait.
    pub fn banner(&self, ready: &Ready) -> String {
        match self {
            Self::Anvil(output) => output.banner(ready),
            Self::Hardhat => screen::hardhat_banner(ready),
        }
    }

    /// Whether each call is shown below the banner, and not only those that print or fail.
    pub fn shows_calls(&self) -> bool {
        matches!(self, Self::Hardhat)
    }

    /// Writes the file that the user asked for, if any.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write_config(&self, ready: &Ready) -> Result<(), StartError> {
        match self {
            Self::Anvil(output) => output.write_config(ready),
            Self::Hardhat => Ok(()),
        }
    }
}
