//! Slots that the next blocks will need: each block writes the next ones of two contracts.

use std::collections::BTreeSet;

use alloy_primitives::{Address, U256, address};

use crate::misses::Want;

/// Has the hashes of the last blocks, by their heights (EIP-2935).
const BLOCK_HASHES: Address = address!("0x0000F90827F1C53a10cb7A02335B175320002935");
/// Has the beacon roots of the last blocks, by their times (EIP-4788), after the times themselves.
const BEACON_ROOTS: Address = address!("0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
/// Slots of a ring.
const RING: u64 = 8191;
/// Slots that are read ahead.
const AHEAD: u64 = 32;

/// Adds the slots of the next blocks to those of one block.
pub(super) fn add_next_slots(wants: &mut BTreeSet<Want>) {
    let more: Vec<Want> = wants.iter().flat_map(next_slots).collect();
    wants.extend(more);
}

fn next_slots(want: &Want) -> Vec<Want> {
    let Want::Slot(address, slot) = want else { return Vec::new() };
    let rings = match *address {
        BLOCK_HASHES => 1,
        BEACON_ROOTS => 2,
        _ => return Vec::new(),
    };
    let Some(slot) = u64::try_from(*slot).ok().filter(|slot| *slot < rings * RING) else {
        return Vec::new();
    };
    let next = (0..AHEAD).map(|ahead| (slot + ahead) % RING);
    let slots = next.flat_map(|slot| (0..rings).map(move |ring| slot + ring * RING));
    slots.map(|slot| Want::Slot(*address, U256::from(slot))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead_of(address: Address, slot: u64) -> Vec<u64> {
        let mut wants = BTreeSet::from([Want::Slot(address, U256::from(slot))]);
        add_next_slots(&mut wants);
        let slot = |want| match want {
            Want::Slot(of, slot) if of == address => slot.to(),
            other => panic!("{other}"),
        };
        wants.into_iter().map(slot).collect()
    }

    #[test]
    fn rings_go_on_at_their_begin() {
        assert_eq!(ahead_of(BLOCK_HASHES, 5), (5..37).collect::<Vec<_>>());
        let mut around: Vec<u64> = (0..31).collect();
        around.push(8190);
        assert_eq!(ahead_of(BLOCK_HASHES, 8190), around);
        let both: Vec<u64> = (5..37).chain(8196..8228).collect();
        assert_eq!(ahead_of(BEACON_ROOTS, 5), both);
        assert_eq!(ahead_of(BEACON_ROOTS, 8196), both);
        for (address, slot) in [(BLOCK_HASHES, 8191), (BEACON_ROOTS, 16_382), (Address::ZERO, 5)] {
            assert_eq!(ahead_of(address, slot), [slot]);
        }
    }
}
