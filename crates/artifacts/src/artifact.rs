//! The forms of artifacts: those of Hardhat 2 and 3, which Ignition's are too, of Foundry, and a compiler's output.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use esker_primitives::plain_text;
use serde::Deserialize;

use crate::abi::Abi;
use crate::bytecode::Bytecode;
use crate::contract::Contract;
use crate::error::ArtifactError;
use crate::init_code::InitCode;
use crate::item::RawItem;

/// Most characters of a contract's name.
const MAX_NAME: usize = 100;
/// Most contracts of a compiler's output.
const MAX_CONTRACTS: usize = 10_000;

/// An artifact of Hardhat or Foundry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawArtifact {
    contract_name: Option<String>,
    abi: Option<Vec<RawItem>>,
    bytecode: Option<RawCode>,
    deployed_bytecode: Option<RawCode>,
    /// Of Hardhat 3.
    immutable_references: Option<RawPlaces>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawCode {
    /// Of Hardhat.
    Digits(String),
    /// Of Foundry and of a compiler.
    Object(RawObject),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawObject {
    object: Option<String>,
    immutable_references: Option<RawPlaces>,
}

/// The places of immutables by their IDs.
type RawPlaces = BTreeMap<String, Vec<RawPlace>>;

#[derive(Deserialize)]
struct RawPlace {
    start: usize,
    length: usize,
}

/// The output of a compiler that takes standard JSON.
#[derive(Deserialize)]
struct RawOutput {
    #[serde(default)]
    contracts: BTreeMap<String, BTreeMap<String, RawCompiled>>,
}

#[derive(Deserialize)]
struct RawCompiled {
    #[serde(default)]
    abi: Vec<RawItem>,
    #[serde(default)]
    evm: RawEvm,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvm {
    #[serde(default)]
    bytecode: RawObject,
    #[serde(default)]
    deployed_bytecode: RawObject,
}

/// The contract of an artifact's file; `None` if the file is JSON of something else.
pub(crate) fn parse(path: &Path, content: &[u8]) -> Result<Option<Contract>, ArtifactError> {
    let RawArtifact { contract_name, abi, bytecode, deployed_bytecode, immutable_references } =
        serde_json::from_slice(content)?;
    let Some(abi) = abi else { return Ok(None) };
    let name = contract_name.unwrap_or_else(|| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.split('.').next().unwrap_or_default().to_owned()
    });
    let (digits, places) = match deployed_bytecode {
        None => (None, None),
        Some(RawCode::Digits(digits)) => (Some(digits), immutable_references),
        // Foundry leaves the places out if there are none, and names them otherwise.
        Some(RawCode::Object(RawObject { object, immutable_references })) => {
            (object, Some(immutable_references.unwrap_or_default()))
        }
    };
    let init = match bytecode {
        None => None,
        Some(RawCode::Digits(digits)) => Some(digits),
        Some(RawCode::Object(RawObject { object, .. })) => object,
    };
    let origin = path.display().to_string();
    let codes = RawCodes { init: init.as_deref(), deployed: digits.as_deref(), places };
    contract(&name, &origin, &abi, codes).map(Some)
}

/// The contracts of a compiler's output in standard JSON. Those that have an error are left out.
///
/// # Errors
/// It is not such an output, or has too many contracts.
pub fn compiled(output: &str) -> Result<Vec<Arc<Contract>>, ArtifactError> {
    let RawOutput { contracts } = serde_json::from_str(output)?;
    let count: usize = contracts.values().map(BTreeMap::len).sum();
    if count > MAX_CONTRACTS {
        return Err(ArtifactError::Contracts(MAX_CONTRACTS));
    }
    let mut all = Vec::with_capacity(count);
    for (file, contracts) in contracts {
        for (name, RawCompiled { abi, evm }) in contracts {
            let RawObject { object, immutable_references } = evm.deployed_bytecode;
            let codes = RawCodes {
                init: evm.bytecode.object.as_deref(),
                deployed: object.as_deref(),
                places: Some(immutable_references.unwrap_or_default()),
            };
            all.extend(contract(&name, &file, &abi, codes).ok().map(Arc::new));
        }
    }
    Ok(all)
}

/// The codes of a contract as artifacts have them: hex digits.
struct RawCodes<'a> {
    init: Option<&'a str>,
    deployed: Option<&'a str>,
    places: Option<RawPlaces>,
}

fn contract(
    name: &str,
    origin: &str,
    abi: &[RawItem],
    codes: RawCodes<'_>,
) -> Result<Contract, ArtifactError> {
    let RawCodes { init, deployed, places } = codes;
    let place = |RawPlace { start, length }: RawPlace| start..start.saturating_add(length);
    let places: Option<Vec<Range<usize>>> =
        places.map(|places| places.into_values().flatten().map(place).collect());
    let init_code = InitCode::parse(init.unwrap_or_default())?;
    let appended = init_code.as_ref().map_or(0, |code| code.appended);
    Ok(Contract {
        name: plain_text(name, MAX_NAME).into(),
        origin: origin.into(),
        abi: Abi::parse(abi),
        code: Bytecode::parse(deployed.unwrap_or_default(), places, appended)?,
        init_code,
    })
}
