//! Credentials: the signatures that authorise inputs and operations.

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::keys::Signature;

use crate::fx::{FxError, FxKind};
use crate::input::TransferInput;
use crate::operation::FxOperation;
use crate::output::Output;
use crate::type_id::{self, interface};

/// Signatures, in the order of the signature indices that they answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credential {
    /// The extension that is to check it; all three have the same layout.
    pub fx: FxKind,
    /// One for each signature index of the input or operation.
    pub signatures: Vec<Signature>,
}

/// The content of a transaction's credential slot.
///
/// The reference's codec asks no more of it than a `Verify` method, so that any type of the feature
/// extensions decodes; another kind than a credential is refused only by the semantic rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CredentialSlot {
    /// A credential.
    Credential(Credential),
    /// Something else than a credential, which makes the transaction invalid.
    NonCredential(Box<NonCredential>),
}

/// A value that may be in a credential slot without being a credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NonCredential {
    /// An input.
    Input(TransferInput),
    /// An output.
    Output(Output),
    /// An operation.
    Operation(FxOperation),
}

impl CredentialSlot {
    /// A credential of the given extension.
    pub const fn new(fx: FxKind, signatures: Vec<Signature>) -> Self {
        Self::Credential(Credential { fx, signatures })
    }

    /// The extension that the slot's type belongs to.
    pub fn fx(&self) -> FxKind {
        match self {
            Self::Credential(credential) => credential.fx,
            Self::NonCredential(foreign) => match foreign.as_ref() {
                NonCredential::Input(_) => FxKind::Secp256k1,
                NonCredential::Output(output) => output.fx(),
                NonCredential::Operation(operation) => operation.fx(),
            },
        }
    }

    /// The credential, if it is one.
    pub const fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Credential(credential) => Some(credential),
            Self::NonCredential(_) => None,
        }
    }

    /// The rules that the slot's content must meet by itself; a credential has none.
    pub fn verify(&self) -> Result<(), FxError> {
        match self {
            Self::Credential(_) => Ok(()),
            Self::NonCredential(foreign) => match foreign.as_ref() {
                NonCredential::Input(input) => input.verify(),
                NonCredential::Output(output) => output.verify(),
                NonCredential::Operation(operation) => operation.verify(),
            },
        }
    }

    /// The signatures; none if the slot holds no credential.
    pub fn signatures(&self) -> &[Signature] {
        self.credential().map_or(&[], |credential| &credential.signatures)
    }
}

impl Credential {
    /// Type ID in the codec.
    pub const fn type_id(&self) -> u32 {
        match self.fx {
            FxKind::Secp256k1 => type_id::SECP_CREDENTIAL,
            FxKind::Nft => type_id::NFT_CREDENTIAL,
            FxKind::Property => type_id::PROPERTY_CREDENTIAL,
        }
    }
}

/// Type ID, then the signatures.
impl Encode for Credential {
    fn encode(&self, w: &mut Writer) {
        w.type_id(self.type_id());
        w.len(self.signatures.len());
        for signature in &self.signatures {
            w.fixed(signature.as_bytes());
        }
    }
}

/// Type ID, then the content of the slot.
impl Encode for CredentialSlot {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::Credential(credential) => credential.encode(w),
            Self::NonCredential(foreign) => match foreign.as_ref() {
                NonCredential::Input(input) => {
                    w.type_id(type_id::SECP_TRANSFER_INPUT);
                    input.encode(w);
                }
                NonCredential::Output(output) => output.encode(w),
                NonCredential::Operation(operation) => operation.encode(w),
            },
        }
    }
}

impl Decode for CredentialSlot {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let type_id = r.type_id()?;
        let fx = match type_id {
            type_id::SECP_CREDENTIAL => FxKind::Secp256k1,
            type_id::NFT_CREDENTIAL => FxKind::Nft,
            type_id::PROPERTY_CREDENTIAL => FxKind::Property,
            _ => return Ok(Self::NonCredential(Box::new(decode_non_credential(type_id, r)?))),
        };
        let signatures = r.slice(|r| Ok(Signature::new(r.fixed()?)))?;
        Ok(Self::new(fx, signatures))
    }
}

fn decode_non_credential(type_id: u32, r: &mut Reader<'_>) -> Result<NonCredential, CodecError> {
    if type_id == type_id::SECP_TRANSFER_INPUT {
        return Ok(NonCredential::Input(TransferInput::decode(r)?));
    }
    if let Some(output) = Output::decode_body(type_id, r)? {
        return Ok(NonCredential::Output(output));
    }
    match FxOperation::decode_body(type_id, r)? {
        Some(operation) => Ok(NonCredential::Operation(operation)),
        None => Err(type_id::wrong_type_id(type_id, interface::VERIFIABLE)),
    }
}
