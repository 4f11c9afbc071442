//! Addresses of X-Chains in settings.

use esker_primitives::ids::ShortId;
use esker_primitives::{address, bech32, excerpt};
use toml::de::DeValue;

use super::value::{Value, list_text};
use super::value_error::ValueError;

/// The chain of addresses that have no other prefix.
const CHAIN: &str = "X";

/// An address of an X-Chain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct XAddress {
    /// Human-readable part: it names the network.
    pub hrp: String,
    /// The address.
    pub short_id: ShortId,
}

impl XAddress {
    /// Reads `X-avax1...`, or the same without the chain.
    fn parse(text: &str) -> Option<Self> {
        let bech32 = match text.split_once('-') {
            Some((CHAIN, rest)) => rest,
            Some(_) => return None,
            None => text,
        };
        let (hrp, data) = bech32::decode(bech32).ok()?;
        let bytes = <[u8; ShortId::LEN]>::try_from(data.as_slice()).ok()?;
        Some(Self { hrp, short_id: ShortId::new(bytes) })
    }

    fn text(&self) -> String {
        address::format(CHAIN, &self.hrp, &self.short_id)
    }
}

/// Addresses of an X-Chain, separated by commas; in TOML also an array of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XAddresses(pub Vec<XAddress>);

impl Value for XAddresses {
    const KIND: &'static str = "addresses of an X-Chain, separated by commas";
    const IS_REPEATABLE: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
        let address = |text: &str| {
            XAddress::parse(text).ok_or_else(|| ValueError::XAddress(excerpt(text).into_owned()))
        };
        texts.map(address).collect::<Result<_, _>>().map(Self)
    }

    fn text(&self) -> String {
        self.0.iter().map(XAddress::text).collect::<Vec<_>>().join(",")
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        list_text(value, ',')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";

    #[test]
    fn forms_of_addresses() {
        let read = |text: &str| XAddresses::parse(text).map(|read| read.text());
        let short = LOCAL.trim_start_matches("X-");
        assert_eq!(read(&format!(" {short}, ,{LOCAL}")), Ok(format!("{LOCAL},{LOCAL}")));
        assert_eq!(read(""), Ok(String::new()));
        let changed = LOCAL.replace("18j", "19j");
        let other_chain = LOCAL.replace("X-", "P-");
        for text in
            ["X-", "x", "0x3CB7D3842e8CEE6A0EbD09F1fE884F6861E1b29c", &changed, &other_chain]
        {
            assert_eq!(read(text), Err(ValueError::XAddress(text.to_owned())), "{text}");
        }
        let long = "y".repeat(5000);
        assert!(read(&long).unwrap_err().to_string().len() < 1000);
    }
}
