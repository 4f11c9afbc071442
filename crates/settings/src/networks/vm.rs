//! The kinds of virtual machines.

use std::fmt;
use std::str::FromStr;

use esker_primitives::Id;
use esker_xvm::genesis::primary;

/// A kind of virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vm {
    /// The asset VM.
    Xvm,
    /// The EVM.
    Evm,
}

impl Vm {
    /// Its ID.
    pub fn id(self) -> Id {
        match self {
            Self::Xvm => primary::XVM_ID,
            Self::Evm => primary::EVM_ID,
        }
    }

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xvm => "xvm",
            Self::Evm => "evm",
        }
    }
}

impl fmt::Display for Vm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Vm {
    type Err = String;

    /// Its name, or the reference's.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "xvm" | "avm" => Ok(Self::Xvm),
            "evm" => Ok(Self::Evm),
            other => Err(format!("unknown virtual machine \"{other}\", expected xvm or evm")),
        }
    }
}
