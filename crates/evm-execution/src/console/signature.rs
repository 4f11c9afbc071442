//! The functions of the console contracts, by selector.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use alloy_primitives::keccak256;

/// Most parameters of `log`.
const MAX_PARAMETERS: usize = 4;

/// The types that `log` takes in any combination.
const COMBINED: [Kind; 4] = [Kind::Uint, Kind::String, Kind::Bool, Kind::Address];

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `uint256`
    Uint,
    /// `int256`
    Int,
    /// `string`
    String,
    /// `bool`
    Bool,
    /// `address`
    Address,
    /// `bytes`
    Bytes,
    /// `bytes1` to `bytes32`
    FixedBytes(usize),
}

impl Kind {
    /// Its name in the ABI.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Uint => "uint256",
            Self::Int => "int256",
            Self::String => "string",
            Self::Bool => "bool",
            Self::Address => "address",
            Self::Bytes => "bytes",
            Self::FixedBytes(length) => return Cow::Owned(format!("bytes{length}")),
        })
    }

    /// The name with which old versions of Hardhat computed selectors.
    fn old_name(self) -> Cow<'static, str> {
        match self {
            Self::Uint => "uint".into(),
            Self::Int => "int".into(),
            Self::FixedBytes(1) => "byte".into(),
            kind => kind.name(),
        }
    }

    /// The end of the function's name that prints only this type: `logUint`.
    fn suffix(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Uint => "Uint",
            Self::Int => "Int",
            Self::String => "String",
            Self::Bool => "Bool",
            Self::Address => "Address",
            Self::Bytes => "Bytes",
            Self::FixedBytes(length) => return Cow::Owned(format!("Bytes{length}")),
        })
    }
}

/// A function of the console contracts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The text whose hash begins with the selector: `log(string,uint256)`.
    pub text: String,
    /// The types of its parameters.
    pub kinds: Vec<Kind>,
}

static SIGNATURES: LazyLock<BTreeMap<[u8; 4], Signature>> = LazyLock::new(|| {
    let all = parameters().into_iter().flat_map(|kinds| {
        texts(&kinds).into_iter().map(move |text| Signature { text, kinds: kinds.clone() })
    });
    all.map(|signature| (signature.selector(), signature)).collect()
});

impl Signature {
    /// The function with this selector.
    pub fn by_selector(selector: [u8; 4]) -> Option<&'static Self> {
        SIGNATURES.get(&selector)
    }

    /// All functions.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        SIGNATURES.values()
    }

    /// The first bytes of its calls.
    pub fn selector(&self) -> [u8; 4] {
        let hash = keccak256(&self.text);
        [hash[0], hash[1], hash[2], hash[3]]
    }
}

/// The parameters of all functions.
fn parameters() -> Vec<Vec<Kind>> {
    let mut all = vec![vec![]];
    let mut longest = all.clone();
    for _ in 0..MAX_PARAMETERS {
        longest = longest.iter().flat_map(|kinds| COMBINED.map(|kind| with(kinds, kind))).collect();
        all.extend(longest.iter().cloned());
    }
    all.extend([vec![Kind::Int], vec![Kind::String, Kind::Int], vec![Kind::Bytes]]);
    all.extend((1..=32).map(|length| vec![Kind::FixedBytes(length)]));
    all
}

fn with(kinds: &[Kind], kind: Kind) -> Vec<Kind> {
    kinds.iter().copied().chain([kind]).collect()
}

/// The signatures with these parameters: with today's and with old names of types, and those of a single type.
fn texts(kinds: &[Kind]) -> Vec<String> {
    let mut names = vec!["log".to_owned()];
    if let [kind] = kinds {
        names.push(format!("log{}", kind.suffix()));
    }
    let today = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",");
    let old = kinds.iter().map(|kind| kind.old_name()).collect::<Vec<_>>().join(",");
    let mut texts: Vec<String> = names.iter().map(|name| format!("{name}({today})")).collect();
    if old != today {
        texts.extend(names.iter().map(|name| format!("{name}({old})")));
    }
    texts
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    /// Selectors of both tools, as their sources and traces show them.
    #[test]
    fn known_selectors() {
        for (selector, text) in [
            (hex!("51973ec9"), "log()"),
            (hex!("41304fac"), "log(string)"),
            (hex!("f82c50f1"), "log(uint256)"),
            (hex!("f5b1bba9"), "log(uint)"),
            (hex!("2d5b6cb9"), "log(int256)"),
            (hex!("4e0c1d1d"), "log(int)"),
            (hex!("32458eed"), "log(bool)"),
            (hex!("2c2ecbc2"), "log(address)"),
            (hex!("0be77f56"), "log(bytes)"),
            (hex!("27b7cf85"), "log(bytes32)"),
            (hex!("b60e72cc"), "log(string,uint256)"),
            (hex!("9710a9d0"), "log(string,uint)"),
            (hex!("3ca6268e"), "log(string,int256)"),
            (hex!("4b5c4277"), "log(string,string)"),
            (hex!("de68f20a"), "log(string,string,string,string)"),
        ] {
            let found = Signature::by_selector(selector).map(|found| found.text.as_str());
            assert_eq!(found, Some(text));
        }
        assert_eq!(Signature::by_selector([0; 4]), None);
    }

    /// No function hides another one.
    #[test]
    fn selectors_are_distinct() {
        let texts = parameters().iter().map(|kinds| texts(kinds).len()).sum::<usize>();
        assert_eq!(Signature::all().count(), texts);
        assert!(Signature::all().all(|one| Signature::by_selector(one.selector()) == Some(one)));
    }
}
