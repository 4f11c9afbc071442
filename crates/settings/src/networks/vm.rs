//! The kinds of virtual machines.

use std::fmt;
use std::str::FromStr;

use esker_primitives::Id;
use esker_xvm::genesis::primary;
use thiserror::Error;

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

/// A text names no virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown virtual machine \"{0}\", expected xvm or evm")]
pub struct UnknownVm(String);

impl FromStr for Vm {
    type Err = UnknownVm;

    /// Its name, or the reference's.
    fn from_str(text: &str) -> Result<Self, UnknownVm> {
        match text {
            "xvm" | "avm" => Ok(Self::Xvm),
            "evm" => Ok(Self::Evm),
            other => Err(UnknownVm(other.to_owned())),
        }
    }
}

/// The reason why settings of the C-Chain's rules are refused on a chain with Ethereum's.
pub(crate) const C_CHAIN_ONLY: &str = "for chains with the C-Chain's rules; this one has Ethereum's, whose fees follow from its genesis";

/// The name of the rules of an EVM chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesName {
    /// The C-Chain's.
    CChain,
    /// Ethereum's.
    Ethereum,
}

/// A text names no rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown rules \"{0}\", expected c-chain or ethereum")]
pub struct UnknownRules(String);

impl FromStr for RulesName {
    type Err = UnknownRules;

    fn from_str(text: &str) -> Result<Self, UnknownRules> {
        match text {
            "c-chain" => Ok(Self::CChain),
            "ethereum" => Ok(Self::Ethereum),
            other => Err(UnknownRules(other.to_owned())),
        }
    }
}
