//! Bytes of blocks, whole, cut and altered.

use std::sync::LazyLock;

use alloy_primitives::Bytes;
use esker_ethereum::block::{
    Block, Header, block_hash, decode_block, decode_stored, encode_block, encode_stored,
    from_state_block, parse_block, parse_header, standard_form,
};
use esker_evm_state::types::Block as StateBlock;
use proptest::prelude::*;

use crate::block_bytes;

static BLOCKS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(block_bytes);

#[test]
fn blocks_keep_their_bytes() {
    assert_eq!(BLOCKS.len(), 54);
    for bytes in BLOCKS.iter() {
        let block = parse_block(bytes).unwrap();
        assert_eq!(alloy_rlp::encode(&block), *bytes);
        let header = alloy_rlp::encode(&block.header);
        assert_eq!(parse_header(&header).as_ref(), Ok(&block.header));
    }
    let head = parse_block(&BLOCKS[53]).unwrap();
    assert_eq!(
        head.header.hash_slow().to_string(),
        "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"
    );
}

#[test]
fn the_types_of_all_chains_keep_the_bytes() {
    for bytes in BLOCKS.iter() {
        let block = decode_block(bytes).unwrap();
        assert_eq!(encode_block(&block), *bytes);
        assert_eq!(block_hash(&block.header), parse_block(bytes).unwrap().header.hash_slow());
        assert_eq!(from_state_block(&block), parse_block(bytes).unwrap());
    }
    let header = Header { slot_number: Some(1), ..parse_block(&BLOCKS[53]).unwrap().header };
    let later = alloy_rlp::encode(Block { header, ..parse_block(&BLOCKS[53]).unwrap() });
    assert!(decode_block(&later).is_err());
}

#[test]
fn a_cut_block_is_refused() {
    let block = &BLOCKS[53];
    for length in 0..block.len() {
        assert!(parse_block(&block[..length]).is_err(), "{length}");
    }
}

#[test]
fn other_encodings_are_refused() {
    let mut longer = BLOCKS[0].clone();
    longer.push(0);
    assert!(parse_block(&longer).is_err());
    let mut header =
        alloy_rlp::encode(Header { extra_data: Bytes::from_static(b"ab"), ..Header::default() });
    assert!(parse_header(&header).is_ok());
    header.push(0x80);
    assert!(parse_header(&header).is_err());
}

#[test]
fn stored_blocks_keep_ext_data() {
    for bytes in &BLOCKS[50..] {
        let block = decode_block(bytes).unwrap();
        assert_eq!(encode_stored(&block), encode_block(&block));
        let with_ext_data = StateBlock { ext_data: Bytes::from_static(b"record"), ..block };
        let stored = encode_stored(&with_ext_data);
        assert_eq!(decode_stored(&stored).as_ref(), Ok(&with_ext_data));
        assert_eq!(standard_form(&stored).unwrap(), encode_block(&with_ext_data));
        for length in 0..stored.len() {
            assert!(decode_stored(&stored[..length]).is_err(), "{length}");
        }
        assert!(decode_stored(&[&stored[..], &[0x80]].concat()).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_block_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _block = parse_block(&bytes);
        let _header = parse_header(&bytes);
        let _state_block = decode_block(&bytes);
        let _stored_block = decode_stored(&bytes);
    }

    #[test]
    fn an_altered_block_is_another_one_or_refused(
        index in 0..54_usize,
        place in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut altered = BLOCKS[index].clone();
        let at = place.index(altered.len());
        altered[at] = byte;
        if let Ok(block) = parse_block(&altered) {
            prop_assert_eq!(alloy_rlp::encode(&block), altered);
        }
    }
}
