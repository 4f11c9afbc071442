//! Which services are served: the list `eth-apis` (docs/protocol/c-chain-rpc.md, "Services").

use std::collections::BTreeSet;

/// A service that a node may serve. Each has methods of one namespace; several share `evm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// `admin`
    Admin,
    /// `debug`
    Debug,
    /// `debug-file-tracer`
    DebugFileTracer,
    /// `debug-handler`
    DebugHandler,
    /// `debug-tracer`
    DebugTracer,
    /// `eth`
    Eth,
    /// `eth-filter`
    EthFilter,
    /// `internal-account`
    InternalAccount,
    /// `internal-blockchain`
    InternalBlockchain,
    /// `internal-debug`
    InternalDebug,
    /// `internal-eth`
    InternalEth,
    /// `internal-personal`
    InternalPersonal,
    /// `internal-transaction`
    InternalTransaction,
    /// `internal-tx-pool`
    InternalTxPool,
    /// `net`
    Net,
    /// `ots`
    Ots,
    /// `testing`
    Testing,
    /// `web3`
    Web3,
}

/// Every name of every service; the first of each is the one to be shown.
const NAMES: [(&str, Api); 31] = [
    ("admin", Api::Admin),
    ("debug", Api::Debug),
    ("debug-file-tracer", Api::DebugFileTracer),
    ("debug-handler", Api::DebugHandler),
    ("debug-tracer", Api::DebugTracer),
    ("eth", Api::Eth),
    ("eth-filter", Api::EthFilter),
    ("internal-account", Api::InternalAccount),
    ("internal-blockchain", Api::InternalBlockchain),
    ("internal-debug", Api::InternalDebug),
    ("internal-eth", Api::InternalEth),
    ("internal-personal", Api::InternalPersonal),
    ("internal-transaction", Api::InternalTransaction),
    ("internal-tx-pool", Api::InternalTxPool),
    ("net", Api::Net),
    ("ots", Api::Ots),
    ("testing", Api::Testing),
    ("web3", Api::Web3),
    // Names of older releases.
    ("public-eth", Api::Eth),
    ("public-eth-filter", Api::EthFilter),
    ("private-admin", Api::Admin),
    ("public-debug", Api::Debug),
    ("private-debug", Api::Debug),
    ("internal-public-eth", Api::InternalEth),
    ("internal-public-blockchain", Api::InternalBlockchain),
    ("internal-public-transaction-pool", Api::InternalTransaction),
    ("internal-public-tx-pool", Api::InternalTxPool),
    ("internal-public-debug", Api::InternalDebug),
    ("internal-private-debug", Api::InternalDebug),
    ("internal-public-account", Api::InternalAccount),
    ("internal-private-personal", Api::InternalPersonal),
];

/// A name that means no service. The text is the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("API service {0} not found")]
pub struct UnknownApi(pub String);

impl Api {
    /// The service's name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, api)| *api == self).map_or("", |(name, _)| name)
    }

    /// The service of a name, older names included.
    pub fn by_name(name: &str) -> Result<Self, UnknownApi> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, api)| *api).ok_or_else(|| UnknownApi(name.to_owned()))
    }
}

/// The services of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apis(BTreeSet<Api>);

impl Default for Apis {
    fn default() -> Self {
        Self(BTreeSet::from([
            Api::Eth,
            Api::EthFilter,
            Api::Net,
            Api::Web3,
            Api::InternalEth,
            Api::InternalBlockchain,
            Api::InternalTransaction,
        ]))
    }
}

impl Apis {
    /// The services of a list of names.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownApi> {
        names.into_iter().map(Api::by_name).collect::<Result<_, _>>().map(Self)
    }

    /// Whether this service is served.
    pub fn has(&self, api: Api) -> bool {
        self.0.contains(&api)
    }

    /// The services, by name.
    pub fn iter(&self) -> impl Iterator<Item = Api> + '_ {
        self.0.iter().copied()
    }
}
