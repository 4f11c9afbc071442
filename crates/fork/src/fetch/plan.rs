//! Groups wanted parts, so that each group takes about one request.

use alloy_primitives::Address;

use crate::misses::Want;

/// Most parts of a group.
const MAX_PARTS: usize = 256;

/// Groups of parts, each with at most `max_accounts` accounts. Parts of an account are together.
pub(super) fn groups(mut wants: Vec<Want>, max_accounts: usize) -> Vec<Vec<Want>> {
    wants.sort_by(|a, b| owner(a).cmp(&owner(b)).then_with(|| a.cmp(b)));
    let mut groups: Vec<Vec<Want>> = Vec::new();
    let mut accounts = 0;
    for want in wants {
        let last = groups.last_mut();
        let is_same = last
            .as_ref()
            .and_then(|group| group.last())
            .is_some_and(|previous| owner(previous).is_some() && owner(previous) == owner(&want));
        match last {
            Some(group) if group.len() < MAX_PARTS && (is_same || accounts < max_accounts) => {
                accounts += usize::from(!is_same);
                group.push(want);
            }
            _ => {
                accounts = 1;
                groups.push(vec![want]);
            }
        }
    }
    groups
}

/// The account whose proof has the part.
fn owner(want: &Want) -> Option<Address> {
    match want {
        Want::Account(address) | Want::Slot(address, _) | Want::StorageNode(address, _) => {
            Some(*address)
        }
        Want::Code(_) | Want::AccountNode(_) | Want::BlockHash(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    #[test]
    fn parts_of_an_account_stay_together() {
        let address = Address::with_last_byte;
        let mut wants: Vec<_> = (0..10).map(|n| Want::Account(address(n))).collect();
        wants.extend((0..10).map(|n| Want::Slot(address(n), U256::from(n))));
        let grouped = groups(wants.clone(), 4);
        assert_eq!(grouped.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8, 4]);
        let mut all = grouped.concat();
        all.sort();
        wants.sort();
        assert_eq!(all, wants);
        let slots: Vec<_> = (0..600).map(|n| Want::Slot(address(1), U256::from(n))).collect();
        assert_eq!(groups(slots, 4).iter().map(Vec::len).collect::<Vec<_>>(), [256, 256, 88]);
        assert!(groups(Vec::new(), 4).is_empty());
    }
}
