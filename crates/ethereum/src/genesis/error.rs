//! Why a genesis file is refused.

use alloy_primitives::U256;
use esker_evm_execution::genesis::{GenesisError as FieldsError, JsonError};
use thiserror::Error;

use crate::forks::ConfigError;

/// Why a genesis file is refused. The texts are go-ethereum's, where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenesisError {
    /// The header or an account has another form.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// The file is no JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The configuration is impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The first block has a height.
    #[error("can't commit genesis block with number > 0: have {0}")]
    Number(u64),
    /// The base fee has more than 64 bits.
    #[error("invalid baseFeePerGas: have {0}, max 18446744073709551615")]
    BaseFee(U256),
}
