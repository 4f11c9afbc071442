//! The definition of a network.

use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use esker_evm_execution::executor::EVM_CHAIN_IDS;
use esker_evm_execution::rules::FeeOverrides;
use esker_primitives::{AssetId, ChainId, Id};
use esker_utxo::Utxo;
use esker_xvm::genesis::{Genesis, primary};
use thiserror::Error;

use super::coin::{Coin, CoinError};
use super::dev_accounts::DevAccounts;
use super::parameters::{ChainParameters, EvmParameters, Fees};
use super::validators::Validators;
use crate::fixture::Fixture;

/// The P-Chain: the zero ID. It is a peer in shared memory with a few read methods, not a running chain.
pub const P_CHAIN_ID: ChainId = ChainId::ZERO;

/// Aliases of the P-Chain.
pub const P_ALIASES: [&str; 2] = ["P", "platform"];

/// Most chains of a network besides P.
pub const MAX_CHAINS: usize = 1000;

/// Longest alias of a chain, in bytes, in a configuration or when it is added at runtime.
pub const MAX_ALIAS_BYTES: usize = 512;

/// Valid gas limits of EVM blocks: at least a transfer, at most the greatest signed number, which clients use.
pub const GAS_LIMITS: RangeInclusive<u64> = 21_000..=i64::MAX.cast_unsigned();

/// One chain of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSpec {
    /// Its ID: a hash of network, name, virtual machine and genesis.
    pub id: ChainId,
    /// Its name in the transaction that created it: `X-Chain`.
    pub name: String,
    /// Its aliases, the primary one first; may be empty.
    pub aliases: Vec<String>,
    /// Its genesis, in the format of its virtual machine.
    pub genesis: Bytes,
    /// Its parameters, on which validity depends besides the genesis.
    pub parameters: ChainParameters,
}

impl ChainSpec {
    /// The first alias, used in addresses, log file and routes.
    pub fn primary_alias(&self) -> String {
        self.aliases.first().cloned().unwrap_or_else(|| self.id.to_string())
    }

    /// Whether a text is an alias, the name or the ID of the chain.
    pub fn has_name(&self, text: &str) -> bool {
        self.name == text || self.aliases.iter().any(|a| a == text) || self.id.to_string() == text
    }
}

/// The declaration of a chain besides X and C.
#[derive(Clone, Debug)]
pub struct ChainDeclaration {
    /// Its name; the ID depends on it and on the genesis.
    pub name: String,
    /// Its aliases.
    pub aliases: Vec<String>,
    /// Its genesis: bytes of the asset VM, JSON of the EVM.
    pub genesis: Vec<u8>,
    /// Its virtual machine, and its fees.
    pub fees: DeclaredFees,
}

/// Fees of a further chain, by its virtual machine.
#[derive(Clone, Copy, Debug)]
pub enum DeclaredFees {
    /// Fees of a chain of the asset VM.
    Xvm(Fees),
    /// The replacements of fee constants on a chain of the EVM with the C-Chain's rules.
    Evm(FeeOverrides),
    /// None: a chain of the EVM with Ethereum's rules, whose genesis is geth's.
    Ethereum,
}

/// A UTXO that the P-Chain exported before the network's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedUtxo {
    /// The chain that can import it.
    pub destination: ChainId,
    /// The UTXO.
    pub utxo: Utxo,
}

/// A network: its chains and their genesis.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name: `local`, `dev`, or the one in the file.
    pub name: String,
    /// ID of the network, which transactions contain.
    pub id: u32,
    /// Human-readable part of its addresses.
    pub hrp: &'static str,
    /// Its start, Unix seconds.
    pub start_time_s: u64,
    /// Its native asset.
    pub native_asset_id: AssetId,
    /// Those of the genesis first: X and C, or one chain of the EVM alone. Then the others in the order of their declaration,
    /// without P.
    pub chains: Vec<ChainSpec>,
    /// Whether blocks of its EVM chains may have control records
    /// (docs/protocol/c-chain-blocks.md, "Control records").
    pub has_controls: bool,
    /// The P-Chain's exports before the start.
    pub exported: Vec<ExportedUtxo>,
    /// The accounts of a development network. Its node funds them on X and signs for them on C.
    pub dev_accounts: Option<DevAccounts>,
    /// The initial content of a development network besides its accounts.
    pub fixture: Option<Arc<Fixture>>,
    /// The nodes that decide together, if the network has any.
    pub validators: Validators,
}

