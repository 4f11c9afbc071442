//! The JSON form of a configuration: go-ethereum's.

use std::fmt::Write;

use alloy_primitives::{Address, U256, hex};
use esker_evm_execution::genesis::{HexError, JsonError};
use esker_go_json::{Document, Kind};

use super::blob_schedule::BlobParams;
use super::config::{BlockRule, ChainConfig};
use super::fork::Fork;
use super::order::{BLOB_FORKS, ConfigError};

const CONFIG: &str = "ChainConfig";

/// Members of the JSON with the times of [`Fork::TIMED`].
const TIME_FIELDS: [&str; Fork::TIMED.len()] = [
    "shanghaiTime",
    "cancunTime",
    "pragueTime",
    "osakaTime",
    "bpo1Time",
    "bpo2Time",
    "bpo3Time",
    "bpo4Time",
    "bpo5Time",
    "amsterdamTime",
];

impl ChainConfig {
    /// Reads a configuration and checks it. Any JSON gives a configuration or an error.
    ///
    /// # Errors
    /// A member has another form, or the configuration is impossible.
    pub fn parse(json: Document<'_>) -> Result<Self, ConfigError> {
        let (mut config, mut has_id) = (Self::default(), false);
        let object = object(json, "Genesis", "config", "params.ChainConfig")?;
        members(object, |name, value| {
            has_id |= name.eq_ignore_ascii_case("chainId");
            config.read_member(name, value)
        })?;
        if !has_id {
            let missing = JsonError::Missing { field: "chainId", struct_name: CONFIG };
            return Err(missing.into());
        }
        config.check()?;
        Ok(config)
    }

    fn read_member(&mut self, name: &str, value: Document<'_>) -> Result<(), ConfigError> {
        for rule in BlockRule::ALL {
            if name.eq_ignore_ascii_case(rule.field()) {
                self.blocks[rule as usize] = Some(number(value, rule.field(), "*big.Int")?);
            }
        }
        for (time, field) in self.times.iter_mut().zip(TIME_FIELDS) {
            if name.eq_ignore_ascii_case(field) {
                *time = Some(number(value, field, "uint64")?);
            }
        }
        match name.to_ascii_lowercase().as_str() {
            "chainid" => self.chain_id = number(value, "chainId", "uint64")?,
            "daoforksupport" => self.dao_fork_support = boolean(value, "daoForkSupport")?,
            "terminaltotaldifficulty" => {
                let terminal = integer(value, "terminalTotalDifficulty", "*big.Int")?;
                self.terminal_total_difficulty = Some(terminal);
            }
            "terminaltotaldifficultypassed" => {
                let passed = boolean(value, "terminalTotalDifficultyPassed")?;
                self.terminal_total_difficulty_passed = passed;
            }
            "depositcontractaddress" => self.deposit_contract = address(value)?,
            "blobschedule" => self.read_schedule(value)?,
            "clique" => return Err(ConfigError::Unsupported("clique")),
            "verkletime" => return Err(ConfigError::Unsupported("the Verkle fork")),
            _ => {}
        }
        Ok(())
    }

    fn read_schedule(&mut self, value: Document<'_>) -> Result<(), ConfigError> {
        let schedule = object(value, CONFIG, "blobSchedule", "params.BlobScheduleConfig")?;
        members(schedule, |name, value| {
            for (fork, field) in BLOB_FORKS {
                if name.eq_ignore_ascii_case(field) {
                    self.blobs.set(fork, blob_params(field, value)?);
                }
            }
            Ok(())
        })
    }

    /// The JSON form, members in go-ethereum's order.
    pub fn to_json(&self) -> String {
        let mut members = Members(format!("{{\"chainId\":{}", self.chain_id));
        for rule in BlockRule::ALL {
            members.add(rule.field(), self.block(rule));
            if matches!(rule, BlockRule::Dao) {
                members.add("daoForkSupport", self.dao_fork_support.then_some(true));
            }
        }
        for (fork, field) in Fork::TIMED.into_iter().zip(TIME_FIELDS) {
            members.add(field, self.time(fork));
        }
        members.add("terminalTotalDifficulty", self.terminal_total_difficulty);
        let passed = self.terminal_total_difficulty_passed.then_some(true);
        members.add("terminalTotalDifficultyPassed", passed);
        members.add("depositContractAddress", Some(format!("\"{:#x}\"", self.deposit_contract)));
        members.add("ethash", Some("{}"));
        members.add("blobSchedule", self.schedule_json());
        members.0.push('}');
        members.0
    }

