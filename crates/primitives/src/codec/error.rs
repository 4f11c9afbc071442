//! Decoding errors with the reference's texts.

use super::MAX_SLICE_LEN;

/// The reason why bytes are not a value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There are more bytes than allowed.
    #[error("byte array exceeds maximum length: {len} > {max}")]
    TooLarge {
        /// Given bytes.
        len: usize,
        /// Most bytes.
        max: usize,
    },
    /// There are fewer bytes than the two of a version.
    #[error("couldn't unpack codec version")]
    CantUnpackVersion,
    /// The version is not 0.
    #[error("unknown codec version")]
    UnknownVersion,
    /// The input ends within a value of the named kind (`uint32`, `slice`, `string`, `interface`, ..).
    #[error("couldn't unmarshal {0}: packer has insufficient length for input")]
    ShortInput(&'static str),
    /// The input ends within bytes.
    #[error("packer has insufficient length for input")]
    ShortBytes,
    /// A boolean is neither 0 nor 1.
    #[error("couldn't unmarshal bool: unexpected value when unpacking bool")]
    BadBool,
    /// The number of elements is above 2^31-1.
    #[error(
        "max slice length exceeded; array length, {0}, exceeds maximum length, {MAX_SLICE_LEN}"
    )]
    SliceTooLong(u32),
    /// No type is registered under the type id.
    #[error("couldn't unmarshal interface: unknown type ID {0}")]
    UnknownTypeId(u32),
    /// The type with the type id is not allowed here.
    #[error("couldn't unmarshal interface: {go_type} does not implement interface {interface}")]
    WrongInterface {
        /// The reference's name of the type behind the id, e.g. `*secp256k1fx.TransferInput`.
        go_type: &'static str,
        /// The reference's name of the expected interface, e.g. `txs.UnsignedTx`.
        interface: &'static str,
    },
    /// Bytes are left over.
    #[error("trailing buffer space: read {read} provided {provided}")]
    TrailingBytes {
        /// Bytes of the value, version included.
        read: usize,
        /// Given bytes.
        provided: usize,
    },
}
