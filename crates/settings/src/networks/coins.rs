//! The coins of EVM chains, and the chains with which they are exchanged (docs/decisions.md, "Coins of further EVM
//! chains").

use esker_evm_execution::genesis::Genesis as EvmGenesis;
use esker_evm_execution::rules::{ForkSchedule, Phase};
use esker_primitives::{AssetId, ChainId};
use esker_xvm::genesis::Genesis as XvmGenesis;

use super::coin::{Coin, CoinDeclaration, CoinError};
use super::parameters::ChainParameters;
use super::spec::{AddChainError, ChainSpec, Network, P_ALIASES, P_CHAIN_ID};
use super::vm::Vm;

impl Network {
    /// The asset in which a chain's fees are paid and which is its coin. For an asset-VM chain it is the network's
    /// native asset. A coin that no other chain knows has the ID of its chain.
    pub fn coin_of(&self, chain: &ChainSpec) -> AssetId {
        match chain.coin() {
            None | Some(Coin::Native) => self.native_asset_id,
            Some(Coin::Own) => chain.id,
            Some(Coin::Asset { asset_id, .. }) => *asset_id,
        }
    }

    /// Texts that mean that asset. The network's native aliases are among them only if it is the native asset.
    pub fn coin_aliases(&self, chain: &ChainSpec, native_aliases: &[String]) -> Vec<String> {
        if self.coin_of(chain) == self.native_asset_id {
            return native_aliases.to_vec();
        }
        match chain.coin() {
            Some(Coin::Asset { alias: Some(alias), .. }) => vec![alias.clone()],
            Some(_) | None => Vec::new(),
        }
    }

    /// The chains with which a chain can exchange assets. A further EVM chain exchanges with those that it declares,
    /// and with those that declare it.
    pub fn peers_of(&self, chain: &ChainSpec) -> Vec<ChainId> {
        let is_peer = |other: &ChainSpec| match (chain.coin(), other.coin()) {
            (None | Some(Coin::Native), None) | (None, Some(Coin::Native)) => true,
            _ => chain.declares(&other.id) || other.declares(&chain.id),
        };
        let others = self.chains.iter().filter(|other| other.id != chain.id && is_peer(other));
        let with_p = match chain.coin() {
            None | Some(Coin::Native) => true,
            Some(_) => chain.declares(&P_CHAIN_ID),
        };
        let p = with_p.then_some(P_CHAIN_ID);
        p.into_iter().chain(others.map(|other| other.id)).collect()
    }

    /// The chains with which P can exchange assets.
    pub fn peers_of_p(&self) -> Vec<ChainId> {
        let with_p = self.chains.iter().filter(|chain| self.peers_of(chain).contains(&P_CHAIN_ID));
        with_p.map(|chain| chain.id).collect()
    }

    /// Gives further EVM chains their coins, all of them at once, since they may be peers of each other.
    pub fn set_coins(
        &mut self,
        declared: &[(ChainId, CoinDeclaration)],
    ) -> Result<(), AddChainError> {
        for (id, coin) in declared {
            let found = self.find_coin(*id, coin).map_err(|error| self.coin_error(*id, error))?;
            let chain = self.chains.iter_mut().find(|chain| chain.id == *id);
            match chain.map(|chain| &mut chain.parameters) {
                Some(ChainParameters::Evm(parameters)) => parameters.coin = found,
                // The asset VM has no coin. A declaration of one is refused above.
                Some(ChainParameters::Xvm(_)) | None => {}
            }
        }
        for (id, _) in declared {
            self.check_coin(*id).map_err(|error| self.coin_error(*id, error))?;
        }
        Ok(())
    }

    fn coin_error(&self, id: ChainId, error: CoinError) -> AddChainError {
        let chain = self.chains.iter().find(|chain| chain.id == id);
        let chain = chain.map_or_else(|| id.to_string(), |chain| chain.name.clone());
        AddChainError::Coin { chain, error }
    }