    fn schedule_json(&self) -> Option<String> {
        let entry = |(fork, field): (Fork, &'static str)| {
            let BlobParams { target, max, update_fraction } = self.blobs.get(fork)?;
            Some(format!(
                "\"{field}\":{{\"target\":{target},\"max\":{max},\"baseFeeUpdateFraction\":{update_fraction}}}"
            ))
        };
        let entries: Vec<String> = BLOB_FORKS.into_iter().filter_map(entry).collect();
        (!entries.is_empty()).then(|| format!("{{{}}}", entries.join(",")))
    }
}

/// An object that is being written.
struct Members(String);

impl Members {
    fn add(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _written = write!(self.0, ",\"{name}\":{value}");
        }
    }
}

fn mismatch(
    value: impl Into<String>,
    struct_name: &'static str,
    field: &'static str,
    go_type: &'static str,
) -> JsonError {
    JsonError::Mismatch { value: value.into(), struct_name, field, go_type }
}

/// A literal as texts name it: a number with its digits, anything else by its kind.
fn shown(value: Document<'_>) -> String {
    match value.kind() {
        Kind::Number => format!("number {}", String::from_utf8_lossy(value.as_bytes())),
        Kind::Null => "null".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::String => "string".to_owned(),
        Kind::Array => "array".to_owned(),
        Kind::Object => "object".to_owned(),
    }
}

fn object<'a>(
    value: Document<'a>,
    struct_name: &'static str,
    field: &'static str,
    go_type: &'static str,
) -> Result<Document<'a>, JsonError> {
    match value.kind() {
        Kind::Object => Ok(value),
        _ => Err(mismatch(shown(value), struct_name, field, go_type)),
    }
}

/// Reads the members of an object. `null` counts as absent, and the last of duplicate members counts.
fn members<'a>(
    object: Document<'a>,
    mut read: impl FnMut(&str, Document<'a>) -> Result<(), ConfigError>,
) -> Result<(), ConfigError> {
    let mut result = Ok(());
    Document::first_with_members(object.as_bytes(), |name, value| {
        if result.is_ok() && value.kind() != Kind::Null {
            result = read(&name.text(), value);
        }
    })
    .map_err(JsonError::from)?;
    result
}

/// An integer of at most 256 bits without a sign.
fn integer(
    value: Document<'_>,
    field: &'static str,
    go_type: &'static str,
) -> Result<U256, JsonError> {
    let digits = value.as_bytes();
    let is_decimal = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let text = String::from_utf8_lossy(digits);
    let parsed = if is_decimal { U256::from_str_radix(&text, 10).ok() } else { None };
    parsed.ok_or_else(|| mismatch(shown(value), CONFIG, field, go_type))
}

fn number(
    value: Document<'_>,
    field: &'static str,
    go_type: &'static str,
) -> Result<u64, JsonError> {
    let integer = integer(value, field, go_type)?;
    u64::try_from(integer).map_err(|_| mismatch(shown(value), CONFIG, field, go_type))
}

fn boolean(value: Document<'_>, field: &'static str) -> Result<bool, JsonError> {
    match value.kind() {
        Kind::Bool => Ok(value.as_bytes() == b"true"),
        _ => Err(mismatch(shown(value), CONFIG, field, "bool")),
    }
}

fn address(value: Document<'_>) -> Result<Address, JsonError> {
    const FIELD: &str = "depositContractAddress";
    const TYPE: &str = "common.Address";
    let Some(text) = value.as_str() else {
        return Err(mismatch("non-string", CONFIG, FIELD, TYPE));
    };
    let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) else {
        let error = if text.is_empty() { HexError::Empty } else { HexError::NoPrefix };
        return Err(mismatch(error.to_string(), CONFIG, FIELD, TYPE));
    };
    if digits.len() != 40 {
        let (length, expected) = (digits.len(), 40);
        return Err(JsonError::Length { length, expected, go_type: TYPE });
    }
    let mut bytes = [0; 20];
    hex::decode_to_slice(digits, &mut bytes)
        .map_err(|_| mismatch(HexError::Invalid.to_string(), CONFIG, FIELD, TYPE))?;
    Ok(Address::new(bytes))
}

