//! Gas that a transaction pays before its first instruction.

use alloy_eips::eip2930::AccessList;

use crate::rules::{ExecutionRules, Revision};

const TX_GAS: u64 = 21_000;
const CREATION_GAS: u64 = 32_000;
const ZERO_BYTE_GAS: u64 = 4;
const BYTE_GAS: u64 = 16;
const BYTE_GAS_BEFORE_ISTANBUL: u64 = 68;
const INIT_CODE_WORD_GAS: u64 = 2;
const ACCESS_LIST_ADDRESS_GAS: u64 = 2400;
const ACCESS_LIST_KEY_GAS: u64 = 1900;
const AUTHORIZATION_GAS: u64 = 25_000;
const FLOOR_TOKEN_GAS: u64 = 10;
const TOKENS_PER_BYTE: u64 = 4;

/// Gas that a transaction uses before its first instruction. `authorizations` is their number.
pub fn intrinsic_gas(
    rules: &ExecutionRules,
    input: &[u8],
    creates: bool,
    access_list: &AccessList,
    authorizations: usize,
) -> u64 {
    let mut gas = TX_GAS + authorizations as u64 * AUTHORIZATION_GAS;
    if creates && rules.revision >= Revision::Homestead {
        gas += CREATION_GAS;
    }
    if creates && rules.revision >= Revision::Shanghai {
        gas += INIT_CODE_WORD_GAS * input.len().div_ceil(32) as u64;
    }
    let byte_gas = match rules.revision >= Revision::Istanbul {
        true => BYTE_GAS,
        false => BYTE_GAS_BEFORE_ISTANBUL,
    };
    let zeros = zeros(input);
    gas += zeros * ZERO_BYTE_GAS + (input.len() as u64 - zeros) * byte_gas;
    let keys = access_list.iter().map(|item| item.storage_keys.len() as u64).sum::<u64>();
    gas + access_list.len() as u64 * ACCESS_LIST_ADDRESS_GAS + keys * ACCESS_LIST_KEY_GAS
}

/// The least gas of a transaction with this call data or init code (EIP-7623); 0 before Prague.
pub fn floor_gas(rules: &ExecutionRules, input: &[u8]) -> u64 {
    if rules.revision < Revision::Prague {
        return 0;
    }
    let zeros = zeros(input);
    let tokens = zeros + (input.len() as u64 - zeros) * TOKENS_PER_BYTE;
    TX_GAS + tokens * FLOOR_TOKEN_GAS
}

fn zeros(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == 0).count() as u64
}
