//! The reference's texts for failures of Ethereum's precompiled contracts.

use alloy_primitives::{U256, uint};
use revm::precompile::PrecompileHalt;

use crate::executor::VmError;
use crate::rules::Revision;

/// The prime of the field that coordinates of bn256 are in.
const BN256_MODULUS: U256 =
    uint!(0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47_U256);

/// The prime of the field that points and values of blobs' polynomials are in.
const BLS_MODULUS: U256 =
    uint!(0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001_U256);

/// The error of a precompiled contract that failed with this input.
pub(super) fn vm_error(halt: &PrecompileHalt, revision: Revision, input: &[u8]) -> VmError {
    let text = match halt {
        PrecompileHalt::ModexpEip7823LimitSize if revision >= Revision::Osaka => {
            "one or more of base/exponent/modulus length exceeded 1024 bytes"
        }
        // The gas for lengths that exceed any memory does not fit into 64 bits.
        PrecompileHalt::OutOfGas | PrecompileHalt::ModexpEip7823LimitSize => {
            return VmError::OutOfGas;
        }
        PrecompileHalt::Blake2WrongLength
        | PrecompileHalt::BlobInvalidInputLength
        | PrecompileHalt::Bls12381G1AddInputLength
        | PrecompileHalt::Bls12381G1MsmInputLength
        | PrecompileHalt::Bls12381G2AddInputLength
        | PrecompileHalt::Bls12381G2MsmInputLength
        | PrecompileHalt::Bls12381PairingInputLength
        | PrecompileHalt::Bls12381MapFpToG1InputLength
        | PrecompileHalt::Bls12381MapFp2ToG2InputLength => "invalid input length",
        PrecompileHalt::Bls12381FpPaddingInvalid => "invalid field element top bytes",
        PrecompileHalt::NonCanonicalFp => "invalid fp.Element encoding",
        PrecompileHalt::Bls12381G1NotOnCurve | PrecompileHalt::Bls12381G2NotOnCurve => {
            "invalid point: not on curve"
        }
        PrecompileHalt::Bls12381G1NotInSubgroup => "g1 point is not on correct subgroup",
        PrecompileHalt::Bls12381G2NotInSubgroup => "g2 point is not on correct subgroup",
        PrecompileHalt::Blake2WrongFinalIndicatorFlag => "invalid final flag",
        PrecompileHalt::Bn254FieldPointNotAMember => coordinate_fault(input),
        PrecompileHalt::Bn254AffineGFailedToCreate => "bn256: malformed point",
        PrecompileHalt::Bn254PairLength => "bad elliptic curve pairing size",
        PrecompileHalt::BlobMismatchedVersion => "mismatched versioned hash",
        PrecompileHalt::BlobVerifyKzgProofFailed => proof_fault(input),
        other => return VmError::Precompile(other.to_string()),
    };
    VmError::Precompile(text.into())
}

/// The words of an input. Missing bytes of the last word are zero.
fn words(input: &[u8]) -> impl Iterator<Item = U256> {
    input.chunks(32).map(|word| {
        let mut padded = [0; 32];
        padded[..word.len()].copy_from_slice(word);
        U256::from_be_bytes(padded)
    })
}

/// The error of a proof. The point and the value (the second and the third word) are checked first.
fn proof_fault(input: &[u8]) -> &'static str {
    if words(input).skip(1).take(2).any(|scalar| scalar >= BLS_MODULUS) {
        return "error verifying kzg proof: scalar is not canonical when interpreted as a big integer in big-endian";
    }
    "error verifying kzg proof: can't verify opening proof"
}

/// The error of the first invalid coordinate of bn256. Points are read one after the other.
fn coordinate_fault(input: &[u8]) -> &'static str {
    match words(input).find(|word| *word >= BN256_MODULUS) {
        Some(BN256_MODULUS) => "bn256: coordinate equals modulus",
        Some(_) | None => "bn256: coordinate exceeds modulus",
    }
}
