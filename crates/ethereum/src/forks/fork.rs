//! The forks by name.

use thiserror::Error;

/// A set of rules, in chronological order. The DAO fork is none of them: it changes one block's state and the extra
/// data of ten blocks ([`super::ChainConfig::dao_fork_support`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fork {
    /// The beginning.
    Frontier,
    /// EIP-2, EIP-7: DELEGATECALL.
    Homestead,
    /// EIP-150: gas of IO-heavy operations.
    TangerineWhistle,
    /// EIP-155, EIP-158, EIP-160, EIP-161, EIP-170.
    SpuriousDragon,
    /// EIP-100, EIP-140, EIP-196 to 198, EIP-211, EIP-214, EIP-649, EIP-658.
    Byzantium,
    /// EIP-145, EIP-1014, EIP-1052, EIP-1234, EIP-1283.
    Constantinople,
    /// Constantinople without EIP-1283.
    Petersburg,
    /// EIP-152, EIP-1108, EIP-1344, EIP-1884, EIP-2028, EIP-2200.
    Istanbul,
    /// EIP-2384: a delay of the difficulty bomb.
    MuirGlacier,
    /// EIP-2565, EIP-2718, EIP-2929, EIP-2930.
    Berlin,
    /// EIP-1559, EIP-3198, EIP-3529, EIP-3541, EIP-3554.
    London,
    /// EIP-4345: a delay of the difficulty bomb.
    ArrowGlacier,
    /// EIP-5133: a delay of the difficulty bomb.
    GrayGlacier,
    /// EIP-3675, EIP-4399: the merge.
    Paris,
    /// EIP-3651, EIP-3855, EIP-3860, EIP-4895.
    Shanghai,
    /// EIP-1153, EIP-4788, EIP-4844, EIP-5656, EIP-6780, EIP-7516.
    Cancun,
    /// EIP-2537, EIP-2935, EIP-6110, EIP-7002, EIP-7251, EIP-7623, EIP-7685, EIP-7691, EIP-7702.
    Prague,
    /// EIP-7594, EIP-7823, EIP-7825, EIP-7883, EIP-7918, EIP-7934, EIP-7939, EIP-7951.
    Osaka,
    /// Other blob parameters (EIP-7892).
    Bpo1,
    /// Other blob parameters.
    Bpo2,
    /// Other blob parameters.
    Bpo3,
    /// Other blob parameters.
    Bpo4,
    /// Other blob parameters.
    Bpo5,
    /// The next fork, whose rules are not implemented.
    Amsterdam,
}

/// A name that stands for no rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ForkNameError {
    /// No fork has the name.
    #[error("unknown hardfork {0:?}; known: {known}", known = Fork::names())]
    Unknown(String),
    /// The rules of the fork are not implemented.
    #[error("hardfork {0:?} is not supported; known: {known}", known = Fork::names())]
    Unsupported(String),
}

/// Further spellings, in lower case and without separators: those of go-ethereum, anvil and Hardhat.
const ALIASES: &[(&str, Fork)] = &[
    ("chainstart", Fork::Frontier),
    ("dao", Fork::Homestead),
    ("daofork", Fork::Homestead),
    ("eip150", Fork::TangerineWhistle),
    ("tangerine", Fork::TangerineWhistle),
    ("eip155", Fork::SpuriousDragon),
    ("eip158", Fork::SpuriousDragon),
    ("spurious", Fork::SpuriousDragon),
    ("constantinoplefix", Fork::Petersburg),
    ("merge", Fork::Paris),
    ("latest", Fork::LATEST),
];

impl Fork {
    /// The newest fork of the main network.
    pub const LATEST: Self = Self::Bpo2;

    /// All forks, oldest first.
    pub const ALL: [Self; Self::Amsterdam as usize + 1] = [
        Self::Frontier,
        Self::Homestead,
        Self::TangerineWhistle,
        Self::SpuriousDragon,
        Self::Byzantium,
        Self::Constantinople,
        Self::Petersburg,
        Self::Istanbul,
        Self::MuirGlacier,
        Self::Berlin,
        Self::London,
        Self::ArrowGlacier,
        Self::GrayGlacier,
        Self::Paris,
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
        Self::Bpo1,
        Self::Bpo2,
        Self::Bpo3,
        Self::Bpo4,
        Self::Bpo5,
        Self::Amsterdam,
    ];

    /// The forks that begin at a time, oldest first.
    pub const TIMED: [Self; 10] = [
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
        Self::Bpo1,
        Self::Bpo2,
        Self::Bpo3,
        Self::Bpo4,
        Self::Bpo5,
        Self::Amsterdam,
    ];

