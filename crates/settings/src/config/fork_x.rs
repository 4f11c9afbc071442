//! Outputs of another network's X-Chain that a development network begins with: the addresses whose they are, and checks of the
//! settings.

use esker_primitives::ids::ShortId;
use esker_primitives::{address, bech32, excerpt};

use super::Settings;
use super::dev::Fault;
use super::flags::Mode;
use super::value::{Value, list_text};
use super::value_error::ValueError;
use toml::de::DeValue;

/// Most addresses whose outputs are taken over.
const MAX_ADDRESSES: usize = 1000;

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

/// Refuses the settings of other commands, or without each other.
pub(super) fn check(settings: &Settings, mode: Mode) -> Result<(), Fault> {
    let (has_url, addresses) = (!settings.fork_x.is_empty(), settings.fork_x_address.0.len());
    let given = if has_url { "fork-x" } else { "fork-x-address" };
    if (has_url || addresses > 0) && mode != Mode::Dev {
        return Err((given, "only for esker dev".to_owned()));
    }
    match (has_url, addresses) {
        (false, 0) => Ok(()),
        (false, _) => Err((given, "only together with fork-x".to_owned())),
        (true, 0) => {
            let reason = "set fork-x-address, too: the outputs of these addresses are taken over";
            Err((given, reason.to_owned()))
        }
        (true, MAX_ADDRESSES..) if addresses > MAX_ADDRESSES => {
            Err(("fork-x-address", format!("at most {MAX_ADDRESSES} addresses")))
        }
        (true, _) => check_others(settings),
    }
}

/// Refuses settings of nodes that share their blocks with others.
fn check_others(settings: &Settings) -> Result<(), Fault> {
    if !settings.follow.0.is_empty() {
        let reason = "not with fork-x: a follower has the content of its source";
        return Err(("follow", reason.to_owned()));
    }
    match settings.api_sync_enabled {
        true => {
            let reason = "not with fork-x: a follower can't know what was taken over";
            Err(("api-sync-enabled", reason.to_owned()))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn load(mode: Mode, flags: &[(&'static str, &str)]) -> Result<Config, String> {
        let flags = flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        Config::load(mode, flags, []).map_err(|error| error.to_string())
    }

    #[test]
    fn the_settings_need_each_other_and_esker_dev() {
        let (url, address) = (("fork-x", "http://h"), ("fork-x-address", LOCAL));
        let loaded = load(Mode::Dev, &[url, address, ("fork-rate", "3"), ("fork-header", "a: b")]);
        assert_eq!(loaded.unwrap().settings.fork_x_address.text(), LOCAL);
        let many = [LOCAL; MAX_ADDRESSES + 1].join(",");
        for (mode, flags, expected) in [
            (Mode::Dev, &[url][..], "fork-x: set fork-x-address, too"),
            (Mode::Dev, &[address], "fork-x-address: only together with fork-x"),
            (Mode::Node, &[url, address], "fork-x: only for esker dev"),
            (Mode::Evm, &[address], "fork-x-address: only for esker dev"),
            (Mode::Dev, &[url, ("fork-x-address", &many)], "at most 1000 addresses"),
            (Mode::Dev, &[url, ("fork-x-address", "X-a")], "expected addresses such as X-avax1"),
            (
                Mode::Dev,
                &[url, address, ("api-sync-enabled", "true")],
                "api-sync-enabled: not with",
            ),
            (Mode::Dev, &[url, address, ("fork-block", "3")], "fork-block: only together with"),
            (Mode::Dev, &[("fork-header", "a: b")], "fork-header: only together with fork-url"),
        ] {
            let refused = load(mode, flags).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

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
