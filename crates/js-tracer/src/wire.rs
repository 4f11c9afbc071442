//! The protocol between the node and a script process.
//!
//! A frame is its length (four bytes, little-endian), its kind (a byte), and its fields. The node sends a [`Job`],
//! answers the requests of the process, and gets output until [`WorkerMessage::Done`] or [`WorkerMessage::Failed`]. This
//! module checks the frames of the process: it limits their lengths and accepts only the messages below.

use std::io::{self, Read, Write};

use alloy_eips::eip2930::AccessListItem;
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, U256};
use esker_evm_execution::executor::{BlockContext, Message, Origin};
use esker_evm_execution::rules::{
    BaseFeeUse, BlobLimits, ExecutionLimits, ExecutionRules, NativeAsset, Revision, StorageKeys,
};
use esker_evm_execution::trace::TxPlace;
use esker_evm_state::state::AccountParts;

/// Longest frame from a process, bytes.
pub(crate) const MAX_WORKER_MESSAGE: usize = 64 << 10;
/// Longest frame to a process, bytes: a job with its script, or a contract's code.
pub(crate) const MAX_NODE_MESSAGE: usize = 64 << 20;
/// Most output in a frame, bytes.
pub(crate) const OUTPUT_PART: usize = 32 << 10;

/// A job for a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) source: String,
    pub(crate) config: String,
    pub(crate) chain_id: u64,
    pub(crate) has_control_values: bool,
    pub(crate) network_id: u32,
    pub(crate) blockchain_id: [u8; 32],
    pub(crate) memory: u64,
    pub(crate) block: BlockContext,
    pub(crate) message: Message,
    pub(crate) place: TxPlace,
}

/// A message of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkerMessage {
    /// Requests an account.
    Account(Address),
    /// Requests the value of a storage slot.
    Slot(Address, U256),
    /// Requests the code with this hash.
    Code(B256),
    /// Requests the hash of the ancestor at this height.
    Ancestor(u64),
    /// More of the result.
    Output(Vec<u8>),
    /// The result is complete.
    Done,
    /// There is no result; the reason is the reply's text.
    Failed(String),
}

/// The error of a malformed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed frame")]
pub(crate) struct MalformedFrame;

impl From<MalformedFrame> for io::Error {
    fn from(malformed: MalformedFrame) -> Self {
        Self::new(io::ErrorKind::InvalidData, malformed)
    }
}

/// A frame under construction.
#[derive(Debug, Default)]
pub(crate) struct Frame(Vec<u8>);

impl Frame {
    fn new(kind: u8) -> Self {
        Self(vec![0, 0, 0, 0, kind])
    }

    /// A frame that answers a request. It has no kind.
    pub(crate) fn answer() -> Self {
        Self(vec![0, 0, 0, 0])
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.raw(&number.to_le_bytes())
    }

    pub(crate) fn word(self, word: U256) -> Self {
        self.raw(&word.to_be_bytes::<32>())
    }

    pub(crate) fn hash(self, hash: B256) -> Self {
        self.raw(hash.as_slice())
    }

    pub(crate) fn flag(self, flag: bool) -> Self {
        self.raw(&[flag.into()])
    }

    fn address(self, address: Address) -> Self {
        self.raw(address.as_slice())
    }

    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.number(bytes.len() as u64).raw(bytes)
    }

    fn option<T>(self, value: Option<T>, write: impl FnOnce(Self, T) -> Self) -> Self {
        let frame = self.flag(value.is_some());
        match value {
            Some(value) => write(frame, value),
            None => frame,
        }
    }

    pub(crate) fn account(self, account: Option<AccountParts>) -> Self {
        self.option(account, |frame, account| {
            let AccountParts { nonce, balance, code_hash, is_multi_coin } = account;
            frame.number(nonce).word(balance).hash(code_hash).flag(is_multi_coin)
        })
    }

    pub(crate) fn maybe_hash(self, hash: Option<B256>) -> Self {
        self.option(hash, Self::hash)
    }

    /// The bytes to be sent.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// Writes a frame.
