//! Codec round trips, total decoders, and orders that agree with the encoded forms.

use std::fmt::Debug;

use esker_primitives::codec::{Decode, Encode, MAX_SIZE};
use esker_testkit::arbitrary;
use esker_utxo::{
    CredentialSlot, FxOperation, Output, OutputOwners, TransferableInput, TransferableOutput, Utxo,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn round_trip<T: Encode + Decode + PartialEq + Debug>(value: &T) {
    let bytes = value.to_versioned_bytes();
    assert_eq!(&T::from_versioned_bytes(&bytes, MAX_SIZE).unwrap(), value);
    // Every proper prefix is refused, and so is a longer input.
    for cut in 0..bytes.len() {
        assert!(T::from_versioned_bytes(&bytes[..cut], MAX_SIZE).is_err());
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(T::from_versioned_bytes(&longer, MAX_SIZE).is_err());
}

/// Whatever decodes is the only value of those bytes.
fn canonical<T: Encode + Decode>(bytes: &[u8]) {
    if let Ok(value) = T::from_versioned_bytes(bytes, MAX_SIZE) {
        assert_eq!(value.to_versioned_bytes(), bytes);
    }
}

fn all_canonical(bytes: &[u8]) {
    canonical::<OutputOwners>(bytes);
    canonical::<Output>(bytes);
    canonical::<TransferableOutput>(bytes);
    canonical::<TransferableInput>(bytes);
    canonical::<CredentialSlot>(bytes);
    canonical::<FxOperation>(bytes);
    canonical::<Utxo>(bytes);
}

proptest! {
    #[test]
    fn outputs_survive(output in arbitrary::output()) {
        round_trip(&output);
    }

    #[test]
    fn operations_survive(operation in arbitrary::operation()) {
        round_trip(&operation);
    }

    #[test]
    fn credentials_survive(credential in arbitrary::credential()) {
        round_trip(&credential);
    }

    #[test]
    fn inputs_survive(input in arbitrary::transferable_input()) {
        round_trip(&input);
    }

    #[test]
    fn transferable_outputs_survive(output in arbitrary::transferable_output()) {
        round_trip(&output);
    }

    #[test]
    fn utxos_survive(utxo in arbitrary::utxo()) {
        round_trip(&utxo);
    }

    #[test]
    fn any_bytes_decode_or_fail(bytes in vec(any::<u8>(), 0..200), type_id in 0..24_u8) {
        all_canonical(&bytes);
        let mut typed = vec![0, 0, 0, 0, 0, type_id];
        typed.extend_from_slice(&bytes);
        all_canonical(&typed);
    }

    #[test]
    fn mutated_bytes_decode_or_fail(
        utxo in arbitrary::utxo(),
        credential in arbitrary::credential(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        for mut bytes in [utxo.to_versioned_bytes(), credential.to_versioned_bytes()] {
            let position = at.index(bytes.len());
            bytes[position] = byte;
            all_canonical(&bytes);
        }
    }

    #[test]
    fn orders_are_those_of_the_bytes(
        a in arbitrary::output(),
        b in arbitrary::output(),
        x in arbitrary::transferable_output(),
        y in arbitrary::transferable_output(),
    ) {
        prop_assert_eq!(a.cmp_encoded(&b), a.to_versioned_bytes().cmp(&b.to_versioned_bytes()));
        prop_assert_eq!(x.cmp_encoded(&y), x.to_versioned_bytes().cmp(&y.to_versioned_bytes()));
    }
}
