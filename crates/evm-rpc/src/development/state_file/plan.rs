//! Which states of a file a load makes at which heights, and what each changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm::control::MAX_CODE;

use super::accounts::ReadAccount;
use super::states::{Accounts, States};

/// Bytes of the changes of one block, about: less than a control record may have.
pub(super) const BLOCK_BYTES: usize = 900_000;

/// Bytes of a change besides its values.
pub(super) const CHANGE_BYTES: usize = 100;

/// What an account is to have.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: Address,
    pub(super) account: Arc<ReadAccount>,
    /// What it has in the state that is made before this one, if the file has that.
    pub(super) before: Option<Arc<ReadAccount>>,
    /// Whether all slots may have changed, and not only those that had another value before.
    is_whole: bool,
}

/// A state that is made.
#[derive(Debug)]
pub(super) struct Step {
    /// The height that the chain has then, if there is room for the changes below it.
    pub(super) height: u64,
    /// Those accounts that differ from the state before. In the last step all accounts.
    pub(super) targets: Vec<Target>,
}

/// The states from the block after `heights.start` on to that of `heights.end`, which is the last one and has these accounts.
/// States whose changes don't fit into the blocks between them are left out: the next one makes their changes.
pub(super) fn steps(states: States, last: &Accounts, heights: Range<u64>) -> Vec<Step> {
    let kept = kept_states(states, last, &heights);
    let none = Accounts::new();
    let mut before = &none;
    let mut steps = Vec::with_capacity(kept.len() + 1);
    for (height, accounts) in &kept {
        steps.push(Step { height: *height, targets: changed(before, accounts).collect() });
        before = accounts;
    }
    let gone = gone(before, last);
    // The made blocks have written some slots themselves.
    let whole = all(before, last).map(|target| Target { is_whole: true, ..target });
    steps.push(Step { height: heights.end, targets: whole.chain(gone).collect() });
    steps
}

/// The last states whose changes fit between each other.
fn kept_states(mut states: States, last: &Accounts, heights: &Range<u64>) -> States {
    states.retain(|height, _| heights.start < *height && *height < heights.end);
    let mut kept = BTreeMap::new();
    let (mut next_height, mut next) = (heights.end, last.clone());
    while let Some((height, accounts)) = states.pop_last() {
        if height + most_blocks(changed(&accounts, &next)) <= next_height {
            kept.insert(next_height, std::mem::replace(&mut next, accounts));
            next_height = height;
        }
    }
    kept.insert(next_height, next);
    // The first one comes after the chain's own state, of which nothing is assumed.
    let none = Accounts::new();
    while let Some((height, first)) = kept.pop_first() {
        let is_last = kept.is_empty();
        if is_last || heights.start + most_blocks(changed(&none, &first)) <= height {
            kept.insert(height, first);
            break;
        }
    }
    kept.remove(&heights.end);
    kept
}

fn all<'a>(before: &'a Accounts, accounts: &'a Accounts) -> impl Iterator<Item = Target> + 'a {
    accounts.iter().map(|(address, account)| Target {
        address: *address,
        account: Arc::clone(account),
        before: before.get(address).cloned(),
        is_whole: false,
    })
}

/// The accounts that a state does not have any more.
fn gone<'a>(before: &'a Accounts, accounts: &'a Accounts) -> impl Iterator<Item = Target> + 'a {
    let gone = before.iter().filter(|(address, _)| !accounts.contains_key(*address));
    gone.map(|(address, before)| Target {
        address: *address,
        account: Arc::default(),
        before: Some(Arc::clone(before)),
        is_whole: false,
    })
}

fn changed<'a>(before: &'a Accounts, accounts: &'a Accounts) -> impl Iterator<Item = Target> + 'a {
    all(before, accounts).filter(Target::differs).chain(gone(before, accounts))
}

impl Target {
    /// Whether the account is not the one of the state before.
    fn differs(&self) -> bool {
        let is_same = |before: &Arc<ReadAccount>| {
            Arc::ptr_eq(before, &self.account) || *before == self.account
        };
        !self.before.as_ref().is_some_and(is_same)
    }

    /// The slots that are to have these values: those of the account, and 0 for those that it had.
    pub(super) fn slots(&self) -> impl Iterator<Item = (U256, U256)> {
        let had = self.before.iter().flat_map(|before| &before.storage);
        let gone = had.filter(|(slot, _)| self.account.value(slot).is_none());
        let now = self.account.storage.iter().copied();
        now.filter(|now| self.is_whole || !self.had(now))
            .chain(gone.map(|(slot, _)| (*slot, U256::ZERO)))
    }

