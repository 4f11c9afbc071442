//! What transactions offer, and an order by it that follows the base fee.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::PooledTx;

/// What a transaction offers, wei a gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    /// Most in all.
    cap: u128,
    /// Most above the base fee; no more than `cap`.
    tip: u128,
}

/// What a price is worth at a base fee. Those that a block can take are worth more than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EffectivePrice {
    /// Below the base fee; the fee cap.
    Unpayable(u128),
    /// What is paid above the base fee.
    Payable(u128),
}

/// Place among payable prices: the tip that is paid, then the earlier arrival.
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

    /// Whether it is the tip, not the cap, that limits what is paid above the base fee. Without slack both are
    /// the same, whatever the base fee.
    fn is_limited_by_tip(self, base_fee: u128) -> bool {
        self.slack() > 0 && self.slack() >= base_fee
    }
}

/// Values in the order of their prices at a base fee, of equal ones the earlier arrival above the later.
///
/// Another base fee costs as much as there are prices that it limits in another way than before.
#[derive(Debug)]
pub(super) struct PriceIndex<V> {
    base_fee: u128,
    /// By tip, where that is the limit.
    by_tip: BTreeMap<Rank, (Price, V)>,
    /// By cap, where that is the limit.
    by_cap: BTreeMap<Rank, (Price, V)>,
    /// All that may move from one to the other.
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
    /// Adds a value. `arrival` is its own.
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

    /// Orders by what is paid at this base fee, wei a gas.
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

    /// The value that is worth least, of equal ones the one that came last.
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

    /// The payable values with their ranks, the best first, from below `bound` on.
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

    /// A base fee that one of the values pays: the highest such, unless it is above the present base fee.
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
        /// Whatever is added, removed and paid, the order is that of a sort.
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