pub(crate) fn send(to: &mut impl Write, frame: Frame) -> io::Result<()> {
    to.write_all(&frame.finish())
}

/// Reads a frame without its length.
pub(crate) fn receive(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(MalformedFrame.into());
    }
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(frame)
}

/// Reads the fields of a frame.
#[derive(Debug)]
pub(crate) struct Fields<'f>(&'f [u8]);

type FrameResult<T> = Result<T, MalformedFrame>;

impl<'f> Fields<'f> {
    pub(crate) fn new(frame: &'f [u8]) -> Self {
        Self(frame)
    }

    fn raw(&mut self, length: usize) -> FrameResult<&'f [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(MalformedFrame)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> FrameResult<[u8; N]> {
        self.raw(N)?.try_into().map_err(|_| MalformedFrame)
    }

    pub(crate) fn number(&mut self) -> FrameResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn word(&mut self) -> FrameResult<U256> {
        Ok(U256::from_be_bytes::<32>(self.array()?))
    }

    fn hash(&mut self) -> FrameResult<B256> {
        Ok(B256::new(self.array()?))
    }

    fn address(&mut self) -> FrameResult<Address> {
        Ok(Address::new(self.array()?))
    }

    fn flag(&mut self) -> FrameResult<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(MalformedFrame),
        }
    }

    pub(crate) fn bytes(&mut self) -> FrameResult<&'f [u8]> {
        let length = usize::try_from(self.number()?).map_err(|_| MalformedFrame)?;
        self.raw(length)
    }

    fn text(&mut self) -> FrameResult<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| MalformedFrame)
    }

    fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> FrameResult<T>,
    ) -> FrameResult<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    pub(crate) fn account(&mut self) -> FrameResult<Option<AccountParts>> {
        self.option(|fields| {
            Ok(AccountParts {
                nonce: fields.number()?,
                balance: fields.word()?,
                code_hash: fields.hash()?,
                is_multi_coin: fields.flag()?,
            })
        })
    }

    pub(crate) fn maybe_hash(&mut self) -> FrameResult<Option<B256>> {
        self.option(Self::hash)
    }

    /// Checks that no bytes follow the last field.
    pub(crate) fn end(self) -> FrameResult<()> {
        if self.0.is_empty() { Ok(()) } else { Err(MalformedFrame) }
    }
}

impl WorkerMessage {
    /// Encodes the message as a frame.
    pub(crate) fn frame(&self) -> Frame {
        match self {
            Self::Account(address) => Frame::new(0).address(*address),
            Self::Slot(address, slot) => Frame::new(1).address(*address).word(*slot),
            Self::Code(hash) => Frame::new(2).hash(*hash),
            Self::Ancestor(number) => Frame::new(3).number(*number),
            Self::Output(bytes) => Frame::new(4).bytes(bytes),
            Self::Done => Frame::new(5),
            Self::Failed(text) => Frame::new(6).bytes(text.as_bytes()),
        }
    }

    /// Decodes a message.
    pub(crate) fn parse(frame: &[u8]) -> FrameResult<Self> {
        let mut fields = Fields::new(frame);
        let said = match fields.array()? {
            [0] => Self::Account(fields.address()?),
            [1] => Self::Slot(fields.address()?, fields.word()?),
            [2] => Self::Code(fields.hash()?),
            [3] => Self::Ancestor(fields.number()?),
            [4] => Self::Output(fields.bytes()?.to_vec()),
            [5] => Self::Done,
            [6] => Self::Failed(fields.text()?),
            _ => return Err(MalformedFrame),
        };
        fields.end()?;
        Ok(said)
    }
}

impl Job {
    /// Encodes the job as a frame.
    pub(crate) fn frame(&self) -> Frame {
        let frame = Frame::answer()
            .bytes(self.source.as_bytes())
            .bytes(self.config.as_bytes())
            .number(self.chain_id)
            .flag(self.has_control_values)
            .number(self.network_id.into())
            .raw(&self.blockchain_id)
            .number(self.memory);
        let frame = put_message(put_block(frame, &self.block), &self.message);
        frame
            .maybe_hash(self.place.block_hash)
            .option(self.place.tx_index, |frame, index| frame.number(index as u64))
            .maybe_hash(self.place.tx_hash)
    }

