//! Transactions of the P-Chain up to Etna (docs/protocol/avalanchego.md, "Blocks of P").

use esker_primitives::codec::{self, Reader};
use esker_primitives::{ChainId, Id, TxId};
use esker_utxo::{Output, TransferableInput, Utxo, UtxoId};

use super::error::{ParseError, ParseResult};
use super::fields::{
    self, BLS_SIGNATURE_LEN, base, inputs, list, outputs, owners, signer, subnet_auth, u64s,
    unknown, validator,
};

/// A transaction, as far as other chains see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tx {
    /// SHA-256 of the signed bytes.
    pub id: TxId,
    /// Its type.
    pub kind: TxKind,
    /// The UTXOs that it moves from or to another chain.
    pub exchange: Option<Exchange>,
}

/// The change that a transaction makes in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// It consumes UTXOs that another chain exported to P.
    Import {
        /// That chain.
        source: ChainId,
        /// Its inputs: the UTXOs.
        inputs: Vec<TransferableInput>,
    },
    /// It exports UTXOs of P.
    Export {
        /// The chain that may import them.
        destination: ChainId,
        /// The UTXOs; their indices follow those of P's own outputs.
        utxos: Vec<Utxo>,
    },
}

/// Types of transactions, in the order of their type IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the reference's names")]
pub enum TxKind {
    AddValidator,
    AddSubnetValidator,
    AddDelegator,
    CreateChain,
    CreateSubnet,
    Import,
    Export,
    AdvanceTime,
    RewardValidator,
    RemoveSubnetValidator,
    TransformSubnet,
    AddPermissionlessValidator,
    AddPermissionlessDelegator,
    TransferSubnetOwnership,
    Base,
    ConvertSubnetToL1,
    RegisterL1Validator,
    SetL1ValidatorWeight,
    IncreaseL1ValidatorBalance,
    DisableL1Validator,
}

impl TxKind {
    /// The type of that ID in the codec.
    pub const fn from_type_id(type_id: u32) -> Option<Self> {
        Some(match type_id {
            12 => Self::AddValidator,
            13 => Self::AddSubnetValidator,
            14 => Self::AddDelegator,
            15 => Self::CreateChain,
            16 => Self::CreateSubnet,
            17 => Self::Import,
            18 => Self::Export,
            19 => Self::AdvanceTime,
            20 => Self::RewardValidator,
            23 => Self::RemoveSubnetValidator,
            24 => Self::TransformSubnet,
            25 => Self::AddPermissionlessValidator,
            26 => Self::AddPermissionlessDelegator,
            33 => Self::TransferSubnetOwnership,
            34 => Self::Base,
            35 => Self::ConvertSubnetToL1,
            36 => Self::RegisterL1Validator,
            37 => Self::SetL1ValidatorWeight,
            38 => Self::IncreaseL1ValidatorBalance,
            39 => Self::DisableL1Validator,
            _ => return None,
        })
    }
}

/// An import or export before the transaction's ID is known.
enum ExchangeFields {
    None,
    Import(ChainId, Vec<TransferableInput>),
    Export { destination: ChainId, first_index: usize, outputs: Vec<fields::Output> },
}

impl Tx {
    /// Parses a transaction with the codec's version, as `platform.getTx` returns it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::versioned(bytes, codec::MAX_SIZE)?;
        let tx = Self::read(&mut r)?;
        r.finish()?;
        Ok(tx)
    }

    /// Reads a transaction within a block, where it has no version.
    pub(crate) fn read(r: &mut Reader<'_>) -> ParseResult<Self> {
        let start = r.position();
        let type_id = r.type_id()?;
        let Some(kind) = TxKind::from_type_id(type_id) else {
            return unknown("transaction", type_id);
        };
        let body = read_body(kind, r)?;
        fields::credentials(r)?;
        let id = Id::sha256(&[&codec::VERSION.to_be_bytes(), r.since(start)].concat());
        let exchange = match body {
            ExchangeFields::None => None,
            ExchangeFields::Import(source, inputs) => Some(Exchange::Import { source, inputs }),
            ExchangeFields::Export { destination, first_index, outputs } => {
                let utxos = exported(id, first_index, outputs)?;
                Some(Exchange::Export { destination, utxos })
            }
        };
        Ok(Self { id, kind, exchange })
    }
}

