//! Prices of transactions, and an index that orders them at any base fee.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::PooledTx;

/// The price of a transaction, wei a gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    /// Highest total price.
    cap: u128,
    /// Highest tip above the base fee; at most `cap`.
    tip: u128,
}

/// The value of a price at a base fee. Payable prices are above unpayable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EffectivePrice {
    /// The price is below the base fee. The value is the fee cap.
    Unpayable(u128),
    /// The tip that is paid above the base fee.
    Payable(u128),
}

/// Order of payable prices: by the paid tip, then the earlier arrival.
pub(super) type Rank = (u128, Reverse<u64>);

impl Price {
    pub(super) fn from_tx(tx: &PooledTx) -> Self {
        Self { cap: tx.fee_cap(), tip: tx.tip_cap().min(tx.fee_cap()) }
    }

    pub(super) fn effective_price(self, base_fee: u128) -> EffectivePrice {
        match self.cap.checked_sub(base_fee) {
            Some(above) => EffectivePrice::Payable(above.min(self.tip)),
            None => EffectivePrice::Unpayable(self.cap),
        }
    }

    /// The highest base fee at which the whole tip is paid.
    fn slack(self) -> u128 {
        self.cap - self.tip
    }

    /// Whether the tip, not the cap, limits the paid tip. Without slack the two limits are the same at any base fee.
    fn is_limited_by_tip(self, base_fee: u128) -> bool {
        self.slack() > 0 && self.slack() >= base_fee
    }
}

/// Values in the order of their prices at a base fee. Of equal prices, the earlier arrival is above the later one.
///
/// The cost of another base fee depends on the number of prices whose limit changes between tip and cap.
#[derive(Debug)]
pub(super) struct PriceIndex<V> {
    base_fee: u128,
    /// Prices limited by their tip.
    by_tip: BTreeMap<Rank, (Price, V)>,
    /// Prices limited by their cap.
    by_cap: BTreeMap<Rank, (Price, V)>,
    /// Prices that can move between the two.
    by_slack: BTreeMap<(u128, u64), Price>,
}

impl<V> Default for PriceIndex<V> {
    fn default() -> Self {
        Self {
            base_fee: 0,
            by_tip: BTreeMap::new(),
            by_cap: BTreeMap::new(),
            by_slack: BTreeMap::new(),
        }
    }
}

impl<V: Copy> PriceIndex<V> {
    /// Adds a value. `arrival` must be unique.
    pub(super) fn insert(&mut self, price: Price, arrival: u64, value: V) {
        if price.slack() > 0 {
            self.by_slack.insert((price.slack(), arrival), price);
        }
        let entry = (price, value);
        match price.is_limited_by_tip(self.base_fee) {
            true => self.by_tip.insert((price.tip, Reverse(arrival)), entry),
            false => self.by_cap.insert((price.cap, Reverse(arrival)), entry),
        };
    }

    /// Removes a value.
    pub(super) fn remove(&mut self, price: Price, arrival: u64) {
        if price.slack() > 0 {
            self.by_slack.remove(&(price.slack(), arrival));
        }
        match price.is_limited_by_tip(self.base_fee) {
            true => self.by_tip.remove(&(price.tip, Reverse(arrival))),
            false => self.by_cap.remove(&(price.cap, Reverse(arrival))),
        };
    }

    /// Orders the prices at this base fee, wei a gas.
    pub(super) fn set_base_fee(&mut self, base_fee: u128) {
        let before = std::mem::replace(&mut self.base_fee, base_fee);
        let (low, high) = (before.min(base_fee), before.max(base_fee));
        for (&(_, arrival), price) in self.by_slack.range((low, 0)..(high, 0)) {
            let (tip, cap) = ((price.tip, Reverse(arrival)), (price.cap, Reverse(arrival)));
            let (from, old, to, new) = match base_fee > before {
                true => (&mut self.by_tip, tip, &mut self.by_cap, cap),
                false => (&mut self.by_cap, cap, &mut self.by_tip, tip),
            };
            if let Some(entry) = from.remove(&old) {
                to.insert(new, entry);
            }
        }
    }

