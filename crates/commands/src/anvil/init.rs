//! The file of `--init`: its accounts are added to block 0, and some of its members are settings.

use std::path::Path;

use esker_primitives::read_input;
use esker_settings::networks::MAX_FILE_BYTES;
use serde_json::Value;

use super::error::FlagError;

/// The members of a genesis file that are settings, as far as it has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InitFile {
    pub(super) chain_id: Option<u64>,
    pub(super) timestamp: Option<u64>,
    pub(super) base_fee: Option<u64>,
}

impl InitFile {
    /// Reads a file in geth's genesis format.
    pub(super) fn read(path: &Path) -> Result<Self, FlagError> {
        let fault = |reason: String| FlagError::Init { path: path.to_owned(), reason };
        let bytes = read_input(path, MAX_FILE_BYTES).map_err(|error| fault(error.to_string()))?;
        Self::parse(&bytes).map_err(fault)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let number = |name: &str, value: Option<&Value>| match value {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let text = format!("{name}: expected a number below 2^64");
                number(value).map(Some).ok_or(text)
            }
        };
        let config = file.get("config").and_then(|config| config.get("chainId"));
        Ok(Self {
            chain_id: number("chainId", config)?,
            timestamp: number("timestamp", file.get("timestamp"))?,
            base_fee: number("baseFeePerGas", file.get("baseFeePerGas"))?,
        })
    }
}

/// A number, in digits or in hex.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_numbers_or_texts() {
        let parse = |text: &str| InitFile::parse(text.as_bytes());
        assert_eq!(parse("{}"), Ok(InitFile::default()));
        let file = r#"{"config":{"chainId":77},"timestamp":"0x5","baseFeePerGas":"7","alloc":{}}"#;
        let expected = InitFile { chain_id: Some(77), timestamp: Some(5), base_fee: Some(7) };
        assert_eq!(parse(file), Ok(expected));
        for (text, reason) in [
            ("{", "EOF while parsing"),
            (r#"{"config":{"chainId":"x"}}"#, "chainId: expected a number below 2^64"),
            (r#"{"timestamp":-1}"#, "timestamp: expected a number below 2^64"),
            (r#"{"baseFeePerGas":1.5}"#, "baseFeePerGas: expected a number below 2^64"),
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