    /// Decodes a job.
    pub(crate) fn parse(frame: &[u8]) -> FrameResult<Self> {
        let mut fields = Fields::new(frame);
        let job = Self {
            source: fields.text()?,
            config: fields.text()?,
            chain_id: fields.number()?,
            has_control_values: fields.flag()?,
            network_id: u32::try_from(fields.number()?).map_err(|_| MalformedFrame)?,
            blockchain_id: fields.array()?,
            memory: fields.number()?,
            block: block(&mut fields)?,
            message: message(&mut fields)?,
            place: TxPlace {
                block_hash: fields.maybe_hash()?,
                tx_index: fields.option(|fields| {
                    usize::try_from(fields.number()?).map_err(|_| MalformedFrame)
                })?,
                tx_hash: fields.maybe_hash()?,
            },
        };
        fields.end()?;
        Ok(job)
    }
}

fn put_block(frame: Frame, block: &BlockContext) -> Frame {
    let BlockContext { number, time, gas_limit, base_fee, coinbase, difficulty, .. } = block;
    let rules = &block.rules;
    frame
        .word(*number)
        .number(*time)
        .number(*gas_limit)
        .word(*base_fee)
        .address(*coinbase)
        .word(*difficulty)
        .word(block.blob_base_fee)
        .number(rules.revision as u64)
        .number(rules.native_asset as u64)
        .flag(rules.warp)
        .number(rules.storage_keys as u64)
        .flag(rules.reserves_addresses)
        .number(rules.base_fee as u64)
        .flag(rules.refunds)
        .option(rules.blobs, put_blobs)
        .flag(rules.limits.lifts_tx_gas)
        .option(rules.limits.code_size, |frame, bytes| frame.number(bytes as u64))
        .option(rules.limits.memory, Frame::number)
}

fn block(fields: &mut Fields<'_>) -> FrameResult<BlockContext> {
    Ok(BlockContext {
        number: fields.word()?,
        time: fields.number()?,
        gas_limit: fields.number()?,
        base_fee: fields.word()?,
        coinbase: fields.address()?,
        difficulty: fields.word()?,
        blob_base_fee: fields.word()?,
        rules: rules(fields)?,
    })
}

fn rules(fields: &mut Fields<'_>) -> FrameResult<ExecutionRules> {
    let native_assets = [NativeAsset::On, NativeAsset::Reverts, NativeAsset::Absent];
    Ok(ExecutionRules {
        revision: one_of(&Revision::ALL, fields)?,
        native_asset: one_of(&native_assets, fields)?,
        warp: fields.flag()?,
        storage_keys: one_of(&[StorageKeys::Whole, StorageKeys::Separated], fields)?,
        reserves_addresses: fields.flag()?,
        base_fee: one_of(&[BaseFeeUse::ToCoinbase, BaseFeeUse::Burnt], fields)?,
        refunds: fields.flag()?,
        blobs: fields.option(blobs)?,
        limits: limits(fields)?,
    })
}

fn limits(fields: &mut Fields<'_>) -> FrameResult<ExecutionLimits> {
    let lifts_tx_gas = fields.flag()?;
    let code_size = fields.option(Fields::number)?;
    let code_size = code_size.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let memory = fields.option(Fields::number)?;
    Ok(ExecutionLimits { lifts_tx_gas, code_size, memory })
}

fn put_blobs(frame: Frame, blobs: BlobLimits) -> Frame {
    let frame = frame.number(blobs.target).number(blobs.max).number(blobs.update_fraction);
    frame.option(blobs.max_a_transaction, Frame::number)
}

fn blobs(fields: &mut Fields<'_>) -> FrameResult<BlobLimits> {
    Ok(BlobLimits {
        target: fields.number()?,
        max: fields.number()?,
        update_fraction: fields.number()?,
        max_a_transaction: fields.option(Fields::number)?,
    })
}