fn read_body(kind: TxKind, r: &mut Reader<'_>) -> ParseResult<ExchangeFields> {
    // These two have no inputs and outputs; the node itself proposes them.
    if kind == TxKind::AdvanceTime {
        return u64s(r, 1).map(|()| ExchangeFields::None);
    }
    if kind == TxKind::RewardValidator {
        r.id()?;
        return Ok(ExchangeFields::None);
    }
    let own_outputs = base(r)?;
    if kind == TxKind::Import {
        return Ok(ExchangeFields::Import(r.id()?, inputs(r)?));
    }
    if kind == TxKind::Export {
        let destination = r.id()?;
        return Ok(ExchangeFields::Export {
            destination,
            first_index: own_outputs,
            outputs: outputs(r)?,
        });
    }
    skip_body(kind, r).map(|()| ExchangeFields::None)
}

/// Skips the fields after the common part of a transaction that moves nothing between chains.
fn skip_body(kind: TxKind, r: &mut Reader<'_>) -> ParseResult<()> {
    match kind {
        TxKind::AddValidator => {
            validator(r)?;
            outputs(r)?;
            owners(r)?;
            r.u32()?;
        }
        TxKind::AddSubnetValidator => {
            validator(r)?;
            r.id()?;
            subnet_auth(r)?;
        }
        TxKind::AddDelegator => {
            validator(r)?;
            outputs(r)?;
            owners(r)?;
        }
        TxKind::CreateChain => {
            r.id()?;
            r.string_bytes()?;
            r.id()?;
            list(r, |r| Ok(r.id()?))?;
            r.bytes()?;
            subnet_auth(r)?;
        }
        TxKind::CreateSubnet => owners(r)?,
        TxKind::RemoveSubnetValidator => {
            r.short_id()?;
            r.id()?;
            subnet_auth(r)?;
        }
        TxKind::TransformSubnet => {
            r.id()?;
            r.id()?;
            u64s(r, 6)?;
            r.fixed::<12>()?;
            r.u64()?;
            r.u8()?;
            r.u32()?;
            subnet_auth(r)?;
        }
        TxKind::AddPermissionlessValidator => {
            validator(r)?;
            r.id()?;
            signer(r)?;
            outputs(r)?;
            owners(r)?;
            owners(r)?;
            r.u32()?;
        }
        TxKind::AddPermissionlessDelegator => {
            validator(r)?;
            r.id()?;
            outputs(r)?;
            owners(r)?;
        }
        TxKind::TransferSubnetOwnership => {
            r.id()?;
            subnet_auth(r)?;
            owners(r)?;
        }
        TxKind::ConvertSubnetToL1 => {
            r.id()?;
            r.id()?;
            r.bytes()?;
            list(r, fields::l1_validator)?;
            subnet_auth(r)?;
        }
        TxKind::RegisterL1Validator => {
            r.u64()?;
            r.fixed::<BLS_SIGNATURE_LEN>()?;
            r.bytes()?;
        }
        TxKind::SetL1ValidatorWeight => {
            r.bytes()?;
        }
        TxKind::IncreaseL1ValidatorBalance => {
            r.id()?;
            r.u64()?;
        }
        TxKind::DisableL1Validator => {
            r.id()?;
            subnet_auth(r)?;
        }
        TxKind::Base
        | TxKind::Import
        | TxKind::Export
        | TxKind::AdvanceTime
        | TxKind::RewardValidator => {}
    }
    Ok(())
}

fn exported(id: TxId, first_index: usize, outputs: Vec<fields::Output>) -> ParseResult<Vec<Utxo>> {
    let too_many = |_| ParseError::TooManyOutputs(id);
    let first_index = u32::try_from(first_index).map_err(too_many)?;
    let utxo = |(index, output): (usize, fields::Output)| {
        let index = u32::try_from(index).map_err(too_many)?;
        let output_index = first_index.checked_add(index).ok_or(ParseError::TooManyOutputs(id))?;
        let transfer = output.transfer.ok_or(ParseError::LockedExport(id))?;
        Ok(Utxo {
            utxo_id: UtxoId { tx_id: id, output_index },
            asset_id: output.asset_id,
            output: Output::SecpTransfer(transfer),
        })
    };
    outputs.into_iter().enumerate().map(utxo).collect()
}
