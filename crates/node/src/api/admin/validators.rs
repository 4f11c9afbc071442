//! `admin.getValidators`, `admin.approveValidators`: the validators of the network, and the next change of them
//! (docs/validators.md, "Changing the validators").

use esker_primitives::{excerpt, hexfmt};
use esker_rpc::wire::JsonU64;
use esker_rpc::{NoArgs, RpcError};
use esker_validators::{
    ChangeStatus, KeyError, Proposal, ValidatorAddress, ValidatorEngine, ValidatorPublicKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AdminApi;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ApproveArgs {
    /// The first height that the new validators decide.
    height: JsonU64,
    /// All new validators, also those that stay.
    validators: Vec<Validator>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct Validator {
    /// 64 hex digits.
    public_key: String,
    /// `HOST:PORT`.
    address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ValidatorsReply {
    /// 0, and one more with each change.
    epoch: JsonU64,
    /// The first height of the epoch.
    first_height: JsonU64,
    validators: Vec<Validator>,
    /// How many of them agree on a change.
    quorum: usize,
    /// The public key of this node.
    own_key: String,
    /// A change that is agreed and not in force yet.
    agreed: Option<ShownChange>,
    /// Changes that are not agreed.
    proposals: Vec<ShownProposal>,
    /// All agreed changes with their signatures, hex.
    changes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShownChange {
    /// The first height that the new validators decide.
    height: JsonU64,
    validators: Vec<Validator>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownProposal {
    /// Hash of the change.
    id: String,
    #[serde(flatten)]
    change: ShownChange,
    /// Public keys of the validators whose operators approved it.
    approvals: Vec<String>,
    /// Public keys of the validators that promised it.
    promises: Vec<String>,
    /// Whether this node's operator approved it.
    is_own: bool,
}

fn shown(members: &[(ValidatorPublicKey, ValidatorAddress)]) -> Vec<Validator> {
    let member = |(key, address): &(ValidatorPublicKey, ValidatorAddress)| Validator {
        public_key: key.to_string(),
        address: address.to_string(),
    };
    members.iter().map(member).collect()
}

fn shown_proposal(proposal: &Proposal) -> ShownProposal {
    let keys =
        |keys: &[ValidatorPublicKey]| keys.iter().map(ValidatorPublicKey::to_string).collect();
    ShownProposal {
        id: proposal.change.id().to_string(),
        change: ShownChange {
            height: JsonU64(proposal.change.first_height),
            validators: shown(proposal.change.members()),
        },
        approvals: keys(&proposal.approvals),
        promises: keys(&proposal.promises),
        is_own: proposal.is_own,
    }
}

impl AdminApi {
    pub(super) fn get_validators(&self, _: NoArgs) -> Result<ValidatorsReply, RpcError> {
        let validator = self.validator()?;
        let status = validator.change_status();
        let status = status.map_err(|error| RpcError::new(error.to_string()))?;
        Ok(reply(validator, &status))
    }

    pub(super) fn approve_validators(
        &self,
        args: ApproveArgs,
    ) -> Result<ValidatorsReply, RpcError> {
        let validator = self.validator()?;
        let mut members = Vec::new();
        for (index, given) in args.validators.iter().enumerate() {
            let wrong = |name: &str, value: &str, reason: String| {
                RpcError::new(format!("validators[{index}].{name} {}: {reason}", excerpt(value)))
            };
            let key: ValidatorPublicKey = given.public_key.parse().map_err(|error: KeyError| {
                wrong("publicKey", &given.public_key, error.to_string())
            })?;
            let address: ValidatorAddress = given.address.parse().map_err(|_| {
                wrong(
                    "address",
                    &given.address,
                    "expected HOST:PORT, with a port above 0".to_owned(),
                )
            })?;
            members.push((key, address));
        }
        let status = validator.approve_change(args.height.0, members);
        let status = status.map_err(|error| RpcError::new(error.to_string()))?;
        Ok(reply(validator, &status))
    }

    fn validator(&self) -> Result<&dyn ValidatorEngine, RpcError> {
        self.validator.as_deref().ok_or_else(|| RpcError::new("this node is not a validator"))
    }
}

fn reply(validator: &dyn ValidatorEngine, status: &ChangeStatus) -> ValidatorsReply {
    let changes = validator.changes();
    ValidatorsReply {
        epoch: JsonU64(status.epoch),
        first_height: JsonU64(status.first_height),
        validators: shown(&status.validators),
        quorum: status.quorum,
        own_key: validator.public_key().to_string(),
        agreed: status.agreed.as_ref().map(|change| ShownChange {
            height: JsonU64(change.first_height),
            validators: shown(change.members()),
        }),
        proposals: status.proposals.iter().map(shown_proposal).collect(),
        changes: changes.iter().map(|change| hexfmt::encode_plain(change)).collect(),
    }
}