/// The reason why a chain can't be added to a network.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AddChainError {
    /// The name is empty or has characters that a transaction can't have.
    #[error("chain \"{0}\": a name has 1 to 128 printable ASCII characters")]
    Name(String),
    /// Another chain has the name, alias or ID.
    #[error("chain \"{chain}\": \"{name}\" is the name or alias of another chain")]
    Taken {
        /// The chain to add.
        chain: String,
        /// The name, alias or ID in use.
        name: String,
    },
    /// An alias that can't be part of an address and of a path.
    #[error(
        "chain \"{chain}\": alias \"{alias}\": an alias has 1 to {MAX_ALIAS_BYTES} letters, digits or _"
    )]
    Alias {
        /// The chain to add.
        chain: String,
        /// The alias.
        alias: String,
    },
    /// The genesis is invalid for the virtual machine.
    #[error("chain \"{chain}\": {reason}")]
    Genesis {
        /// The chain to add.
        chain: String,
        /// The fault.
        reason: String,
    },
    /// The coin of an EVM chain is invalid.
    #[error("chain \"{chain}\": {error}")]
    Coin {
        /// The chain.
        chain: String,
        /// The fault.
        error: CoinError,
    },
    /// Transactions of one chain would be valid on another.
    #[error(
        "chain \"{chain}\": EVM chain ID {chain_id} is that of chain \"{other}\" already: a transaction that is signed \
         for one would be valid on the other"
    )]
    SameEvmChainId {
        /// The later chain.
        chain: String,
        /// The earlier one.
        other: String,
        /// The chain ID of both.
        chain_id: u64,
    },
    /// The network has [`MAX_CHAINS`] chains.
    #[error("a network has at most {MAX_CHAINS} chains")]
    TooMany,
}

impl AddChainError {
    /// Name of the chain that can't be added.
    pub fn chain(&self) -> Option<&str> {
        match self {
            Self::Name(chain)
            | Self::Taken { chain, .. }
            | Self::Alias { chain, .. }
            | Self::Genesis { chain, .. }
            | Self::Coin { chain, .. }
            | Self::SameEvmChainId { chain, .. } => Some(chain),
            Self::TooMany => None,
        }
    }
}

impl Network {
    /// Whether its node begins it at its first start, with the accounts of the configuration.
    pub const fn is_development(&self) -> bool {
        self.dev_accounts.is_some()
    }

    /// The asset-VM chain of the genesis, where the native asset is created; `None` where an EVM chain is alone.
    pub fn x_chain(&self) -> Option<&ChainSpec> {
        self.chains.first().filter(|chain| chain.parameters.xvm().is_some())
    }

    /// The EVM chain of the genesis: the C-Chain, or the one that is alone.
    pub fn evm_chain(&self) -> &ChainSpec {
        &self.chains[self.evm_index()]
    }

    /// That chain, to change before the node starts.
    pub(super) fn evm_chain_mut(&mut self) -> &mut ChainSpec {
        let index = self.evm_index();
        &mut self.chains[index]
    }

    fn evm_index(&self) -> usize {
        usize::from(self.x_chain().is_some())
    }

    /// The fees of the X-Chain; the usual ones without it.
    pub fn x_fees(&self) -> Fees {
        let fees = self.x_chain().and_then(|chain| chain.parameters.xvm());
        fees.copied().unwrap_or_else(|| Fees::of_network(self.id))
    }

    /// The parameters of [`Self::evm_chain`].
    pub fn evm_parameters(&self) -> &EvmParameters {
        self.evm_chain().parameters.evm().expect("it is a chain of the EVM")
    }

    /// These parameters, to change before the node starts.
    pub fn evm_parameters_mut(&mut self) -> &mut EvmParameters {
        match &mut self.evm_chain_mut().parameters {
            ChainParameters::Evm(parameters) => parameters,
            ChainParameters::Xvm(_) => unreachable!("it is a chain of the EVM"),
        }
    }

    /// The chains of the genesis: X and C, or an EVM chain alone. Other chains join the network later.
    pub fn genesis_chains(&self) -> &[ChainSpec] {
        &self.chains[..=self.evm_index()]
    }

    /// The chain with this alias, name or ID.
    pub fn chain(&self, text: &str) -> Option<&ChainSpec> {
        self.chains.iter().find(|chain| chain.has_name(text))
    }