    /// The fork of a name: go-ethereum's, anvil's or Hardhat's, in any case, with or without separators.
    ///
    /// # Errors
    /// No fork has the name, or its rules are not implemented.
    pub fn from_name(name: &str) -> Result<Self, ForkNameError> {
        let plain: String = name
            .chars()
            .filter(|c| !matches!(c, '-' | '_' | ' '))
            .collect::<String>()
            .to_lowercase();
        let own = Self::ALL.into_iter().find(|fork| fork.name().to_lowercase() == plain);
        let alias = || ALIASES.iter().find(|(alias, _)| *alias == plain).map(|(_, fork)| *fork);
        match own.or_else(alias) {
            Some(fork) if fork.is_implemented() => Ok(fork),
            Some(_) => Err(ForkNameError::Unsupported(name.to_owned())),
            None => Err(ForkNameError::Unknown(name.to_owned())),
        }
    }

    /// The name in camel case with an upper-case first letter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frontier => "Frontier",
            Self::Homestead => "Homestead",
            Self::TangerineWhistle => "TangerineWhistle",
            Self::SpuriousDragon => "SpuriousDragon",
            Self::Byzantium => "Byzantium",
            Self::Constantinople => "Constantinople",
            Self::Petersburg => "Petersburg",
            Self::Istanbul => "Istanbul",
            Self::MuirGlacier => "MuirGlacier",
            Self::Berlin => "Berlin",
            Self::London => "London",
            Self::ArrowGlacier => "ArrowGlacier",
            Self::GrayGlacier => "GrayGlacier",
            Self::Paris => "Paris",
            Self::Shanghai => "Shanghai",
            Self::Cancun => "Cancun",
            Self::Prague => "Prague",
            Self::Osaka => "Osaka",
            Self::Bpo1 => "BPO1",
            Self::Bpo2 => "BPO2",
            Self::Bpo3 => "BPO3",
            Self::Bpo4 => "BPO4",
            Self::Bpo5 => "BPO5",
            Self::Amsterdam => "Amsterdam",
        }
    }

    /// Place in [`Self::TIMED`]; `None` for a fork that begins at a height.
    pub(super) const fn timed_index(self) -> Option<usize> {
        (self as usize).checked_sub(Self::Shanghai as usize)
    }

    /// Whether blocks can have its rules.
    const fn is_implemented(self) -> bool {
        !matches!(self, Self::Amsterdam)
    }

    fn names() -> String {
        let known = Self::ALL.into_iter().filter(|fork| fork.is_implemented());
        known.map(|fork| fork.name().to_lowercase()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_have_the_spellings_of_other_nodes() {
        for fork in Fork::ALL.into_iter().filter(|fork| fork.is_implemented()) {
            assert_eq!(Fork::from_name(fork.name()), Ok(fork));
            assert_eq!(Fork::from_name(&fork.name().to_lowercase()), Ok(fork));
        }
        for (name, fork) in [
            ("tangerineWhistle", Fork::TangerineWhistle),
            ("tangerine", Fork::TangerineWhistle),
            ("EIP150", Fork::TangerineWhistle),
            ("spurious-dragon", Fork::SpuriousDragon),
            ("muirGlacier", Fork::MuirGlacier),
            ("muir_glacier", Fork::MuirGlacier),
            ("ConstantinopleFix", Fork::Petersburg),
            ("merge", Fork::Paris),
            ("chainstart", Fork::Frontier),
            ("bpo2", Fork::Bpo2),
            ("latest", Fork::Bpo2),
        ] {
            assert_eq!(Fork::from_name(name), Ok(fork), "{name}");
        }
        let unknown = Fork::from_name("lisbon").unwrap_err().to_string();
        assert!(unknown.starts_with(r#"unknown hardfork "lisbon"; known: frontier, home"#));
        let later = Fork::from_name("Amsterdam").unwrap_err().to_string();
        assert!(later.starts_with(r#"hardfork "Amsterdam" is not supported; known: frontier, "#));
        assert!(later.ends_with(", osaka, bpo1, bpo2, bpo3, bpo4, bpo5"), "{later}");
    }

    #[test]
    fn timed_forks_are_the_last_ones() {
        for (index, fork) in Fork::TIMED.into_iter().enumerate() {
            assert_eq!(fork.timed_index(), Some(index));
        }
        assert_eq!(Fork::Paris.timed_index(), None);
        assert!(Fork::ALL.is_sorted());
    }
}
