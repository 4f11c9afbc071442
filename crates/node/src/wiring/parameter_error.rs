//! The reasons why a data folder does not fit the parameters of a start.

use thiserror::Error;

/// The data folder was made with other parameters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// The folder has the chains of another network.
    #[error(
        "the data folder belongs to network \"{found}\", this start is of network \"{wanted}\" (they differ in \
         {name}): choose the other network, or another --data-dir"
    )]
    Network {
        /// Name of the folder's network.
        found: String,
        /// Name of the configured network.
        wanted: String,
        /// The parameter that differs.
        name: String,
    },
    /// The folder has a development network with another beginning.
    #[error(
        "the data folder was made with other --accounts, --balance, --mnemonic, --derivation-path or --timestamp \
         (it differs in {name}): start with the same, or choose another --data-dir"
    )]
    DevNetwork {
        /// The parameter that differs.
        name: String,
    },
    /// The folder has a chain of `esker evm` that began otherwise.
    #[error(
        "the data folder was made with another --genesis, or with other --hardfork, --chain-id, --gas-limit, --base-fee, \
         --accounts, --balance, --mnemonic, --derivation-path or --timestamp (it differs in {name}): start with the same, or \
         choose another --data-dir"
    )]
    EvmNetwork {
        /// The parameter that differs.
        name: String,
    },
    /// The blocks of an import are of a development network that began otherwise.
    #[error(
        "the data folder has a development network that began {found}, the blocks are of one that began {wanted}: \
         choose another --data-dir"
    )]
    Beginning {
        /// The folder's beginning.
        found: String,
        /// The beginning of the blocks.
        wanted: String,
    },
    /// The folder has another fixture.
    #[error(
        "the data folder was made with {found}, this start has fixture {wanted}: start with the same file, or choose \
         another --data-dir"
    )]
    Fixture {
        /// The folder's fixture.
        found: String,
        /// Hash of the fixture of this start.
        wanted: String,
    },
    /// The start that made the folder was interrupted.
    #[error(
        "the data folder has a part of fixture {found}: start with the same --fixture to complete it, or choose \
         another --data-dir"
    )]
    PartOfFixture {
        /// Hash of the folder's fixture.
        found: String,
    },
    /// The folder's chain has other parameters.
    #[error(
        "{name} of chain {chain}: the data folder was made with {found}, this start has {wanted}: start with \
         {found}{hint}, or choose another --data-dir"
    )]
    Chain {
        /// Name of the chain.
        chain: String,
        /// The parameter that differs: a setting, or a member of the chain's genesis.
        name: String,
        /// The value in the folder.
        found: String,
        /// The value of this start.
        wanted: String,
        /// How to use the folder's value.
        hint: &'static str,
    },
    /// A chain of the folder is not declared any more.
    #[error(
        "the data folder has chain {chain}, which this start does not declare: declare it as before, or choose another \
         --data-dir"
    )]
    Missing {
        /// Its name, if that is recorded, and its ID.
        chain: String,
    },
}
