//! The highest fee of a payment, and the network of its signature. The user sets both, not the node: whoever alters a
//! node's answers could otherwise make a key sign away all that it has, or sign for another network.

use std::env;
use std::path::Path;

use alloy_primitives::U256;
use esker_primitives::network::{self, LOCAL_ID, MAIN_ID, TEST_ID};
use esker_settings::networks::{self, ChainParameters, Network, NetworkError, Preset};
use thiserror::Error;

use super::connection::{Asset, Connection};
use super::known::{Identity, KnownNetworks};
use super::target::C;
use super::{OnlineError, amount};
use crate::terminal::confirm;

/// The greatest fee without `--max-fee`, in coins.
pub(super) const MAX_FEE: &str = "0.1";

/// Fees above so many coins are asked about, whatever `--max-fee` is.
const ASKED_FEE: &str = "1";

/// EVM chain IDs of the development and the local network, and of `esker evm` and other development nodes.
const DEVELOPMENT_CHAIN_IDS: [u64; 2] = [43_112, 31_337];

/// The variables that name the network as they do for a node.
const NETWORK_VARIABLE: &str = "ESKER_NETWORK";
const CHAIN_ID_VARIABLE: &str = "ESKER_CHAIN_ID";

/// The user's network and highest fee for a payment.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// Name, number or file of the network.
    pub(super) network: Option<String>,
    /// EVM chain ID.
    pub(super) chain_id: Option<u64>,
    /// The greatest fee, in coins.
    pub(super) max_fee: String,
    /// Pays high fees without a question.
    pub(super) yes: bool,
}

/// A chain as a node describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<'a> {
    /// The chain's alias.
    pub(super) alias: &'a str,
    /// The identity that the node claims.
    pub(super) identity: Identity,
    /// Prefix of the address that is paid, which is of a network.
    pub(super) prefix: Option<&'a str>,
    /// Whether everybody has the key that pays, so that nobody can lose by it.
    pub(super) is_public_key: bool,
}

/// The network that the user means, as far as it is known.
#[derive(Debug, Default)]
struct Meant {
    origin: String,
    chain_id: Option<u64>,
    network_id: Option<u32>,
    blockchain_id: Option<String>,
    native: Option<String>,
}

impl Claim<'_> {
    /// Whether keys of this network are for development, and its coins worth nothing.
    pub(super) fn is_development(&self) -> bool {
        match self.identity {
            Identity::Evm { chain_id } => DEVELOPMENT_CHAIN_IDS.contains(&chain_id),
            Identity::Assets { network_id, .. } => network_id == LOCAL_ID,
        }
    }

    /// The network that the node claims, as text for people.
    fn text(&self) -> String {
        let alias = self.alias;
        match self.identity {
            Identity::Evm { chain_id } => format!("its chain {alias} has the chain ID {chain_id}"),
            Identity::Assets { network_id, blockchain_id, native } => format!(
                "its network is {network_id}, its chain {alias} is {blockchain_id}, and fees are paid in {native}"
            ),
        }
    }

    /// An error if the node says something else than the user means.
    fn compare(&self, node: &Connection, meant: &Meant) -> Result<(), OnlineError> {
        let found = match self.identity {
            Identity::Evm { chain_id } => {
                vec![("chain ID", chain_id.to_string(), meant.chain_id.map(|id| id.to_string()))]
            }
            Identity::Assets { network_id, blockchain_id, native } => vec![
                ("network", network_id.to_string(), meant.network_id.map(|id| id.to_string())),
                ("blockchain ID", blockchain_id.to_string(), meant.blockchain_id.clone()),
                ("native asset", native.to_string(), meant.native.clone()),
            ],
        };
        for (what, found, expected) in found {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                return Err(OnlineError::Refused(format!(
                    "{} says that the {what} of its chain {} is {found}, but it is {expected} by {}: nothing was signed",
                    node.url(),
                    self.alias,
                    meant.origin,
                )));
            }
        }
        Ok(())
    }
}

impl Terms {
    /// Makes sure that the chain that a node describes is one that the user means.
    ///
    /// # Errors
    /// It is another one, or nobody has said which one it is.
    pub(super) fn check_network(
        &self,
        node: &Connection,
        claim: &Claim<'_>,
    ) -> Result<(), OnlineError> {
        if let Some(meant) = self.named(claim)? {
            return claim.compare(node, &meant);
        }
        if let Some(meant) = named_by_address(claim) {
            return claim.compare(node, &meant);
        }
        if claim.is_development() && (node.is_loopback() || claim.is_public_key) {
            return Ok(());
        }
        self.check_known(node, claim)
    }

