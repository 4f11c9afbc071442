//! Who may spend an output, and from when on.

use std::cmp::Ordering;

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::ids::ShortId;

use crate::fx::FxError;

/// `threshold` of `addresses` must sign, not before `locktime`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutputOwners {
    /// Unix seconds before which the output cannot be spent; 0 = at once.
    pub locktime: u64,
    /// Signatures needed. 0 with no addresses: anyone can spend.
    pub threshold: u32,
    /// Strictly ascending in a valid output.
    pub addresses: Vec<ShortId>,
}

impl OutputOwners {
    /// One owner, no locktime.
    pub fn single(address: ShortId) -> Self {
        Self { locktime: 0, threshold: 1, addresses: vec![address] }
    }

    /// The reference's rules for owners, in its order.
    pub fn verify(&self) -> Result<(), FxError> {
        let threshold = usize::try_from(self.threshold).unwrap_or(usize::MAX);
        if threshold > self.addresses.len() {
            Err(FxError::OutputUnspendable)
        } else if threshold == 0 && !self.addresses.is_empty() {
            Err(FxError::OutputUnoptimized)
        } else if !self.addresses.is_sorted_by(|a, b| a < b) {
            Err(FxError::AddressesNotSortedUnique)
        } else {
            Ok(())
        }
    }

    /// Order of the encoded forms.
    pub fn cmp_encoded(&self, other: &Self) -> Ordering {
        self.locktime
            .cmp(&other.locktime)
            .then_with(|| self.threshold.cmp(&other.threshold))
            .then_with(|| self.addresses.len().cmp(&other.addresses.len()))
            .then_with(|| self.addresses.cmp(&other.addresses))
    }
}

impl Encode for OutputOwners {
    fn encode(&self, w: &mut Writer) {
        w.u64(self.locktime);
        w.u32(self.threshold);
        w.len(self.addresses.len());
        for address in &self.addresses {
            w.short_id(address);
        }
    }
}

impl Decode for OutputOwners {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { locktime: r.u64()?, threshold: r.u32()?, addresses: r.slice(Reader::short_id)? })
    }
}