    fn find_coin(&self, id: ChainId, declared: &CoinDeclaration) -> Result<Coin, CoinError> {
        let vm = self.chains.iter().find(|chain| chain.id == id).map(|chain| chain.parameters.vm());
        if vm == Some(Vm::Xvm) {
            return match declared {
                CoinDeclaration { asset: None, peers } if peers.is_empty() => Ok(Coin::Own),
                CoinDeclaration { asset: None, .. } => Err(CoinError::PeersOfXvm),
                CoinDeclaration { asset: Some(_), .. } => Err(CoinError::AssetOfXvm),
            };
        }
        if !self.is_exchanged(id) && *declared != CoinDeclaration::default() {
            let member = if declared.asset.is_some() { "asset" } else { "peers" };
            return Err(CoinError::NotExchanged { member });
        }
        let Some(asset) = &declared.asset else {
            return match declared.peers.is_empty() {
                true => Ok(Coin::Own),
                false => Err(CoinError::NoAsset),
            };
        };
        let (asset_id, alias) = self.find_asset(asset)?;
        let mut peers = Vec::new();
        for text in &declared.peers {
            let peer = self.peer(text).ok_or_else(|| CoinError::UnknownPeer(text.clone()))?;
            if peer == id {
                return Err(CoinError::OwnPeer);
            }
            peers.push(peer);
        }
        peers.sort_unstable();
        peers.dedup();
        Ok(Coin::Asset { asset_id, alias, peers })
    }

    /// Whether the coin of an EVM chain may be an asset of others.
    fn is_exchanged(&self, id: ChainId) -> bool {
        let chain = self.chains.iter().find(|chain| chain.id == id);
        chain
            .and_then(|chain| chain.parameters.evm())
            .is_some_and(|evm| evm.has_atomic_transactions())
    }

    fn peer(&self, text: &str) -> Option<ChainId> {
        let is_p = P_ALIASES.contains(&text) || text == P_CHAIN_ID.to_string();
        is_p.then_some(P_CHAIN_ID).or_else(|| self.chain(text).map(|chain| chain.id))
    }

    /// The asset of an ID, or of `CHAIN:ALIAS`, in which case the alias is returned, too.
    fn find_asset(&self, text: &str) -> Result<(AssetId, Option<String>), CoinError> {
        let Some((chain, alias)) = text.split_once(':') else {
            let id: AssetId = text.parse().map_err(|_| CoinError::AssetText(text.to_owned()))?;
            return match id.is_zero() {
                true => Err(CoinError::ZeroAsset),
                false => Ok((id, None)),
            };
        };
        let spec = self.chain(chain).ok_or_else(|| CoinError::UnknownChain(chain.to_owned()))?;
        let mut assets = genesis_assets(spec);
        let found = assets.find(|(found, _)| found.as_slice() == alias.as_bytes());
        let (_, id) = found.ok_or_else(|| CoinError::UnknownAsset {
            chain: chain.to_owned(),
            alias: alias.to_owned(),
        })?;
        Ok((id, Some(alias.to_owned())))
    }

    /// Refuses amounts that would be lost in an exchange, or would come from nowhere.
    fn check_coin(&self, id: ChainId) -> Result<(), CoinError> {
        let Some(chain) = self.chains.iter().find(|chain| chain.id == id) else { return Ok(()) };
        let Some(Coin::Asset { asset_id, peers, .. }) = chain.coin() else { return Ok(()) };
        let banff = chain.parameters.evm().and_then(|evm| evm.phase_begins(Phase::Banff));
        if banff > Some(ForkSchedule::LOCAL.begins(Phase::Banff)) {
            return Err(CoinError::BeforeBanff);
        }
        let is_native = *asset_id == self.native_asset_id;
        if is_native {
            check_empty(&chain.genesis)?;
        }
        let is_of_genesis =
            self.chains.iter().any(|chain| genesis_assets(chain).any(|(_, id)| id == *asset_id));
        for peer in peers {
            if *peer == P_CHAIN_ID {
                if !is_native {
                    return Err(CoinError::AssetOfP);
                }
                continue;
            }
            let Some(peer) = self.chains.iter().find(|chain| chain.id == *peer) else { continue };
            let name = peer.primary_alias();
            match peer.parameters.vm() {
                Vm::Evm if self.coin_of(peer) != *asset_id => {
                    return Err(CoinError::OtherCoin(name));
                }
                // An asset that no genesis has may be created later, on any of these chains.
                Vm::Xvm if is_of_genesis && genesis_assets(peer).all(|(_, id)| id != *asset_id) => {
                    return Err(CoinError::NotInGenesis(name));
                }
                Vm::Evm | Vm::Xvm => {}
            }
        }
        Ok(())
    }

    /// A signature is valid on every chain with the same chain ID, so no two EVM chains of a node may share one.
    pub fn check_evm_chain_ids(&self) -> Result<(), AddChainError> {
        for (index, chain) in self.chains.iter().enumerate() {
            let Some(parameters) = chain.parameters.evm() else { continue };
            let has_same = |other: &&ChainSpec| {
                other.parameters.evm().is_some_and(|other| other.chain_id == parameters.chain_id)
            };
            if let Some(earlier) = self.chains[..index].iter().find(has_same) {
                return Err(AddChainError::SameEvmChainId {
                    chain: chain.name.clone(),
                    other: earlier.name.clone(),
                    chain_id: parameters.chain_id,
                });
            }
        }
        Ok(())
    }
}