    /// The network that arguments or variables name.
    fn named(&self, claim: &Claim<'_>) -> Result<Option<Meant>, OnlineError> {
        let is_evm = matches!(claim.identity, Identity::Evm { .. });
        if !is_evm && let Some(id) = self.chain_id {
            let reason = format!("chain {} has none: name its network by --network", claim.alias);
            return Err(argument("--chain-id", &id.to_string(), reason));
        }
        if is_evm && let Some((id, origin)) = self.named_chain_id()? {
            return Ok(Some(Meant { chain_id: Some(id), origin, ..Meant::default() }));
        }
        let (name, origin) = match (&self.network, variable(NETWORK_VARIABLE)) {
            (Some(name), _) => (name.clone(), "--network"),
            (None, Some(name)) => (name, NETWORK_VARIABLE),
            (None, None) => return Ok(None),
        };
        let mut meant = of_name(&name, claim.alias)
            .map_err(|error| argument(origin, &name, error.to_string()))?;
        meant.origin = format!("{origin} {}", esker_primitives::excerpt(&name));
        if is_evm && meant.chain_id.is_none() {
            let alias = claim.alias;
            let reason =
                format!("it does not say the chain ID of {alias}: give --chain-id as well");
            return Err(argument(origin, &name, reason));
        }
        Ok(Some(meant))
    }

    fn named_chain_id(&self) -> Result<Option<(u64, String)>, OnlineError> {
        if let Some(id) = self.chain_id {
            return Ok(Some((id, format!("--chain-id {id}"))));
        }
        // With --network the variable of a node of another network does not count.
        let Some(text) = variable(CHAIN_ID_VARIABLE).filter(|_| self.network.is_none()) else {
            return Ok(None);
        };
        let id = text.parse().map_err(|_| {
            argument(CHAIN_ID_VARIABLE, &text, "expected a whole number".to_owned())
        })?;
        Ok(Some((id, format!("{CHAIN_ID_VARIABLE} {id}"))))
    }

    /// Compares with what was confirmed before; otherwise asks, and keeps the answer.
    fn check_known(&self, node: &Connection, claim: &Claim<'_>) -> Result<(), OnlineError> {
        let (url, text, name) = (node.url(), claim.text(), how_to_name(claim));
        let unknown = || {
            OnlineError::Unnamed(format!(
                "{url} says that {text}: if you mean this network, say so by {name}; nothing was signed"
            ))
        };
        let Some(home) = env::var_os("HOME").filter(|home| !home.is_empty()) else {
            return Err(unknown());
        };
        let known = KnownNetworks::read(Path::new(&home))
            .map_err(|error| OnlineError::Unnamed(error.to_string()))?;
        let key = node.normal_url();
        match known.get(&key, claim.alias) {
            Some(kept) if *kept == claim.identity => return Ok(()),
            // Nodes of this machine come and go at the same port.
            Some(_) if !node.is_loopback() => {
                let file = known.path().display();
                return Err(OnlineError::Refused(format!(
                    "{url} says that {text}, which is not what you have confirmed before: nothing was signed. If it is right, \
                     remove the entry of {key} from {file}, or say so by {name}"
                )));
            }
            _ => {}
        }
        match confirm(&format!(
            "{url} says that {text}.\nIs this the network that you mean? [y/N] "
        )) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => return Err(OnlineError::Refused("nothing was signed".to_owned())),
            Ok(None) => return Err(unknown()),
            Err(error) => return Err(OnlineError::Refused(format!("nothing was signed: {error}"))),
        }
        known.keep(&key, claim.alias, claim.identity).map_err(|error| {
            OnlineError::Unnamed(format!(
                "the answer can't be kept ({error}): say it by {name}; nothing was signed"
            ))
        })
    }

    /// Makes sure that the user is willing to pay a fee. It is that which is signed, or the greatest that can come of it.
    ///
    /// # Errors
    /// It is above `--max-fee`, or above a coin and not confirmed.
    pub(super) fn check_fee(&self, fee: U256, coin: &Asset) -> Result<(), OnlineError> {
        let limit = |text: &str| match amount::parse(text, coin.decimals, true) {
            Err(amount::AmountError::Zero) => Ok(U256::ZERO),
            parsed => parsed.map_err(|error| argument("--max-fee", text, error.to_string())),
        };
        let (max, asked) = (limit(&self.max_fee)?, limit(ASKED_FEE)?);
        let text = |units| amount::format(units, coin.decimals);
        let symbol = &coin.symbol;
        if fee > max {
            return Err(OnlineError::Refused(format!(
                "the fee would be up to {} {symbol}, and --max-fee is {}: nothing was signed. Give a greater --max-fee if \
                 the fee is right",
                text(fee),
                text(max),
            )));
        }
        if fee <= asked || self.yes {
            return Ok(());
        }
        match confirm(&format!("The fee is up to {} {symbol}. Pay it? [y/N] ", text(fee))) {
            Ok(Some(true)) => Ok(()),
            Ok(None) => Err(OnlineError::Unnamed(format!(
                "the fee would be up to {} {symbol}: add --yes to pay more than {ASKED_FEE} without a question; nothing was \
                 signed",
                text(fee),
            ))),
            Ok(Some(false)) => Err(OnlineError::Refused("nothing was signed".to_owned())),
            Err(error) => Err(OnlineError::Refused(format!("nothing was signed: {error}"))),
        }
    }
}

