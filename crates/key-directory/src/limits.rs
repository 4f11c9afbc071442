//! The limits of a key file's demands.

/// Longest key file. Wallets write some 500 bytes.
pub const MAX_FILE_BYTES: usize = 16 * 1024;

/// Most bytes that scrypt may take: those of geth's standard, with some for what is not the table of `n` blocks.
pub const MAX_SCRYPT_MEMORY: u64 = 257 << 20;

/// Most work of scrypt (`n * r * p`): twice that of geth's standard, some two seconds of a core.
pub const MAX_SCRYPT_WORK: u64 = 1 << 22;

/// Most rounds of PBKDF2: some two seconds of a core.
pub const MAX_PBKDF2_ROUNDS: u64 = 1 << 22;
