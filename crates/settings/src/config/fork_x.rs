//! Outputs of another network's X-Chain that a development network begins with: checks of the settings.

use super::Settings;
use super::dev::Fault;
use super::flags::Mode;

/// Most addresses whose outputs are taken over.
const MAX_ADDRESSES: usize = 1000;

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
    use super::super::value::Value as _;
    use super::*;

    const LOCAL: &str = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";

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
}
