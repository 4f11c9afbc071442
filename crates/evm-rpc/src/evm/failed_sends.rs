//! The setting of how sends are answered whose transaction failed in its block.

use esker_rpc::Caller;

/// The `User-Agent` names of Hardhat 2 and 3.
const HARDHAT: &str = "hardhat";

/// How a send is answered if its transaction failed in its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedSends {
    /// With its hash.
    #[default]
    Hash,
    /// Hardhat gets an error, other programs the hash.
    ErrorToHardhat,
    /// With an error.
    Error,
}

impl FailedSends {
    /// Whether this caller gets an error.
    pub(super) fn is_error_to(self, caller: &Caller) -> bool {
        match self {
            Self::Hash => false,
            Self::ErrorToHardhat => caller.is_program(HARDHAT),
            Self::Error => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_and_the_program_decide() {
        let caller = |name: &'static [u8]| Caller {
            program: Some(bytes::Bytes::from_static(name)),
            ..Caller::default()
        };
        for (setting, hardhat, viem) in [
            (FailedSends::Hash, false, false),
            (FailedSends::ErrorToHardhat, true, false),
            (FailedSends::Error, true, true),
        ] {
            let answers =
                [&b"hardhat 2.29.1"[..], b"node"].map(|name| setting.is_error_to(&caller(name)));
            assert_eq!(answers, [hardhat, viem], "{setting:?}");
        }
    }
}
