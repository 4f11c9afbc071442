//! The validators in a network file.

use std::time::Duration;

use esker_validators::{
    AddressError, KeyError, MAX_VALIDATORS, Timings, ValidatorAddress, ValidatorPublicKey,
};
use serde::Deserialize;

/// Limits of a timeout, ms.
const TIMEOUTS_MS: std::ops::RangeInclusive<u64> = 10..=600_000;

/// The nodes that decide together, and their timeouts.
#[derive(Clone, Debug, Default)]
pub struct Validators {
    /// Keys and addresses; empty: the node decides alone.
    pub members: Vec<(ValidatorPublicKey, ValidatorAddress)>,
    /// Keys of the followers that may connect to them.
    pub followers: Vec<ValidatorPublicKey>,
    /// Timeouts of the protocol.
    pub timings: Timings,
}

impl Validators {
    /// Whether a node of this network decides alone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The address of a validator; `None`: the key belongs to none of them.
    #[must_use]
    pub fn address(&self, key: &ValidatorPublicKey) -> Option<&ValidatorAddress> {
        self.members.iter().find(|(member, _)| member == key).map(|(_, address)| address)
    }
}

/// A member of `esker.validators`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JsonValidator {
    public_key: String,
    address: String,
}

/// A member of `esker.followers`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JsonFollower {
    public_key: String,
}

/// The member `esker.engine`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JsonEngine {
    leader_timeout_ms: Option<u64>,
    certification_timeout_ms: Option<u64>,
    skip_timeout_ms: Option<u64>,
    heartbeat_ms: Option<u64>,
}

/// Reads the members. The error has the path of the invalid one below `esker`.
pub(super) fn read(
    validators: &[JsonValidator],
    followers: &[JsonFollower],
    engine: &JsonEngine,
) -> Result<Validators, (String, String)> {
    if validators.len() > MAX_VALIDATORS {
        let reason = format!("{} are too many: at most {MAX_VALIDATORS}", validators.len());
        return Err(("validators".to_owned(), reason));
    }
    let mut members: Vec<(ValidatorPublicKey, ValidatorAddress)> = Vec::new();
    for (index, validator) in validators.iter().enumerate() {
        let wrong = |name: &str, reason: String| (format!("validators[{index}].{name}"), reason);
        let key: ValidatorPublicKey = validator
            .public_key
            .parse()
            .map_err(|error: KeyError| wrong("publicKey", error.to_string()))?;
        let address: ValidatorAddress = validator
            .address
            .parse()
            .map_err(|error: AddressError| wrong("address", error.to_string()))?;
        if members.iter().any(|(other, _)| *other == key) {
            return Err(wrong("publicKey", "another validator has this key".to_owned()));
        }
        if members.iter().any(|(_, other)| *other == address) {
            return Err(wrong("address", "another validator has this address".to_owned()));
        }
        members.push((key, address));
    }
    let followers = read_followers(followers, &members)?;
    let timings = timings(engine).map_err(|(name, reason)| (format!("engine.{name}"), reason))?;
    Ok(Validators { members, followers, timings })
}

fn read_followers(
    followers: &[JsonFollower],
    members: &[(ValidatorPublicKey, ValidatorAddress)],
) -> Result<Vec<ValidatorPublicKey>, (String, String)> {
    let whole = |reason: String| ("followers".to_owned(), reason);
    if followers.len() > MAX_VALIDATORS {
        let count = followers.len();
        return Err(whole(format!("{count} are too many: at most {MAX_VALIDATORS}")));
    }
    if members.is_empty() && !followers.is_empty() {
        return Err(whole("there are no validators to connect to".to_owned()));
    }
    let mut keys: Vec<ValidatorPublicKey> = Vec::new();
    for (index, follower) in followers.iter().enumerate() {
        let wrong = |reason: String| (format!("followers[{index}].publicKey"), reason);
        let key: ValidatorPublicKey =
            follower.public_key.parse().map_err(|error: KeyError| wrong(error.to_string()))?;
        if members.iter().any(|(member, _)| *member == key) {
            return Err(wrong("a validator has this key".to_owned()));
        }
        if keys.contains(&key) {
            return Err(wrong("another follower has this key".to_owned()));
        }
        keys.push(key);
    }
    Ok(keys)
}

