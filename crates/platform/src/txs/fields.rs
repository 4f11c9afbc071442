//! The fields of transactions of the P-Chain. Most of them are read and skipped.

use esker_primitives::Id;
use esker_primitives::codec::{CodecError, Decode, Reader};
use esker_utxo::{OutputOwners, TransferInput, TransferOutput, TransferableInput, UtxoId};

use super::error::{ParseError, ParseResult};

/// `secp256k1fx.TransferInput`.
const TRANSFER_INPUT: u32 = 5;
/// `secp256k1fx.TransferOutput`.
const TRANSFER_OUTPUT: u32 = 7;
/// `secp256k1fx.Credential`.
const CREDENTIAL: u32 = 9;
/// `secp256k1fx.Input`: signatures of a subnet's owners.
const SUBNET_AUTH: u32 = 10;
/// `secp256k1fx.OutputOwners`.
const OWNERS: u32 = 11;
/// `stakeable.LockIn`.
const LOCK_IN: u32 = 21;
/// `stakeable.LockOut`.
const LOCK_OUT: u32 = 22;
/// `signer.Empty`.
const NO_SIGNER: u32 = 27;
/// `signer.ProofOfPossession`.
const PROOF_OF_POSSESSION: u32 = 28;

/// Bytes of a BLS public key.
const BLS_KEY_LEN: usize = 48;
/// Bytes of a BLS signature.
pub(crate) const BLS_SIGNATURE_LEN: usize = 96;
/// Bytes of a secp256k1 signature with its recovery ID.
const SIGNATURE_LEN: usize = 65;

/// An output: the asset, and the amount with its owners. `None`: locked for staking.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) asset_id: Id,
    pub(crate) transfer: Option<TransferOutput>,
}

/// A list: the number of elements, then the elements, each of which has bytes.
pub(crate) fn list<T>(
    r: &mut Reader<'_>,
    mut element: impl FnMut(&mut Reader<'_>) -> ParseResult<T>,
) -> ParseResult<Vec<T>> {
    let len = r.slice_len()?;
    let mut elements = Vec::new();
    for _ in 0..len {
        let start = r.position();
        elements.push(element(r)?);
        // An element without bytes would let a claim of 2^31 elements grow from nothing.
        if r.position() == start {
            return Err(CodecError::ShortBytes.into());
        }
    }
    Ok(elements)
}

/// An error for a type that is not in its place.
pub(crate) const fn unknown<T>(what: &'static str, type_id: u32) -> ParseResult<T> {
    Err(ParseError::UnknownType { what, type_id })
}

pub(crate) fn outputs(r: &mut Reader<'_>) -> ParseResult<Vec<Output>> {
    list(r, |r| {
        let asset_id = r.id()?;
        let transfer = match r.type_id()? {
            TRANSFER_OUTPUT => Some(TransferOutput::decode(r)?),
            LOCK_OUT => {
                r.u64()?;
                match r.type_id()? {
                    TRANSFER_OUTPUT => TransferOutput::decode(r)?,
                    other => return unknown("locked output", other),
                };
                None
            }
            other => return unknown("output", other),
        };
        Ok(Output { asset_id, transfer })
    })
}

/// Inputs; a lock for staking is taken off.
pub(crate) fn inputs(r: &mut Reader<'_>) -> ParseResult<Vec<TransferableInput>> {
    list(r, |r| {
        let (utxo_id, asset_id) = (UtxoId::decode(r)?, r.id()?);
        let input = match r.type_id()? {
            TRANSFER_INPUT => TransferInput::decode(r)?,
            LOCK_IN => {
                r.u64()?;
                match r.type_id()? {
                    TRANSFER_INPUT => TransferInput::decode(r)?,
                    other => return unknown("locked input", other),
                }
            }
            other => return unknown("input", other),
        };
        Ok(TransferableInput { utxo_id, asset_id, input })
    })
}

/// The common part of most transactions; the number of its outputs.
pub(crate) fn base(r: &mut Reader<'_>) -> ParseResult<usize> {
    r.u32()?;
    r.id()?;
    let outputs = outputs(r)?.len();
    inputs(r)?;
    r.bytes()?;
    Ok(outputs)
}

/// Node ID, start, end and weight.
pub(crate) fn validator(r: &mut Reader<'_>) -> ParseResult<()> {
    r.short_id()?;
    u64s(r, 3)
}

pub(crate) fn u64s(r: &mut Reader<'_>, count: usize) -> ParseResult<()> {
    for _ in 0..count {
        r.u64()?;
    }
    Ok(())
}

pub(crate) fn owners(r: &mut Reader<'_>) -> ParseResult<()> {
    match r.type_id()? {
        OWNERS => OutputOwners::decode(r).map(|_| ()).map_err(Into::into),
        other => unknown("owner", other),
    }
}

pub(crate) fn subnet_auth(r: &mut Reader<'_>) -> ParseResult<()> {
    match r.type_id()? {
        SUBNET_AUTH => list(r, |r| Ok(r.u32()?)).map(|_| ()),
        other => unknown("authorization", other),
    }
}

pub(crate) fn signer(r: &mut Reader<'_>) -> ParseResult<()> {
    match r.type_id()? {
        NO_SIGNER => Ok(()),
        PROOF_OF_POSSESSION => proof_of_possession(r),
        other => unknown("signer", other),
    }
}

fn proof_of_possession(r: &mut Reader<'_>) -> ParseResult<()> {
    r.fixed::<BLS_KEY_LEN>()?;
    r.fixed::<BLS_SIGNATURE_LEN>()?;
    Ok(())
}

/// A first validator of an L1.
pub(crate) fn l1_validator(r: &mut Reader<'_>) -> ParseResult<()> {
    r.bytes()?;
    u64s(r, 2)?;
    proof_of_possession(r)?;
    for _owner in ["of the remaining balance", "of the deactivation"] {
        r.u32()?;
        list(r, |r| Ok(r.short_id()?))?;
    }
    Ok(())
}

pub(crate) fn credentials(r: &mut Reader<'_>) -> ParseResult<()> {
    list(r, |r| match r.type_id()? {
        CREDENTIAL => list(r, |r| Ok(r.fixed::<SIGNATURE_LEN>()?)).map(|_| ()),
        other => unknown("credential", other),
    })
    .map(|_| ())
}
