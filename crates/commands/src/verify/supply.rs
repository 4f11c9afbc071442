//! The supply of an asset: amounts of the genesis and of later minting are held on a chain, are in shared memory, or
//! were burnt.

use std::collections::BTreeMap;
use std::fmt;

use esker_chain::audit::Ledger;
use esker_storage::audit::Finding;

/// The supply of the native asset, or of the coin of a further EVM chain. Amounts are in units of [`Ledger`].
#[derive(Clone, Debug, Default)]
pub(super) struct Supply {
    /// The name of an asset that is not the native one.
    pub(super) asset: Option<String>,
    /// Each chain, by its name.
    pub(super) chains: BTreeMap<String, Ledger>,
    /// The P-Chain's exports, from the network's definition.
    pub(super) exported_by_p: u128,
    /// The amount in shared memory.
    pub(super) in_memory: u128,
}

impl Supply {
    fn sum(&self, part: impl Fn(&Ledger) -> u128) -> u128 {
        self.chains.values().map(part).fold(0, u128::saturating_add)
    }

    fn minted(&self) -> u128 {
        self.sum(|ledger| ledger.minted)
    }

    fn genesis_total(&self) -> u128 {
        self.sum(|ledger| ledger.genesis).saturating_add(self.exported_by_p)
    }

    fn current_total(&self) -> u128 {
        self.sum(|ledger| ledger.held.saturating_add(ledger.burnt)).saturating_add(self.in_memory)
    }

    fn name(&self) -> String {
        match &self.asset {
            None => "native supply".to_owned(),
            Some(asset) => format!("supply of {asset}"),
        }
    }

    /// Amounts that do not add up: on a chain, between chains, in total.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut check = |place: String, expected: u128, found: u128| {
            if expected != found {
                findings.push(Finding::new(place, Coins(expected), Coins(found)));
            }
        };
        let (of_asset, asset) = match &self.asset {
            None => (String::new(), "native asset"),
            Some(asset) => (format!(" of {asset}"), asset.as_str()),
        };
        for (name, ledger) in &self.chains {
            let Ledger { genesis, minted, imported, exported, burnt, held } = *ledger;
            let came = genesis.saturating_add(minted).saturating_add(imported);
            let went = exported.saturating_add(burnt);
            let place = format!("{name}: coins{of_asset} held");
            // If more left than arrived, the expected amount is zero.
            check(place, came.saturating_sub(went), held);
        }
        let left = self.sum(|ledger| ledger.exported).saturating_add(self.exported_by_p);
        let taken = self.sum(|ledger| ledger.imported);
        check(format!("shared memory: {asset}"), left.saturating_sub(taken), self.in_memory);
        let created = self.genesis_total().saturating_add(self.minted());
        check(self.name(), created, self.current_total());
        findings
    }
}

impl fmt::Display for Supply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} in genesis", self.name(), Coins(self.genesis_total()))?;
        if self.minted() > 0 {
            write!(f, "; {} minted", Coins(self.minted()))?;
        }
        for (name, ledger) in &self.chains {
            write!(f, "; {} on {name}", Coins(ledger.held))?;
        }
        let burnt = self.sum(|ledger| ledger.burnt);
        write!(f, "; {} in shared memory; {} burnt", Coins(self.in_memory), Coins(burnt))
    }
}

/// An amount in whole coins with its decimals.
struct Coins(u128);

impl fmt::Display for Coins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const COIN: u128 = 1_000_000_000_000_000_000;
        write!(f, "{}", self.0 / COIN)?;
        let decimals = format!("{:018}", self.0 % COIN);
        match decimals.trim_end_matches('0') {
            "" => Ok(()),
            some => write!(f, ".{some}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COIN: u128 = 1_000_000_000_000_000_000;

    fn supply() -> Supply {
        let x = Ledger { genesis: 100, imported: 5, exported: 30, burnt: 3, held: 72, minted: 0 };
        let c = Ledger { genesis: 50, imported: 20, exported: 6, burnt: 1, held: 63, minted: 0 };
        let chains = BTreeMap::from([("X".to_owned(), x), ("C".to_owned(), c)]);
        Supply { asset: None, chains, exported_by_p: 4, in_memory: 15 }
    }

    fn changed(change: impl FnOnce(&mut Supply)) -> Vec<String> {
        let mut supply = supply();
        change(&mut supply);
        supply.findings().iter().map(|finding| finding.place.clone()).collect()
    }

    #[test]
    fn imbalances_are_found_where_they_are() {
        assert_eq!(changed(|_| {}), [] as [&str; 0]);
        let ledger = |supply: &mut Supply, name: &str, change: fn(&mut Ledger)| {
            change(supply.chains.get_mut(name).unwrap());
        };
        let held = ["X: coins held", "native supply"];
        assert_eq!(changed(|supply| ledger(supply, "X", |x| x.held += 1)), held);
        assert_eq!(changed(|supply| ledger(supply, "X", |x| x.held -= 1)), held);
        assert_eq!(
            changed(|supply| supply.in_memory -= 1),
            ["shared memory: native asset", "native supply"]
        );
        assert_eq!(
            changed(|supply| ledger(supply, "C", |c| c.imported += 1)),
            ["C: coins held", "shared memory: native asset"]
        );
        assert_eq!(
            changed(|supply| ledger(supply, "C", |c| c.burnt = u128::MAX)),
            ["C: coins held", "native supply"]
        );
        let minted = |supply: &mut Supply| supply.chains.get_mut("X").unwrap().minted = 8;
        assert_eq!(changed(minted), ["X: coins held", "native supply"]);
        let named = changed(|supply| {
            supply.asset = Some("coin".to_owned());
            supply.chains.get_mut("X").unwrap().minted = 1;
            supply.in_memory += 1;
        });
        assert_eq!(named, ["X: coins of coin held", "shared memory: coin"]);
    }

    #[test]
    fn amounts_are_shown_in_coins() {
        for (amount, text) in [
            (0, "0"),
            (1, "0.000000000000000001"),
            (COIN, "1"),
            (720_000_000 * COIN + COIN / 10, "720000000.1"),
        ] {
            assert_eq!(Coins(amount).to_string(), text);
        }
        assert_eq!(
            Supply { in_memory: COIN, ..Supply::default() }.to_string(),
            "native supply: 0 in genesis; 1 in shared memory; 0 burnt"
        );
    }
}