fn one_of<T: Copy>(all: &[T], fields: &mut Fields<'_>) -> FrameResult<T> {
    let place = usize::try_from(fields.number()?).map_err(|_| MalformedFrame)?;
    all.get(place).copied().ok_or(MalformedFrame)
}

fn put_message(frame: Frame, message: &Message) -> Frame {
    let frame = frame
        .address(message.from)
        .option(message.to, Frame::address)
        .number(message.nonce)
        .word(message.value)
        .number(message.gas_limit)
        .word(message.fee_cap)
        .word(message.tip_cap)
        .bytes(&message.input)
        .word(message.blob_fee_cap)
        .number(message.origin as u64)
        .option(message.blob_hashes.as_ref(), |frame, hashes| {
            let frame = frame.number(hashes.len() as u64);
            hashes.iter().fold(frame, |frame, hash| frame.hash(*hash))
        });
    let frame = frame.option(message.authorization_list.as_ref(), |frame, list| {
        list.iter().fold(frame.number(list.len() as u64), put_authorization)
    });
    let items = &message.access_list.0;
    items.iter().fold(frame.number(items.len() as u64), |frame, item| {
        let frame = frame.address(item.address).number(item.storage_keys.len() as u64);
        item.storage_keys.iter().fold(frame, |frame, key| frame.hash(*key))
    })
}

fn message(fields: &mut Fields<'_>) -> FrameResult<Message> {
    Ok(Message {
        from: fields.address()?,
        to: fields.option(Fields::address)?,
        nonce: fields.number()?,
        value: fields.word()?,
        gas_limit: fields.number()?,
        fee_cap: fields.word()?,
        tip_cap: fields.word()?,
        input: Bytes::copy_from_slice(fields.bytes()?),
        blob_fee_cap: fields.word()?,
        origin: one_of(&[Origin::Signed, Origin::Simulated, Origin::Call], fields)?,
        blob_hashes: fields.option(|fields| list(fields, Fields::hash))?,
        authorization_list: fields.option(|fields| list(fields, authorization))?,
        access_list: list(fields, |fields| {
            let (address, storage_keys) = (fields.address()?, list(fields, Fields::hash)?);
            Ok(AccessListItem { address, storage_keys })
        })?
        .into(),
    })
}

fn put_authorization(frame: Frame, signed: &SignedAuthorization) -> Frame {
    let inner = signed.inner();
    let frame = frame.word(inner.chain_id).address(inner.address).number(inner.nonce);
    frame.number(signed.y_parity().into()).word(signed.r()).word(signed.s())
}

fn authorization(fields: &mut Fields<'_>) -> FrameResult<SignedAuthorization> {
    let (chain_id, address, nonce) = (fields.word()?, fields.address()?, fields.number()?);
    let y_parity = u8::try_from(fields.number()?).map_err(|_| MalformedFrame)?;
    let authorization = Authorization { chain_id, address, nonce };
    Ok(SignedAuthorization::new_unchecked(authorization, y_parity, fields.word()?, fields.word()?))
}

