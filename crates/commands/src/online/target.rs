//! Addresses as people write them.

use alloy_primitives::Address;
use esker_primitives::{ShortId, address, excerpt};

use super::OnlineError;

/// The C-Chain's alias.
pub(super) const C: &str = "C";

/// An address of some chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// `0x..`, of an EVM chain.
    Evm(Address),
    /// `X-local1..`, of the chain with the alias.
    Bech32 {
        /// The chain.
        alias: String,
        /// Prefix of the network.
        prefix: String,
        /// The address.
        address: ShortId,
    },
}

impl Target {
    /// Reads an argument.
    pub(super) fn parse(name: &'static str, text: &str) -> Result<Self, OnlineError> {
        let fault = |reason: String| {
            let text = excerpt(text).to_string();
            OnlineError::Argument { name, text, reason }
        };
        if text.starts_with("0x") || text.starts_with("0X") {
            return evm_address(text).map(Self::Evm).map_err(|reason| fault(reason.to_owned()));
        }
        let (alias, prefix, bytes) = address::split(text).map_err(|error| {
            fault(format!("not an address ({error}): expected X-.., C-.. or 0x.."))
        })?;
        let bytes: [u8; 20] = bytes
            .try_into()
            .map_err(|_| fault("not an address: it has other than 20 bytes".to_owned()))?;
        Ok(Self::Bech32 { alias, prefix, address: bytes.into() })
    }
}

/// Hex with 40 digits; letters of both cases must be the checksum's.
fn evm_address(text: &str) -> Result<Address, &'static str> {
    let digits = text.get(2..).unwrap_or_default();
    let parsed: Address =
        digits.parse().map_err(|_| "expected 0x and 40 hex digits, as EVM addresses have")?;
    let has = |is: fn(&u8) -> bool| digits.as_bytes().iter().any(is);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if is_mixed && parsed.to_checksum(None).get(2..) != Some(digits) {
        return Err("the checksum in its letters is wrong: is it mistyped?");
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let evm = Address::repeat_byte(0xab);
        for text in [
            evm.to_checksum(None),
            format!("0x{}", "ab".repeat(20)),
            format!("0X{}", "AB".repeat(20)),
        ] {
            assert_eq!(Target::parse("TO", &text).unwrap(), Target::Evm(evm), "{text}");
        }
        let x = Target::parse("TO", "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u").unwrap();
        assert!(
            matches!(x, Target::Bech32 { alias, prefix, .. } if alias == "X" && prefix == "local")
        );
        for (text, reason) in [
            ("", "no separator"),
            ("0x", "40 hex digits"),
            ("0x12", "40 hex digits"),
            ("0xaBababababababababababababababababababab", "checksum"),
            ("X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96x", "not an address"),
            ("local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u", "no separator"),
            ("X-", "not an address"),
            ("0xé", "40 hex digits"),
        ] {
            let error = Target::parse("TO", text).unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