impl ChainSpec {
    /// The coin of an EVM chain.
    pub fn coin(&self) -> Option<&Coin> {
        self.parameters.evm().map(|parameters| &parameters.coin)
    }

    /// Whether this chain declares the other one as a peer of its coin.
    fn declares(&self, other: &ChainId) -> bool {
        matches!(self.coin(), Some(Coin::Asset { peers, .. }) if peers.contains(other))
    }
}

/// Aliases and IDs of the assets in the genesis of an asset-VM chain.
fn genesis_assets(chain: &ChainSpec) -> impl Iterator<Item = (Vec<u8>, AssetId)> {
    let parsed = match chain.parameters.vm() {
        Vm::Xvm => XvmGenesis::parse(&chain.genesis).ok(),
        Vm::Evm => None,
    };
    let assets = parsed.map(|genesis| genesis.assets).unwrap_or_default();
    assets.into_iter().map(|asset| {
        let id = asset.asset_id();
        (asset.alias, id)
    })
}

/// X, C and the exports of P fix the supply of the native asset.
fn check_empty(genesis: &[u8]) -> Result<(), CoinError> {
    let genesis = EvmGenesis::parse(genesis)?;
    match genesis.alloc.iter().find(|(_, account)| !account.balance.is_zero()) {
        Some((address, _)) => Err(CoinError::Balance(*address)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::file;
    use super::*;

    const FILE: &str = include_str!("../../../../tests/networks/evm-chains.json");

    fn with(change: impl FnOnce(&mut Vec<Value>)) -> Result<Network, String> {
        let mut json: Value = serde_json::from_str(FILE).unwrap();
        change(json["esker"]["chains"].as_array_mut().unwrap());
        let network =
            file::parse(json.to_string().as_bytes()).map_err(|error| error.to_string())?;
        network.check_evm_chain_ids().map_err(|error| error.to_string())?;
        Ok(network)
    }

    fn names(network: &Network, chain: &str) -> String {
        let peers = network.peers_of(network.chain(chain).unwrap());
        let name = |id: &ChainId| match network.chains.iter().find(|chain| chain.id == *id) {
            Some(chain) => chain.primary_alias(),
            None => "P".to_owned(),
        };
        peers.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn who_exchanges_with_whom() {
        let network = with(|_| {}).unwrap();
        for (chain, peers) in [
            ("X", "P C Y N"),
            ("C", "P X Y N"),
            ("Y", "P X C E F"),
            ("E", "Y F"),
            ("F", "Y E"),
            ("G", ""),
            ("N", "X C"),
        ] {
            assert_eq!(names(&network, chain), peers, "{chain}");
        }
        let coin = |chain: &str| network.coin_of(network.chain(chain).unwrap());
        assert_eq!(coin("E"), coin("F"));
        assert_eq!((coin("C"), coin("N")), (network.native_asset_id, network.native_asset_id));
        assert_eq!(coin("G"), network.chain("G").unwrap().id);
        let aliases = |chain: &str| {
            network.coin_aliases(network.chain(chain).unwrap(), &["NAT".to_owned()]).join(" ")
        };
        assert_eq!(["C", "N", "E", "G"].map(aliases), ["NAT", "NAT", "fuel", ""]);
    }

    #[test]
    fn networks_without_further_evm_chains_exchange_as_before() {
        let network = with(|chains| chains.truncate(1)).unwrap();
        for (chain, peers) in [("X", "P C Y"), ("C", "P X Y"), ("Y", "P X C")] {
            assert_eq!(names(&network, chain), peers, "{chain}");
        }
        let values = network.evm_chain().parameters.values();
        assert!(values.iter().all(|(name, _)| !["asset", "peers"].contains(&&**name)));
    }

    #[test]
    fn parameters_do_not_depend_on_order_or_names() {
        let values = |network: &Network| network.chain("E").unwrap().parameters.values();
        let network = with(|_| {}).unwrap();
        let id = network.chain("E").unwrap().coin().cloned();
        let Some(Coin::Asset { asset_id, .. }) = id else { panic!("an asset") };
        let y = network.chain("Y").unwrap().id.to_string();
        let other = with(|chains| {
            chains[1]["asset"] = json!(asset_id.to_string());
            chains[1]["peers"] = json!(["Fourth", y, "F"]);
            chains.reverse();
        });
        assert_eq!(values(&network), values(&other.unwrap()));
    }

    #[test]
    fn refused_coins() {
        let chain_id = |chain: &mut Value, from: &str, to: &str| {
            *chain = json!(chain.as_str().unwrap().replace(from, to));
        };
        let forks = ["banffBlock", "cortinaBlock", "durangoBlock", "etna", "fortuna"];
        let forks = forks.map(|fork| format!("\"{fork}Timestamp\":2000000000")).join(",");
        let later = format!("43201,{forks}");
        type Change<'a> = &'a dyn Fn(&mut Vec<Value>);
        let cases: [(Change<'_>, &str); 21] = [
            (
                &|c| chain_id(&mut c[1]["genesis"], "43201", &later),
                "asset: the genesis has a banffBlockTimestamp of its own",
            ),
            (&|c| c[1]["peers"] = json!(["Q"]), "\"Third\": peers: there is no chain \"Q\""),
            (&|c| c[1]["peers"] = json!(["E"]), "\"Third\": peers: a chain can't be its own peer"),
            (&|c| c[1]["peers"] = json!(["X"]), "peers: chain X does not know the asset"),
            (&|c| c[1]["peers"] = json!(["C"]), "peers: chain C has another coin"),
            (&|c| c[1]["peers"] = json!(["G"]), "peers: chain G has another coin"),
            (&|c| c[1]["peers"] = json!(["P"]), "peers: P has the native asset alone"),
            (
                &|c| c[3]["peers"] = json!(["Y"]),
                "peers: the asset that is exchanged with them is missing",
            ),
            (
                &|c| c[1]["asset"] = json!("fuel"),
                "asset: \"fuel\" is neither an ID nor CHAIN:ALIAS",
            ),
            (&|c| c[1]["asset"] = json!("Q:fuel"), "asset: there is no chain \"Q\""),
            (&|c| c[1]["asset"] = json!("Y:oil"), "no asset of chain \"Y\" is called \"oil\""),
            (&|c| c[1]["asset"] = json!("C:fuel"), "no asset of chain \"C\" is called \"fuel\""),
            (
                &|c| c[1]["asset"] = json!("11111111111111111111111111111111LpoYY"),
                "asset: the empty ID is no asset's",
            ),
            (
                &|c| c[3]["asset"] = json!("X:AVAX"),
                "coins of the native asset, which nothing backs",
            ),
            (&|c| c[0]["asset"] = json!("X:AVAX"), "\"Second\": asset: for chains of the EVM"),
            (&|c| c[0]["peers"] = json!(["X"]), "\"Second\": peers: for chains of the EVM"),
            (
                &|c| chain_id(&mut c[2]["genesis"], "43202", "43201"),
                "\"Fourth\": EVM chain ID 43201 is that of chain \"Third\" already",
            ),
            (
                &|c| chain_id(&mut c[2]["genesis"], "43202", "43112"),
                "\"Fourth\": EVM chain ID 43112 is that of chain \"C-Chain\" already",
            ),
            (
                &|c| chain_id(&mut c[2]["genesis"], "43202", "0"),
                "genesis: chainId is 0, expected 1 to 9223372036854775771",
            ),
            (&|c| c[1]["fees"] = json!({}), "esker.chains[1]: fees: for chains of the asset VM"),
            (
                &|c| c[1]["evm"] = json!({"gasLimit": 5}),
                "esker.chains[1]: evm.gasLimit: expected 21000",
            ),
        ];
        for (change, text) in cases {
            let error = with(change).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn p_exports_to_a_chain_of_the_native_asset_that_declares_it() {
        let parse = |to: &str, peers: Value| {
            let mut json: Value = serde_json::from_str(FILE).unwrap();
            json["esker"]["chains"][4]["peers"] = peers;
            let addresses = json!(["local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"]);
            let export = json!({"to": to, "amount": 5, "addresses": addresses});
            json["esker"]["exportedFromP"] = json!([export]);
            file::parse(json.to_string().as_bytes()).map_err(|error| error.to_string())
        };
        assert_eq!(names(&parse("N", json!(["P", "X"])).unwrap(), "N"), "P X");
        for (to, peers) in [("N", json!(["X"])), ("E", json!(["P"])), ("G", json!(["P"]))] {
            let error = parse(to, peers).unwrap_err();
            assert!(error.ends_with("can't import the asset from P"), "{error}");
        }
    }
}