fn blob_params(fork: &'static str, value: Document<'_>) -> Result<BlobParams, ConfigError> {
    let mut params = BlobParams { target: 0, max: 0, update_fraction: 0 };
    members(object(value, "BlobScheduleConfig", fork, "params.BlobConfig")?, |name, value| {
        let why = match name.to_ascii_lowercase().as_str() {
            "target" => "target < 0",
            "max" => "max < 0",
            "basefeeupdatefraction" => {
                params.update_fraction = number(value, "baseFeeUpdateFraction", "uint64")?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if value.as_bytes().starts_with(b"-") {
            return Err(ConfigError::BlobParams { fork, why });
        }
        match why {
            "max < 0" => params.max = number(value, "max", "int")?,
            _ => params.target = number(value, "target", "int")?,
        }
        Ok(())
    })?;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<ChainConfig, ConfigError> {
        ChainConfig::parse(Document::whole(json.as_bytes()).map_err(JsonError::from)?)
    }

    fn refused(json: &str) -> String {
        parse(json).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        for config in ChainConfig::PUBLIC.map(|preset| preset()) {
            assert_eq!(parse(&config.to_json()), Ok(config));
        }
        let config = ChainConfig::development(31337, Fork::London);
        let passed = ChainConfig { terminal_total_difficulty_passed: true, ..config.clone() };
        for config in [config, passed] {
            assert_eq!(parse(&config.to_json()), Ok(config));
        }
    }

    #[test]
    fn members_are_those_of_go_ethereum() {
        assert_eq!(
            ChainConfig {
                chain_id: 5,
                terminal_total_difficulty: Some(U256::from(7)),
                ..ChainConfig::default()
            }
            .with_block(BlockRule::Homestead, 0)
            .to_json(),
            r#"{"chainId":5,"homesteadBlock":0,"terminalTotalDifficulty":7,"depositContractAddress":"0x0000000000000000000000000000000000000000","ethash":{}}"#
        );
    }

    #[test]
    fn wrong_members_are_named() {
        let field = "json: cannot unmarshal string into Go struct field ChainConfig.";
        assert_eq!(
            refused("[]"),
            "json: cannot unmarshal array into Go struct field Genesis.config of type params.ChainConfig"
        );
        assert_eq!(refused("{}"), "missing required field 'chainId' for ChainConfig");
        assert_eq!(
            refused(r#"{"chainId":1,"homesteadBlock":"0x1"}"#),
            format!("{field}homesteadBlock of type *big.Int")
        );
        assert_eq!(
            refused(r#"{"chainId":1,"cancunTime":"5"}"#),
            format!("{field}cancunTime of type uint64")
        );
        assert!(refused(r#"{"chainId":-1}"#).contains("number -1 into"));
        assert!(refused(r#"{"chainId":1,"berlinBlock":1.5}"#).contains("number 1.5 into"));
        assert!(refused(r#"{"chainId":1,"daoForkSupport":1}"#).contains("daoForkSupport"));
        assert_eq!(
            refused(r#"{"chainId":1,"terminalTotalDifficultyPassed":"yes"}"#),
            format!("{field}terminalTotalDifficultyPassed of type bool")
        );
        assert!(refused(r#"{"chainId":1,"depositContractAddress":"12"}"#).contains("0x prefix"));
        assert_eq!(
            refused(r#"{"chainId":1,"depositContractAddress":"0x12"}"#),
            "hex string has length 2, want 40 for common.Address"
        );
        assert_eq!(refused(r#"{"chainId":1,"clique":{"period":1}}"#), "clique is not supported");
        assert_eq!(
            refused(r#"{"chainId":1,"blobSchedule":{"cancun":{"target":1,"max":-1}}}"#),
            r#"invalid chain configuration in blobSchedule for fork "cancun": max < 0"#
        );
    }

    #[test]
    fn null_is_absent_and_case_does_not_matter() {
        let config = parse(r#"{"CHAINID":1,"HomesteadBlock":3,"eip150Block":null,"clique":null}"#);
        assert_eq!(config.unwrap().block(BlockRule::Homestead), Some(3));
    }
}