fn timings(engine: &JsonEngine) -> Result<Timings, (&'static str, String)> {
    let default = Timings::default();
    let time = |name, given: Option<u64>, default: Duration| match given {
        None => Ok(default),
        Some(ms) if TIMEOUTS_MS.contains(&ms) => Ok(Duration::from_millis(ms)),
        Some(ms) => {
            let (first, last) = TIMEOUTS_MS.into_inner();
            Err((name, format!("{ms} is not from {first} to {last}")))
        }
    };
    let leader = time("leaderTimeoutMs", engine.leader_timeout_ms, default.leader)?;
    let certification =
        time("certificationTimeoutMs", engine.certification_timeout_ms, default.certification)?;
    let skip = time("skipTimeoutMs", engine.skip_timeout_ms, default.skip)?;
    let heartbeat = time("heartbeatMs", engine.heartbeat_ms, default.heartbeat)?;
    if certification <= leader {
        let reason = "must be longer than leaderTimeoutMs".to_owned();
        return Err(("certificationTimeoutMs", reason));
    }
    if skip <= certification {
        return Err(("skipTimeoutMs", "must be longer than certificationTimeoutMs".to_owned()));
    }
    Ok(Timings { leader, certification, retry: certification, skip, heartbeat, ..default })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    fn parse(validators: &str, engine: &str) -> Result<Validators, (String, String)> {
        let validators: Vec<JsonValidator> = serde_json::from_str(validators).unwrap();
        read(&validators, &[], &serde_json::from_str(engine).unwrap())
    }

    #[test]
    fn followers_have_keys_of_their_own() {
        const OTHER: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
        let one = format!(r#"[{{"publicKey":"{KEY}","address":"127.0.0.1:9700"}}]"#);
        let parse = |validators: &str, followers: &[&str]| {
            let validators: Vec<JsonValidator> = serde_json::from_str(validators).unwrap();
            let follower = |key: &&str| JsonFollower { public_key: (*key).to_owned() };
            let followers: Vec<_> = followers.iter().map(follower).collect();
            read(&validators, &followers, &JsonEngine::default()).map(|read| read.followers)
        };
        assert_eq!(parse(&one, &[OTHER]).unwrap(), [OTHER.parse().unwrap()]);
        for (validators, followers, member, reason) in [
            ("[]", &[OTHER][..], "followers", "there are no validators to connect to"),
            (&one, &[OTHER, KEY], "followers[1].publicKey", "a validator has this key"),
            (&one, &[OTHER, OTHER], "followers[1].publicKey", "another follower has this key"),
            (&one, &["00"], "followers[0].publicKey", "a validator's key has 64 hex digits"),
            (&one, &[OTHER; 101], "followers", "101 are too many: at most 100"),
        ] {
            let error = parse(validators, followers).unwrap_err();
            assert_eq!(error, (member.to_owned(), reason.to_owned()));
        }
    }

    #[test]
    fn validators_have_a_key_and_an_address_each() {
        let one = format!(r#"{{"publicKey":"{KEY}","address":"127.0.0.1:9700"}}"#);
        let read = parse(&format!("[{one}]"), r#"{"leaderTimeoutMs":300}"#).unwrap();
        let key = KEY.parse().unwrap();
        assert_eq!(read.address(&key).unwrap().to_string(), "127.0.0.1:9700");
        assert_eq!(read.timings.leader, Duration::from_millis(300));
        assert!(parse("[]", "{}").unwrap().is_empty());
        for (validators, engine, member, reason) in [
            (
                format!("[{one},{one}]"),
                "{}",
                "validators[1].publicKey",
                "another validator has this key",
            ),
            (
                r#"[{"publicKey":"00","address":"a:1"}]"#.to_owned(),
                "{}",
                "validators[0].publicKey",
                "a validator's key has 64 hex digits",
            ),
            (
                one.replace(":9700", "").replace('{', "[{").replace('}', "}]"),
                "{}",
                "validators[0].address",
                "`127.0.0.1` is no address: HOST:PORT is needed, with a port above 0",
            ),
            (
                "[]".to_owned(),
                r#"{"leaderTimeoutMs":9}"#,
                "engine.leaderTimeoutMs",
                "9 is not from 10 to 600000",
            ),
            (
                "[]".to_owned(),
                r#"{"leaderTimeoutMs":3000}"#,
                "engine.certificationTimeoutMs",
                "must be longer than leaderTimeoutMs",
            ),
            (
                "[]".to_owned(),
                r#"{"skipTimeoutMs":2000}"#,
                "engine.skipTimeoutMs",
                "must be longer than certificationTimeoutMs",
            ),
        ] {
            let error = parse(&validators, engine).unwrap_err();
            assert_eq!(error, (member.to_owned(), reason.to_owned()));
        }
    }
}