    /// The value with the lowest price. Of equal prices, the latest arrival.
    pub(super) fn cheapest(&self) -> Option<(EffectivePrice, V)> {
        let worth = |entry: (&Rank, &(Price, V))| {
            let ((_, arrival), (price, value)) = entry;
            ((price.effective_price(self.base_fee), *arrival), *value)
        };
        let by_tip = self.by_tip.first_key_value().map(worth);
        let by_cap = self.by_cap.first_key_value().map(worth);
        let least = by_tip.into_iter().chain(by_cap).min_by_key(|(key, _)| *key);
        least.map(|((worth, _), value)| (worth, value))
    }

    /// The payable values with ranks below `bound`, the best first.
    pub(super) fn best_below(&self, bound: Option<Rank>) -> impl Iterator<Item = (Rank, V)> {
        let by_tip = match bound {
            Some(bound) => self.by_tip.range(..bound),
            None => self.by_tip.range(..),
        };
        let by_cap = match bound {
            Some((tip, arrival)) => {
                self.by_cap.range(..(tip.saturating_add(self.base_fee), arrival))
            }
            None => self.by_cap.range(..),
        };
        let by_cap = by_cap.rev().map_while(|((cap, arrival), (_, value))| {
            Some(((cap.checked_sub(self.base_fee)?, *arrival), *value))
        });
        let by_tip = by_tip.rev().map(|(rank, (_, value))| (*rank, *value));
        let (mut by_tip, mut by_cap) = (by_tip.peekable(), by_cap.peekable());
        std::iter::from_fn(move || match (by_tip.peek(), by_cap.peek()) {
            (Some((tip, _)), Some((cap, _))) if tip > cap => by_tip.next(),
            (_, Some(_)) => by_cap.next(),
            (_, None) => by_tip.next(),
        })
    }

    /// The highest base fee that one of the values pays. The result may be lower if it is above the present base fee.
    pub(super) fn payable_base_fee(&self) -> Option<u128> {
        let by_cap = self.by_cap.last_key_value().map(|((cap, _), _)| *cap);
        let by_tip = self.by_tip.last_key_value().map(|(_, (price, _))| price.cap);
        by_cap.max(by_tip)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.by_tip.len() + self.by_cap.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The order is that of a sort, after any sequence of insertions, removals and base fees.
        #[test]
        fn the_order_is_that_of_a_sort(
            ops in proptest::collection::vec((0u128..12, 0u128..12, 0u128..14, 0u8..4), 1..80)
        ) {
            let mut index = PriceIndex::default();
            let mut model: Vec<(Price, u64)> = Vec::new();
            for (arrival, (cap, tip, base_fee, op)) in (0u64..).zip(ops) {
                match op {
                    0 if !model.is_empty() => {
                        let at = usize::try_from(cap).unwrap() % model.len();
                        let (price, arrival) = model.swap_remove(at);
                        index.remove(price, arrival);
                    }
                    1 => index.set_base_fee(base_fee),
                    _ => {
                        let price = Price { cap, tip: tip.min(cap) };
                        index.insert(price, arrival, arrival);
                        model.push((price, arrival));
                    }
                }
                let base_fee = index.base_fee;
                model.sort_by_key(|(price, arrival)| (price.effective_price(base_fee), Reverse(*arrival)));
                prop_assert_eq!(index.len(), model.len());
                let least = model.first().map(|(price, arrival)| (price.effective_price(base_fee), *arrival));
                prop_assert_eq!(index.cheapest(), least);
                let best = model.iter().rev().filter_map(|(price, arrival)| {
                    match price.effective_price(base_fee) {
                        EffectivePrice::Payable(tip) => Some(((tip, Reverse(*arrival)), *arrival)),
                        EffectivePrice::Unpayable(_) => None,
                    }
                });
                let best: Vec<_> = best.collect();
                prop_assert_eq!(&index.best_below(None).collect::<Vec<_>>(), &best);
                if let Some((rank, _)) = best.get(best.len() / 2) {
                    let rest: Vec<_> = index.best_below(Some(*rank)).collect();
                    prop_assert_eq!(&rest[..], &best[best.len() / 2 + 1..]);
                }
                let highest = model.iter().map(|(price, _)| price.cap).max();
                prop_assert_eq!(
                    index.payable_base_fee().map(|fee| fee.min(base_fee)),
                    highest.map(|cap| cap.min(base_fee))
                );
            }
        }
    }
}
