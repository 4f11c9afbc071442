//! Tests of settings: files, variables and flags as a user gives them.

mod alone;
mod chains;
mod forks;
mod http;
mod keystore;
mod logs;
mod public;
mod sources;
mod validators;

use std::fs;

use expect_test::Expect;

use super::*;

struct Given<'a> {
    mode: Mode,
    flags: &'a [(&'static str, &'a str)],
    env: &'a [(&'a str, &'a str)],
    file: &'a str,
}

const NOTHING: Given<'static> =
    Given { mode: Mode::Node, flags: &[], env: &[("HOME", "/home/me")], file: "" };

/// Loads a real file; messages call it `esker.toml`.
fn load(given: &Given<'_>) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("esker.toml");
    fs::write(&path, given.file).unwrap();
    fs::write(dir.path().join("second.json"), SECOND).unwrap();
    for (file, chain_id) in [("third.json", 43_301), ("fourth.json", 43_302)] {
        let genesis = format!(
            r#"{{"config":{{"chainId":{chain_id}}},"gasLimit":"0x1","difficulty":"0x0","alloc":{{}}}}"#
        );
        fs::write(dir.path().join(file), genesis).unwrap();
    }
    let mut flags: Flags = given.flags.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
    if !given.file.is_empty() {
        flags.insert("config", path.display().to_string());
    }
    let env = given.env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let place = format!("{}/", dir.path().display());
    Config::load(given.mode, flags, env).map_err(|error| error.to_string().replace(&place, ""))
}

const SECOND: &str = r#"{"coin": {"name": "Coin", "initialState": {"fixedCap": [
    {"amount": 7, "address": "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"}]}}}"#;

fn check_error(given: &Given<'_>, expected: Expect) {
    expected.assert_eq(&load(given).unwrap_err());
}

fn value(config: &Config, name: &str) -> (String, String) {
    let value = config.values.iter().find(|value| value.name == name).unwrap();
    let origin = value.origin.to_string();
    let origin = origin.rsplit_once('/').map_or(origin.clone(), |(_, file)| file.to_owned());
    (value.text.clone(), origin)
}
