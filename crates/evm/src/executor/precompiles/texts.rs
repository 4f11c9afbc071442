//! What the reference says where a precompiled contract of Ethereum fails.

use revm::precompile::PrecompileHalt;

use crate::executor::VmError;

pub(super) fn of(halt: &PrecompileHalt) -> VmError {
    let text = match halt {
        PrecompileHalt::OutOfGas => return VmError::OutOfGas,
        PrecompileHalt::Blake2WrongLength | PrecompileHalt::BlobInvalidInputLength => {
            "invalid input length"
        }
        PrecompileHalt::Blake2WrongFinalIndicatorFlag => "invalid final flag",
        PrecompileHalt::Bn254FieldPointNotAMember => "bn256: coordinate exceeds modulus",
        PrecompileHalt::Bn254AffineGFailedToCreate => "bn256: malformed point",
        PrecompileHalt::Bn254PairLength => "bad elliptic curve pairing size",
        PrecompileHalt::BlobMismatchedVersion => "mismatched versioned hash",
        PrecompileHalt::BlobVerifyKzgProofFailed => {
            "error verifying kzg proof: can't verify opening proof"
        }
        other => return VmError::Precompile(other.to_string()),
    };
    VmError::Precompile(text.into())
}