    /// Whether a slot had this value before.
    fn had(&self, (slot, value): &(U256, U256)) -> bool {
        self.before.as_ref().is_some_and(|before| before.value(slot).unwrap_or_default() == *value)
    }

    /// Bytes that the changes take at most, if the state before is there.
    fn most_bytes(&self) -> usize {
        let Self { account, before, .. } = self;
        let is_new_code = before.as_ref().is_none_or(|before| before.code != account.code);
        let code = if is_new_code { account.code.len() } else { 0 };
        code + CHANGE_BYTES * (3 + self.slots().count())
    }
}

impl ReadAccount {
    /// The value of a slot, if it has one.
    fn value(&self, slot: &U256) -> Option<U256> {
        let at = self.storage.binary_search_by_key(slot, |(slot, _)| *slot).ok()?;
        self.storage.get(at).map(|(_, value)| *value)
    }
}

/// Blocks that these changes take at most.
fn most_blocks(targets: impl Iterator<Item = Target>) -> u64 {
    let bytes: usize = targets.map(|target| target.most_bytes()).sum();
    let blocks = match bytes {
        0 => 0,
        1..=BLOCK_BYTES => 1,
        // The next change may not have fitted into a block.
        _ => bytes / (BLOCK_BYTES - MAX_CODE - CHANGE_BYTES) + 1,
    };
    u64::try_from(blocks).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state in which account `n` has these slots with the value 1.
    fn state(accounts: &[(u8, Range<u64>)]) -> Accounts {
        let account = |slots: &Range<u64>| ReadAccount {
            balance: U256::from(1),
            storage: slots.clone().map(|slot| (U256::from(slot), U256::from(1))).collect(),
            ..ReadAccount::default()
        };
        let with_account =
            |(n, slots): &(u8, Range<u64>)| (Address::with_last_byte(*n), Arc::new(account(slots)));
        accounts.iter().map(with_account).collect()
    }

    /// Heights of the steps, and the numbers of their accounts.
    fn check(
        states: &[(u64, &Accounts)],
        last: &Accounts,
        heights: Range<u64>,
    ) -> Vec<(u64, usize)> {
        let states = states.iter().map(|(height, state)| (*height, (*state).clone())).collect();
        let steps = steps(states, last, heights);
        steps.iter().map(|step| (step.height, step.targets.len())).collect()
    }

    #[test]
    fn steps_are_the_states_of_made_blocks() {
        let (one, two) = (state(&[(1, 0..1)]), state(&[(1, 0..1), (2, 0..3)]));
        assert_eq!(check(&[], &two, 0..5), [(5, 2)]);
        assert_eq!(check(&[(1, &one), (3, &two)], &two, 0..5), [(1, 1), (3, 1), (5, 2)]);
        // The chain has the first blocks itself; the file's last block has the last state.
        let all = [(0, &one), (2, &one), (3, &two), (5, &two), (6, &one)];
        assert_eq!(check(&all, &two, 2..5), [(3, 2), (5, 2)]);
        assert_eq!(check(&all, &two, 7..7), [(7, 2)]);
        // Accounts and slots that are gone.
        let steps = steps(States::from([(1, two.clone()), (2, one.clone())]), &one, 0..9);
        let [first, second, last] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((first.targets.len(), last.targets.len()), (2, 1));
        let [gone] = &second.targets[..] else { panic!("{second:?}") };
        assert_eq!(
            (gone.address, &*gone.account),
            (Address::with_last_byte(2), &ReadAccount::default())
        );
        let zeros: Vec<_> = (0..3).map(|slot| (U256::from(slot), U256::ZERO)).collect();
        assert_eq!(gone.slots().collect::<Vec<_>>(), zeros);
    }

    #[test]
    fn states_without_room_for_their_changes_are_left_out() {
        // About three blocks of changes.
        let (small, large) = (state(&[(1, 0..1)]), state(&[(1, 0..20_000)]));
        for (states, expected) in [
            // The last state needs room before it.
            (&[(9, &small)][..], &[10][..]),
            (&[(7, &small), (8, &small), (9, &small)], &[7, 10]),
            (&[(9, &large)], &[9, 10]),
            // So do the first one and those between.
            (&[(2, &large), (5, &large)], &[5, 10]),
            (&[(1, &small), (3, &large), (4, &large)], &[3, 4, 10]),
        ] {
            let heights: Vec<_> =
                check(states, &large, 0..10).into_iter().map(|step| step.0).collect();
            assert_eq!(heights, expected);
        }
        assert_eq!(check(&[(1, &large)], &large, 0..2), [(2, 1)]);
    }
}
