//! Decoding errors with the reference's texts.

use super::MAX_SLICE_LEN;

/// Why bytes are no value of the wanted type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// More bytes than the codec looks at.
    #[error("byte array exceeds maximum length: {len} > {max}")]
    TooLarge {
        /// Bytes that were given.
        len: usize,
        /// Most bytes.
        max: usize,
    },
    /// Fewer than the two bytes of a version.
    #[error("couldn't unpack codec version")]
    CantUnpackVersion,
    /// Another version than 0.
    #[error("unknown codec version")]
    UnknownVersion,
    /// The input ends within a value of the named kind (`uint32`, `slice`, `string`, `interface`, ..).
    #[error("couldn't unmarshal {0}: packer has insufficient length for input")]
    ShortInput(&'static str),
    /// The input ends within bytes.
    #[error("packer has insufficient length for input")]
    ShortBytes,
    /// A boolean that is neither 0 nor 1.
    #[error("couldn't unmarshal bool: unexpected value when unpacking bool")]
    BadBool,
    /// A count of elements above 2^31-1.
    #[error(
        "max slice length exceeded; array length, {0}, exceeds maximum length, {MAX_SLICE_LEN}"
    )]
    SliceTooLong(u32),
    /// A type id that nothing is registered under.
    #[error("couldn't unmarshal interface: unknown type ID {0}")]
    UnknownTypeId(u32),
    /// The type id of a type that does not belong here.
    #[error("couldn't unmarshal interface: {go_type} does not implement interface {interface}")]
    WrongInterface {
        /// The reference's name of the type behind the id, e.g. `*secp256k1fx.TransferInput`.
        go_type: &'static str,
        /// The reference's name of the interface that belongs here, e.g. `txs.UnsignedTx`.
        interface: &'static str,
    },
    /// Bytes are left over.
    #[error("trailing buffer space: read {read} provided {provided}")]
    TrailingBytes {
        /// Bytes that the value took, version included.
        read: usize,
        /// Bytes that were given.
        provided: usize,
    },
}