    /// Adds a chain. An EVM chain has a coin of its own until [`Self::set_coins`] sets another one.
    pub fn add_chain(&mut self, declared: ChainDeclaration) -> Result<&ChainSpec, AddChainError> {
        let ChainDeclaration { name, aliases, genesis, fees } = declared;
        let fault = |reason: String| AddChainError::Genesis { chain: name.clone(), reason };
        if self.chains.len() >= MAX_CHAINS {
            return Err(AddChainError::TooMany);
        }
        if name.is_empty() || name.len() > 128 || !name.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            return Err(AddChainError::Name(name));
        }
        let (id, parameters) = match fees {
            DeclaredFees::Xvm(fees) => {
                Genesis::parse(&genesis).map_err(|error| fault(error.to_string()))?;
                let id = primary::xvm_chain_id(self.id, &name, &genesis);
                (id, ChainParameters::Xvm(fees))
            }
            DeclaredFees::Evm(fees) => {
                let of_genesis = EvmParameters::of_genesis(&genesis);
                let named = of_genesis.map_err(|error| fault(format!("genesis: {error}")))?;
                let mut parameters = EvmParameters { coin: Coin::Own, ..named };
                parameters.set_fees(fees);
                self.evm_chain_of((name.as_str(), genesis.as_slice()), parameters).map_err(fault)?
            }
            DeclaredFees::Ethereum => {
                let of_genesis = EvmParameters::of_ethereum_genesis(&genesis);
                let parameters = of_genesis.map_err(|error| fault(format!("genesis: {error}")))?;
                self.evm_chain_of((name.as_str(), genesis.as_slice()), parameters).map_err(fault)?
            }
        };
        let valid = |alias: &str| {
            let plain = alias.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            plain && (1..=MAX_ALIAS_BYTES).contains(&alias.len())
        };
        if let Some(alias) = aliases.iter().find(|alias| !valid(alias)) {
            return Err(AddChainError::Alias { chain: name, alias: alias.clone() });
        }
        let names = std::iter::once(&name).chain(&aliases).cloned().chain([id.to_string()]);
        for (index, text) in names.enumerate() {
            let twice = aliases.iter().filter(|alias| **alias == text).count() > 1;
            let is_p = P_ALIASES.contains(&text.as_str()) || (index == 0 && text == "P-Chain");
            if twice || is_p || self.chain(&text).is_some() {
                return Err(AddChainError::Taken { chain: name, name: text });
            }
        }
        self.chains.push(ChainSpec { id, name, aliases, genesis: genesis.into(), parameters });
        Ok(self.chains.last().expect("one was pushed"))
    }

    /// ID and parameters of an EVM chain with this name and genesis.
    fn evm_chain_of(
        &self,
        (name, genesis): (&str, &[u8]),
        parameters: EvmParameters,
    ) -> Result<(ChainId, ChainParameters), String> {
        if !EVM_CHAIN_IDS.contains(&parameters.chain_id) {
            let (least, most) = (EVM_CHAIN_IDS.start(), EVM_CHAIN_IDS.end());
            let chain_id = parameters.chain_id;
            return Err(format!("genesis: chainId is {chain_id}, expected {least} to {most}"));
        }
        let id = primary::evm_chain_id(self.id, name, genesis);
        Ok((id, ChainParameters::Evm(Box::new(parameters))))
    }

    /// Fingerprint of the network's initial state, which differs between networks. A chain may join a running
    /// network, so the fingerprint only covers the primary X-Chain and the P-Chain's exports. Each chain also checks
    /// its own genesis. All networks of an EVM chain alone have one fingerprint.
    pub fn fingerprint(&self) -> Id {
        use esker_primitives::Encode;
        let mut bytes = match self.x_chain() {
            Some(x) => x.id.as_bytes().to_vec(),
            None => b"one chain of the EVM".to_vec(),
        };
        for exported in &self.exported {
            bytes.extend_from_slice(exported.destination.as_bytes());
            bytes.extend(exported.utxo.to_versioned_bytes());
        }
        Id::sha256(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::network;

    use super::super::Preset;
    use super::*;

    fn declaration(name: &str, aliases: &[&str]) -> ChainDeclaration {
        ChainDeclaration {
            name: name.to_owned(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            genesis: Preset::Local.network().x_chain().unwrap().genesis.to_vec(),
            fees: DeclaredFees::Xvm(Fees::of_network(network::LOCAL_ID)),
        }
    }

    #[test]
    fn further_chains_have_ids_of_their_own() {
        let mut network = Preset::Local.network();
        let x = network.x_chain().unwrap().id;
        let second = network.add_chain(declaration("Second", &["Y"])).unwrap().id;
        let third = network.add_chain(declaration("Third", &[])).unwrap().id;
        assert!(x != second && second != third);
        assert_eq!(network.chain("Y").unwrap().id, second);
        assert_eq!(network.chain(&third.to_string()).unwrap().primary_alias(), third.to_string());
        assert_eq!(network.fingerprint(), Preset::Local.network().fingerprint());
    }

    #[test]
    fn refused_declarations() {
        let mut network = Preset::Local.network();
        let mut refused = |declared| network.add_chain(declared).unwrap_err().to_string();
        for (declared, text) in [
            (declaration("X-Chain", &[]), "\"X-Chain\" is the name or alias of another chain"),
            (declaration("P-Chain", &[]), "\"P-Chain\" is the name or alias of another chain"),
            (declaration("Y", &["avm"]), "\"avm\" is the name or alias of another chain"),
            (declaration("Y", &["P"]), "\"P\" is the name or alias of another chain"),
            (declaration("Y", &["a", "a"]), "\"a\" is the name or alias of another chain"),
            (declaration("Y", &["a-b"]), "alias \"a-b\""),
            (declaration("Y", &[""]), "alias \"\""),
            (declaration("", &[]), "1 to 128"),
            (declaration("a\nb", &[]), "1 to 128"),
            (
                ChainDeclaration { genesis: vec![0, 0, 0], ..declaration("Y", &[]) },
                "packer has insufficient length",
            ),
            (
                ChainDeclaration { genesis: vec![0; 6], ..declaration("Y", &[]) },
                "no asset to pay fees in",
            ),
            (
                ChainDeclaration {
                    fees: DeclaredFees::Evm(FeeOverrides::default()),
                    ..declaration("Y", &[])
                },
                "genesis: invalid character",
            ),
        ] {
            let error = refused(declared);
            assert!(error.contains(text), "{error}");
        }
        assert_eq!(network.chains.len(), 2);
    }
}
