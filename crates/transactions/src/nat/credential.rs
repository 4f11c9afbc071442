//! The content of an atomic transaction's credential slots.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_utxo::{Credential, CredentialSlot, OutputOwners};

use super::type_id;

/// The content of a credential slot.
///
/// As on the asset chains, anything decodes that the reference's codec knows a `Verify` method of; another
/// kind than a credential is refused only when the transaction is verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AtomicCredential {
    /// A type that both codecs have: a credential, or a value in its place.
    Shared(CredentialSlot),
    /// Signature indices, a type that the asset chains' codec lacks.
    Input(Vec<u32>),
    /// Owners, a type that the asset chains' codec lacks.
    Owners(OutputOwners),
}

impl AtomicCredential {
    /// The slot, if it is of a type that the asset chains know too.
    pub const fn shared(&self) -> Option<&CredentialSlot> {
        match self {
            Self::Shared(slot) => Some(slot),
            Self::Input(_) | Self::Owners(_) => None,
        }
    }

    /// The credential, if it is one.
    pub fn credential(&self) -> Option<&Credential> {
        self.shared().and_then(CredentialSlot::credential)
    }
}

impl From<CredentialSlot> for AtomicCredential {
    fn from(slot: CredentialSlot) -> Self {
        Self::Shared(slot)
    }
}

/// Type ID, then what the slot holds.
impl Encode for AtomicCredential {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Shared(slot) => slot.encode(w),
            Self::Input(indices) => {
                w.type_id(type_id::SECP_INPUT);
                w.values(indices);
            }
            Self::Owners(owners) => {
                w.type_id(type_id::OUTPUT_OWNERS);
                owners.encode(w);
            }
        }
    }
}

impl Decode for AtomicCredential {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        use esker_utxo::type_id::{SECP_CREDENTIAL, SECP_TRANSFER_INPUT, interface::VERIFIABLE};
        let start = r.clone();
        match r.type_id()? {
            type_id::SECP_INPUT => Ok(Self::Input(r.values()?)),
            type_id::OUTPUT_OWNERS => Ok(Self::Owners(OutputOwners::decode(r)?)),
            SECP_TRANSFER_INPUT..=SECP_CREDENTIAL => {
                *r = start;
                CredentialSlot::decode(r).map(Self::Shared).map_err(type_id::translated)
            }
            other => Err(type_id::wrong_type_id(other, VERIFIABLE)),
        }
    }
}