fn list<'f, T>(
    fields: &mut Fields<'f>,
    read: impl Fn(&mut Fields<'f>) -> FrameResult<T>,
) -> FrameResult<Vec<T>> {
    let count = fields.number()?;
    // The vector grows with the items, not by the declared count.
    (0..count).map(|_| read(fields)).collect()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{address, b256};
    use esker_evm_execution::rules::Phase;

    use super::*;

    fn body(frame: Frame) -> Vec<u8> {
        frame.finish().split_off(4)
    }

    fn job() -> Job {
        let hash = b256!("0x1212121212121212121212121212121212121212121212121212121212121212");
        let authorization =
            Authorization { chain_id: U256::from(1), address: Address::ZERO, nonce: 2 };
        let (r, s) = (U256::MAX, U256::from(3));
        let authorization = SignedAuthorization::new_unchecked(authorization, 27, r, s);
        let item = AccessListItem { address: Address::ZERO, storage_keys: vec![hash, B256::ZERO] };
        Job {
            source: "{}".to_owned(),
            config: "null".to_owned(),
            chain_id: 43112,
            has_control_values: true,
            network_id: 5,
            blockchain_id: [9; 32],
            memory: u64::MAX,
            block: BlockContext {
                number: U256::from(3),
                time: 4,
                gas_limit: 5,
                base_fee: U256::MAX,
                coinbase: address!("0x0100000000000000000000000000000000000000"),
                difficulty: U256::from(1),
                blob_base_fee: U256::from(1),
                rules: Phase::Durango.rules().execution,
            },
            message: Message {
                from: Address::ZERO,
                to: None,
                nonce: 1,
                value: U256::from(2),
                gas_limit: 3,
                fee_cap: U256::from(4),
                tip_cap: U256::from(5),
                input: Bytes::from_static(&[1, 2, 3]),
                access_list: vec![item].into(),
                blob_hashes: Some(vec![hash]),
                authorization_list: Some(vec![authorization]),
                blob_fee_cap: U256::ZERO,
                origin: Origin::Call,
            },
            place: TxPlace { block_hash: Some(hash), tx_index: Some(7), tx_hash: None },
        }
    }

    #[test]
    fn a_job_arrives_as_it_was_sent() {
        let bytes = body(job().frame());
        assert_eq!(Job::parse(&bytes), Ok(job()));
        for length in 0..bytes.len() {
            assert_eq!(Job::parse(&bytes[..length]), Err(MalformedFrame), "{length}");
        }
        assert_eq!(Job::parse(&[&bytes[..], &[0]].concat()), Err(MalformedFrame));
        for phase in Phase::ALL {
            let mut job = job();
            job.block.rules = phase.rules().execution;
            assert_eq!(Job::parse(&body(job.frame())), Ok(job));
        }
    }

    #[test]
    fn rules_of_ethereum_arrive_as_they_were_sent() {
        let limits = BlobLimits { target: 6, max: 9, update_fraction: 5, max_a_transaction: None };
        let one = BlobLimits { max_a_transaction: Some(6), ..limits };
        for revision in Revision::ALL {
            for (blobs, code_size) in [(None, None), (Some(limits), Some(7)), (Some(one), None)] {
                let mut job = job();
                job.block.rules = ExecutionRules {
                    revision,
                    native_asset: NativeAsset::Absent,
                    warp: false,
                    storage_keys: StorageKeys::Whole,
                    reserves_addresses: false,
                    base_fee: BaseFeeUse::Burnt,
                    refunds: true,
                    blobs,
                    limits: ExecutionLimits {
                        lifts_tx_gas: blobs.is_none(),
                        code_size,
                        memory: code_size.map(|bytes| bytes as u64 + 1),
                    },
                };
                assert_eq!(Job::parse(&body(job.frame())), Ok(job));
            }
        }
    }

    #[test]
    fn what_a_process_says_is_checked() {
        let all = [
            WorkerMessage::Account(Address::ZERO),
            WorkerMessage::Slot(Address::ZERO, U256::from(1)),
            WorkerMessage::Code(B256::ZERO),
            WorkerMessage::Ancestor(7),
            WorkerMessage::Output(vec![1, 2]),
            WorkerMessage::Done,
            WorkerMessage::Failed("why".to_owned()),
        ];
        for said in all {
            let bytes = body(said.frame());
            assert_eq!(WorkerMessage::parse(&bytes), Ok(said));
            assert_eq!(WorkerMessage::parse(&bytes[..bytes.len() - 1]), Err(MalformedFrame));
            assert_eq!(WorkerMessage::parse(&[&bytes[..], &[0]].concat()), Err(MalformedFrame));
        }
        assert_eq!(WorkerMessage::parse(&[]), Err(MalformedFrame));
        assert_eq!(WorkerMessage::parse(&[9]), Err(MalformedFrame));
        assert_eq!(WorkerMessage::parse(&body(Frame::new(6).bytes(&[0xff]))), Err(MalformedFrame));
        let long = (MAX_WORKER_MESSAGE as u32 + 1).to_le_bytes();
        assert!(receive(&mut &long[..], MAX_WORKER_MESSAGE).is_err());
    }
}
