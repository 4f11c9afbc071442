//! The base fee of Apricot 5 to Etna, which follows the gas of the last ten seconds
//! (docs/protocol/c-chain-fees.md, "Fee window").

use alloy_primitives::U256;

use super::phase::PhaseRules;

/// Seconds of the window.
pub const WINDOW_SECONDS: usize = 10;

/// Bytes of a window in a header.
pub const WINDOW_BYTES: usize = WINDOW_SECONDS * 8;

/// Base fee of the first block after genesis, wei.
pub const INITIAL_BASE_FEE: u64 = 225_000_000_000;

/// Gas used in each of the last ten seconds, the newest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window(pub [u64; WINDOW_SECONDS]);

/// The values of the parent that a child's fee depends on.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    /// The parent's window.
    pub window: Window,
    /// The parent's base fee, wei.
    pub base_fee: U256,
    /// Gas of the parent, atomic gas included.
    pub gas_used: u64,
}

impl Window {
    /// Reads the window at the beginning of a header's extra data.
    pub fn parse(extra: &[u8]) -> Option<Self> {
        let (bytes, _) = extra.split_first_chunk::<WINDOW_BYTES>()?;
        let mut slots = [0; WINDOW_SECONDS];
        for (slot, bytes) in slots.iter_mut().zip(bytes.chunks_exact(8)) {
            *slot = u64::from_be_bytes(bytes.try_into().expect("chunks of eight bytes"));
        }
        Some(Self(slots))
    }

    /// The encoding of the window in a header.
    pub fn to_bytes(self) -> [u8; WINDOW_BYTES] {
        let mut bytes = [0; WINDOW_BYTES];
        for (chunk, slot) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&slot.to_be_bytes());
        }
        bytes
    }

    /// The window `seconds` later.
    pub fn rolled(self, seconds: u64) -> Self {
        let mut slots = [0; WINDOW_SECONDS];
        if let Ok(seconds) = usize::try_from(seconds)
            && seconds < WINDOW_SECONDS
        {
            slots[..WINDOW_SECONDS - seconds].copy_from_slice(&self.0[seconds..]);
        }
        Self(slots)
    }

    /// Sum of the gas in the window.
    pub fn sum(self) -> u64 {
        self.0.into_iter().fold(0, u64::saturating_add)
    }
}

/// Window and base fee (wei) of a child made `seconds` after its parent. `rules` are those of the
/// **parent's** time: the first block of a phase still follows the phase before.
pub fn child_fee(rules: &PhaseRules, parent: &Parent, seconds: u64) -> (Window, U256) {
    let mut window = parent.window.rolled(seconds);
    if let Ok(seconds) = usize::try_from(seconds)
        && seconds < WINDOW_SECONDS
    {
        let slot = &mut window.0[WINDOW_SECONDS - 1 - seconds];
        *slot = slot.saturating_add(parent.gas_used);
    }
    let (total, target) = (window.sum(), rules.target_gas);
    if total == target {
        return (window, parent.base_fee);
    }
    // Two floor divisions, in this order.
    let change = |gas: u64| {
        let part = U256::from(gas) * parent.base_fee / U256::from(target);
        (part / U256::from(rules.base_fee_denominator)).max(U256::from(1))
    };
    let fee = if total > target {
        parent.base_fee.saturating_add(change(total - target))
    } else {
        let mut down = change(target - total);
        if seconds > WINDOW_SECONDS as u64 {
            down = down.saturating_mul(U256::from(seconds / WINDOW_SECONDS as u64));
        }
        parent.base_fee.saturating_sub(down)
    };
    (window, fee.max(rules.min_base_fee_wei()))
}
