//! Small programs of instructions that call, create and destroy.

use alloy_primitives::{Address, Bytes};

/// An instruction that names an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Op {
    Call(Address, u8),
    CallCode(Address, u8),
    DelegateCall(Address),
    StaticCall(Address),
    /// Creates a contract with init code that ends in the given way.
    Create(End, u8),
    Create2(End, u8),
    End(End),
}

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum End {
    Stop,
    Revert,
    Invalid,
    SelfDestruct(Address),
}

impl End {
    fn code(self) -> Vec<u8> {
        match self {
            Self::Stop => vec![0x00],
            Self::Revert => vec![0x60, 0, 0x60, 0, 0xfd],
            Self::Invalid => vec![0xfe],
            Self::SelfDestruct(to) => [&[0x73], to.as_slice(), &[0xff]].concat(),
        }
    }
}

impl Op {
    fn code(self) -> Vec<u8> {
        match self {
            Self::Call(to, value) => call(0xf1, to, Some(value)),
            Self::CallCode(to, value) => call(0xf2, to, Some(value)),
            Self::DelegateCall(to) => call(0xf4, to, None),
            Self::StaticCall(to) => call(0xfa, to, None),
            Self::Create(end, value) => create(&[], end, value, 0xf0),
            Self::Create2(end, value) => create(&[0x60, 7], end, value, 0xf5),
            Self::End(end) => end.code(),
        }
    }
}

/// A call without data, with all gas: PUSH1 0 four times, the value, PUSH20 and the account, GAS, the call, POP.
fn call(op: u8, to: Address, value: Option<u8>) -> Vec<u8> {
    let mut code = [0x60, 0].repeat(4);
    code.extend(value.into_iter().flat_map(|value| [0x60, value]));
    code.push(0x73);
    code.extend_from_slice(to.as_slice());
    code.extend([0x5a, op, 0x50]);
    code
}

/// Puts the init code at the end of the first word: PUSHn, PUSH1 0, MSTORE, the salt, length, start and value, the creation, POP.
fn create(salt: &[u8], end: End, value: u8, op: u8) -> Vec<u8> {
    let init = end.code();
    let length = u8::try_from(init.len()).unwrap();
    let mut code = vec![0x5f + length];
    code.extend(init);
    code.extend([0x60, 0, 0x52]);
    code.extend_from_slice(salt);
    code.extend([0x60, length, 0x60, 32 - length, 0x60, value, op, 0x50]);
    code
}

/// The code of a program.
pub(in super::super) fn program(ops: &[Op]) -> Bytes {
    ops.iter().flat_map(|op| op.code()).collect::<Vec<_>>().into()
}

/// Init code of a contract with this code: CODECOPY and RETURN of what follows.
pub(in super::super) fn deploying(code: &[u8]) -> Bytes {
    let [high, low] = u16::try_from(code.len()).unwrap().to_be_bytes();
    let head = [0x61, high, low, 0x60, 14, 0x60, 0, 0x39, 0x61, high, low, 0x60, 0, 0xf3];
    [&head[..], code].concat().into()
}
