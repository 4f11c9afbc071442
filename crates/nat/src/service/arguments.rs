//! Arguments in forms of this namespace's own.

use alloy_primitives::{Address, U256};
use esker_go_json::{RawText, deserialize_raw};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Addresses: a list of texts, or one text (docs/decisions.md, "One address or many").
#[derive(Debug, Default)]
pub(super) struct Addresses(pub(super) Vec<String>);

esker_rpc::schema!(Addresses, "OneOrManyAddresses", {
    "title": "address or list of addresses",
    "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
});

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Addresses;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an address or a list of addresses")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Addresses, E> {
                Ok(Addresses(vec![text.to_owned()]))
            }

            fn visit_unit<E: Error>(self) -> Result<Addresses, E> {
                Ok(Addresses::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Addresses, A::Error> {
                let mut addresses = Vec::new();
                while let Some(text) = list.next_element()? {
                    addresses.push(text);
                }
                Ok(Addresses(addresses))
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

/// A base fee, wei a gas: a `0x` hex quantity as the reference takes it, or a JSON integer or decimal text
/// (docs/decisions.md, "Numbers in arguments").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BaseFee(pub(super) U256);

esker_rpc::schema!(BaseFee, "BaseFee", {
    "title": "number or text",
    "description": "Wei a gas: a number, or a text of decimal digits or of `0x` and hex digits.",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^([0-9]+|0[xX](0|[1-9a-fA-F][0-9a-fA-F]{0,63}))?$" },
    ],
});

impl RawText for BaseFee {
    const WANTED: &'static str = "a base fee";

    fn from_raw_text(text: &str) -> Option<Self> {
        let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        // The reference's quantities take no text for zero.
        if quoted == Some("") {
            return Some(Self(U256::ZERO));
        }
        let hex = quoted.and_then(|text| text.strip_prefix("0x").or(text.strip_prefix("0X")));
        let (digits, radix) = match hex {
            Some(digits) if digits.len() > 1 && digits.starts_with('0') => return None,
            Some(digits) => (digits, 16),
            None => (quoted.unwrap_or(text), 10),
        };
        // The parser by itself takes no digits for zero, and passes over underscores.
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return None;
        }
        U256::from_str_radix(digits, u64::from(radix)).ok().map(Self)
    }
}

impl<'de> Deserialize<'de> for BaseFee {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_raw(deserializer)
    }
}

/// An account: `0x` and 40 hex digits in any case as an argument, with its checksum (EIP-55) in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account(pub(super) Address);

esker_rpc::text_schema!(
    Account,
    "Account",
    "account",
    "^0[xX][0-9a-fA-F]{40}$",
    "An account of the C-Chain; in results with its checksum (EIP-55)."
);

impl<'de> Deserialize<'de> for Account {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AccountVisitor;

        impl Visitor<'_> for AccountVisitor {
            type Value = Account;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("0x and 40 hex digits")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Account, E> {
                let is_prefixed = text.starts_with("0x") || text.starts_with("0X");
                let account = parse_account(text).filter(|_| is_prefixed);
                account.map(Account).ok_or_else(|| E::custom("no account"))
            }
        }

        deserializer.deserialize_str(AccountVisitor)
    }
}

impl Serialize for Account {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_checksum(None))
    }
}

/// An account's text: 40 hex digits in any case, after `0x` or not.
pub(super) fn parse_account(text: &str) -> Option<Address> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    let is_hex = digits.len() == 40 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hex { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use esker_go_json::decode;

    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
        decode(text.as_bytes()).ok()
    }

    #[test]
    fn base_fees() {
        for (text, fee) in [
            ("5", 5),
            ("\"5\"", 5),
            ("\"05\"", 5),
            ("\"0x5\"", 5),
            ("\"0X5\"", 5),
            ("\"0xff\"", 255),
            ("\"0xFf\"", 255),
            ("\"0x0\"", 0),
            // As in the reference, which takes an empty text for zero.
            ("\"\"", 0),
            ("0", 0),
            ("18446744073709551616", 1u128 << 64),
        ] {
            let read: Option<Option<BaseFee>> = read(text);
            assert_eq!(read, Some(Some(BaseFee(U256::from(fee)))), "{text}");
        }
        assert_eq!(read("null"), Some(None::<BaseFee>));
        let most = format!("\"0x{}\"", "f".repeat(64));
        assert_eq!(read(&most), Some(Some(BaseFee(U256::MAX))));
        let above = format!("\"0x1{}\"", "0".repeat(64));
        for text in ["-1", "1.0", "1e3", "\"0x\"", "\"0x01\"", "\"x\"", "\"1_0\"", "[]", &above] {
            assert_eq!(read::<Option<BaseFee>>(text), None, "{text}");
        }
    }

    #[test]
    fn accounts() {
        let digits = "8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC";
        let account: Address = digits.parse().unwrap();
        for text in [digits.to_owned(), digits.to_lowercase(), digits.to_uppercase()] {
            assert_eq!(parse_account(&text), Some(account));
            for prefix in ["0x", "0X"] {
                let text = format!("{prefix}{text}");
                assert_eq!(parse_account(&text), Some(account));
                assert_eq!(read(&format!("\"{text}\"")), Some(Account(account)));
            }
            assert_eq!(read::<Account>(&format!("\"{text}\"")), None, "an argument has a prefix");
        }
        for text in
            ["", "0x", &digits[1..], "C-0x00", &format!("0x{digits}0"), &digits.replace('8', "g")]
        {
            assert_eq!(parse_account(text), None, "{text}");
        }
        assert_eq!(serde_json::to_value(Account(account)).unwrap(), format!("0x{digits}"));
    }

    #[test]
    fn addresses() {
        let texts = |text: &str| read::<Addresses>(text).map(|read| read.0);
        assert_eq!(texts("\"a\""), Some(vec!["a".to_owned()]));
        assert_eq!(texts("[\"a\", \"b\"]"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(texts("null"), Some(Vec::new()));
        for text in ["5", "{}", "[5]", "true"] {
            assert_eq!(texts(text), None, "{text}");
        }
    }
}
