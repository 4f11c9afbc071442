//! Names of what contracts do, from the output of a compiler.

use std::borrow::Cow;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_rpc::RpcError;

use super::DevelopmentNode;

/// A document of a compiler, as text.
#[derive(Clone, Debug)]
pub(super) struct CompilerDocument(String);

esker_rpc::schema!(CompilerDocument, "CompilerDocument", {
    "title": "standard JSON",
    "description": "Input or output of a compiler in Solidity's standard JSON.",
    "type": "object",
});

impl Argument for CompilerDocument {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("json.RawMessage")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        Ok(Self(String::from_utf8_lossy(value.as_bytes()).into_owned()))
    }
}

/// Adds the contracts of a compiler's output to those that are known by name.
pub(super) fn add(
    node: &DevelopmentNode,
    (_version, _input, output): (String, CompilerDocument, CompilerDocument),
) -> Result<bool, RpcError> {
    let contracts = esker_artifacts::compiled(&output.0).map_err(|error| {
        let text = format!("invalid argument 2: {error}");
        RpcError::with_code(RpcError::INVALID_PARAMS, text)
    })?;
    node.controls()?.artifacts().add(contracts);
    Ok(true)
}
