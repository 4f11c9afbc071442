//! Mnemonics that anvil makes: random ones, and those of a seed.

use esker_settings::networks::mnemonic_of;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

use super::error::FlagError;

/// Bytes of randomness of the mnemonics with 12 words.
const USUAL_BYTES: usize = 16;

/// A random mnemonic of so many words.
pub(super) fn random(words: usize) -> Result<String, FlagError> {
    if !matches!(words, 12 | 15 | 18 | 21 | 24) {
        return Err(FlagError::Words(words));
    }
    // Three words stand for four bytes.
    let mut entropy = vec![0; words / 3 * 4];
    (esker_node::Environment::system().randomness)(&mut entropy);
    mnemonic_of(&entropy).ok_or(FlagError::Words(words))
}

/// The mnemonic that anvil makes of a seed: each byte is the lowest one of a number of its generator.
pub(super) fn of_seed(seed: u64) -> String {
    let mut numbers = ChaCha12Rng::seed_from_u64(seed);
    let entropy: [u8; USUAL_BYTES] = std::array::from_fn(|_| numbers.next_u32().to_le_bytes()[0]);
    mnemonic_of(&entropy).expect("16 bytes are 12 words")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that anvil 1.7.1 shows.
    #[test]
    fn a_seed_has_the_mnemonic_of_anvil() {
        for (seed, words) in [
            (5, "key exile year ready box laugh trick dice banana accuse ribbon chest"),
            (0, "leisure need topic clown code attend earn lounge baby omit vault crunch"),
        ] {
            assert_eq!(of_seed(seed), words);
        }
    }

    #[test]
    fn random_mnemonics_have_the_wanted_length() {
        for words in [12, 15, 18, 21, 24] {
            let (first, second) = (random(words).unwrap(), random(words).unwrap());
            assert_eq!(first.split(' ').count(), words);
            assert_ne!(first, second);
        }
        for words in [0, 11, 13, 27, usize::MAX / 4 * 3] {
            assert!(matches!(random(words), Err(FlagError::Words(_))), "{words}");
        }
    }
}