/// The network whose addresses have the prefix, if it is only one.
fn named_by_address(claim: &Claim<'_>) -> Option<Meant> {
    let prefix = claim.prefix?;
    let id = [MAIN_ID, TEST_ID, LOCAL_ID].into_iter().find(|id| network::hrp(*id) == prefix)?;
    let preset = Preset::ALL.into_iter().find(|preset| preset.id() == id)?;
    let origin = format!("the address, which begins with {prefix}1");
    let meant = Meant { origin, ..of_network(&preset.network(), claim.alias) };
    // A further chain of the network is not known.
    let is_known = id == LOCAL_ID || meant.blockchain_id.is_some();
    is_known.then_some(meant)
}

/// The identity of a chain in a network.
fn of_network(network: &Network, alias: &str) -> Meant {
    let chain = network.chains.iter().find(|chain| {
        chain.aliases.iter().any(|other| other == alias) || chain.id.to_string() == alias
    });
    let mut meant = Meant { network_id: Some(network.id), ..Meant::default() };
    match chain.map(|chain| &chain.parameters) {
        Some(ChainParameters::Evm(parameters)) => meant.chain_id = Some(parameters.chain_id),
        // The local network begins otherwise in each version of the reference, and with each fixture.
        _ if network.id == LOCAL_ID => {}
        _ => {
            meant.blockchain_id = chain.map(|chain| chain.id.to_string());
            meant.native = Some(network.native_asset_id.to_string());
        }
    }
    meant
}

/// The reason why a network gives no identity of a chain.
#[derive(Debug, Error)]
enum NamedNetworkError {
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("it has no chain {0}")]
    NoChain(String),
}

/// The identity of a chain in the network of a name, number or file.
fn of_name(name: &str, alias: &str) -> Result<Meant, NamedNetworkError> {
    let id = network::id(name);
    let is_named = |preset: &Preset| Some(preset.id()) == id;
    let preset = Preset::from_name(name).or_else(|| Preset::ALL.into_iter().find(is_named));
    let network = match (preset, id) {
        (Some(preset), _) => preset.network(),
        (None, Some(id)) => return Ok(Meant { network_id: Some(id), ..Meant::default() }),
        (None, None) => networks::load(name)?,
    };
    let meant = of_network(&network, alias);
    let is_of_chain = meant.chain_id.is_some() || meant.blockchain_id.is_some();
    if is_of_chain || network.id == LOCAL_ID {
        return Ok(meant);
    }
    Err(NamedNetworkError::NoChain(alias.to_owned()))
}

fn how_to_name(claim: &Claim<'_>) -> String {
    match claim.identity {
        Identity::Evm { chain_id } if claim.alias == C => {
            format!("--chain-id {chain_id}, or --network with its name or file")
        }
        Identity::Evm { chain_id } => format!("--chain-id {chain_id}"),
        Identity::Assets { network_id, .. } => {
            format!("--network {network_id}, or --network with its name or file")
        }
    }
}

fn argument(name: &'static str, text: &str, reason: String) -> OnlineError {
    OnlineError::Argument { name, text: esker_primitives::excerpt(text).into_owned(), reason }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
