//! Deposits from the logs of the deposit contract (EIP-6110).

use alloy_eips::eip6110::DEPOSIT_REQUEST_TYPE;
use alloy_primitives::{Address, B256, Bytes, Log, b256};
use thiserror::Error;

use super::requests::request;

/// The first topic of a deposit: `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_TOPIC: B256 =
    b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");

/// Bytes of a log.
const LOG_SIZE: usize = 576;

/// The offset and the length of each field of a log: public key, withdrawal credentials, amount, signature, index.
const FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];

/// Why a log is no deposit. The texts are go-ethereum's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DepositError {
    /// The log has another size.
    #[error("unable to parse deposit data: wrong length: want 576, have {0}")]
    Length(usize),
    /// The fields are elsewhere.
    #[error("unable to parse deposit data: invalid offsets")]
    Offsets,
    /// A field has another length.
    #[error("unable to parse deposit data: invalid field sizes")]
    Sizes,
}

/// The request of all deposits in the logs of a block's transactions; `None` for none.
///
/// # Errors
/// A log of the contract is no deposit. The block is invalid.
pub fn deposit_request<'a>(
    contract: Address,
    logs: impl IntoIterator<Item = &'a Log>,
) -> Result<Option<Bytes>, DepositError> {
    let mut deposits = Vec::new();
    for log in logs {
        if log.address == contract && log.topics().first() == Some(&DEPOSIT_TOPIC) {
            add_deposit(&log.data.data, &mut deposits)?;
        }
    }
    Ok(request(DEPOSIT_REQUEST_TYPE, &deposits))
}

fn add_deposit(log: &[u8], out: &mut Vec<u8>) -> Result<(), DepositError> {
    if log.len() != LOG_SIZE {
        return Err(DepositError::Length(log.len()));
    }
    let is = |word: usize, value: usize| {
        // The reference reads the last eight bytes of each word.
        let number =
            log[word + 24..word + 32].iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
        number == value
    };
    if !FIELDS.iter().enumerate().all(|(index, (offset, _))| is(index * 32, *offset)) {
        return Err(DepositError::Offsets);
    }
    if !FIELDS.iter().all(|(offset, length)| is(*offset, *length)) {
        return Err(DepositError::Sizes);
    }
    for (offset, length) in FIELDS {
        let begin = offset + 32;
        out.extend_from_slice(&log[begin..begin + length]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::LogData;

    use super::*;

    const CONTRACT: Address = Address::repeat_byte(4);

    fn data() -> Vec<u8> {
        let mut data = vec![0; LOG_SIZE];
        for (index, (offset, length)) in FIELDS.into_iter().enumerate() {
            data[index * 32 + 30..index * 32 + 32].copy_from_slice(&(offset as u16).to_be_bytes());
            data[offset + 31] = length as u8;
            data[offset + 32..offset + 32 + length].fill(index as u8 + 1);
        }
        data
    }

    fn log(address: Address, topic: B256, data: Vec<u8>) -> Log {
        Log { address, data: LogData::new_unchecked(vec![topic], data.into()) }
    }

    fn read(data: Vec<u8>) -> Result<Option<Bytes>, DepositError> {
        deposit_request(CONTRACT, &[log(CONTRACT, DEPOSIT_TOPIC, data)])
    }

    #[test]
    fn the_fields_of_a_deposit_follow_each_other() {
        let deposit = [vec![1; 48], vec![2; 32], vec![3; 8], vec![4; 96], vec![5; 8]].concat();
        let expected = [vec![0], deposit.clone()].concat();
        assert_eq!(read(data()), Ok(Some(expected.into())));
        let two = [log(CONTRACT, DEPOSIT_TOPIC, data()), log(CONTRACT, DEPOSIT_TOPIC, data())];
        let expected = [vec![0], deposit.clone(), deposit].concat();
        assert_eq!(deposit_request(CONTRACT, &two), Ok(Some(expected.into())));
    }

    #[test]
    fn other_logs_do_not_count() {
        let logs = [
            log(Address::ZERO, DEPOSIT_TOPIC, data()),
            log(CONTRACT, B256::ZERO, data()),
            Log { address: CONTRACT, data: LogData::new_unchecked(Vec::new(), Bytes::new()) },
        ];
        assert_eq!(deposit_request(CONTRACT, &logs), Ok(None));
    }

    #[test]
    fn malformed_deposits_are_refused() {
        assert_eq!(read(data()[..575].to_vec()), Err(DepositError::Length(575)));
        for word in 0..5 {
            let mut other = data();
            other[word * 32 + 31] ^= 1;
            assert_eq!(read(other), Err(DepositError::Offsets));
        }
        for (offset, _) in FIELDS {
            let mut other = data();
            other[offset + 31] ^= 1;
            assert_eq!(read(other), Err(DepositError::Sizes));
        }
    }
}
