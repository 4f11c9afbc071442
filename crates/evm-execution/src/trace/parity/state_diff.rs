//! What a transaction changes, as Parity's `stateDiff`.

use alloy_primitives::{B256, Bytes, U256};
use alloy_trie::KECCAK_EMPTY;

use crate::trace::context::AccountChange;
use crate::trace::tracers::separate;
use crate::trace::{TraceContext, TraceError, TraceOutput, TraceResult, json};

/// The changes of accounts, by address.
#[derive(Debug, Default)]
pub(super) struct StateDiff(Vec<AccountDiff>);

#[derive(Debug)]
struct AccountDiff {
    change: AccountChange,
    /// Code before and after, unless it stays.
    code: Option<(Bytes, Bytes)>,
}

/// What became of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Created,
    Changed,
    Removed,
}

impl StateDiff {
    /// The changes of the transaction that has ended.
    pub(super) fn of(context: &mut TraceContext<'_, '_>) -> Result<Self, TraceError> {
        let mut diffs = Vec::new();
        for change in context.changes()? {
            // What the transaction created and destroyed was never there.
            if change.is_created && change.is_destroyed || !has_changed(&change) {
                continue;
            }
            let before = change.before.map_or(KECCAK_EMPTY, |before| before.code_hash);
            let after = change.after.code_hash;
            let code = match before == after && !change.is_created && !change.is_destroyed {
                true => None,
                false => Some((context.code_of(before)?, context.code(change.address)?)),
            };
            let bytes = code.as_ref().map_or(0, |(before, after)| before.len() + after.len());
            context.out.hold(bytes)?;
            diffs.push(AccountDiff { change, code });
        }
        Ok(Self(diffs))
    }

    pub(super) fn write(&self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().push(b'{');
        for (at, diff) in self.0.iter().enumerate() {
            separate(at, out)?;
            json::address(out.buffer(), &diff.change.address);
            diff.write(out)?;
        }
        out.buffer().push(b'}');
        Ok(())
    }
}

fn has_changed(change: &AccountChange) -> bool {
    let AccountChange { before, after, is_created, is_destroyed, slots, .. } = change;
    let (balance, nonce, code_hash) = before.map_or((U256::ZERO, 0, KECCAK_EMPTY), |parts| {
        (parts.balance, parts.nonce, parts.code_hash)
    });
    *is_created
        || *is_destroyed
        || !slots.is_empty()
        || balance != after.balance
        || nonce != after.nonce
        || code_hash != after.code_hash
}

impl AccountDiff {
    fn fate(&self) -> Fate {
        match (self.change.is_created, self.change.is_destroyed) {
            (true, _) => Fate::Created,
            (false, true) => Fate::Removed,
            (false, false) => Fate::Changed,
        }
    }

    fn write(&self, out: &mut dyn TraceOutput) -> TraceResult {
        let (fate, after) = (self.fate(), self.change.after);
        let (balance, nonce) =
            self.change.before.map_or((U256::ZERO, 0), |before| (before.balance, before.nonce));
        let none = (Bytes::new(), Bytes::new());
        let buffer = out.buffer();
        buffer.extend_from_slice(b":{\"balance\":");
        write_change(fate, (&balance, &after.balance), json::big, buffer);
        buffer.extend_from_slice(b",\"code\":");
        let (old, new) = self.code.as_ref().unwrap_or(&none);
        write_change(fate, (old, new), |out, code| json::data(out, code), buffer);
        buffer.extend_from_slice(b",\"nonce\":");
        write_change(
            fate,
            (&nonce, &after.nonce),
            |out, nonce| json::quantity(out, *nonce),
            buffer,
        );
        buffer.extend_from_slice(b",\"storage\":{");
        // The slots of a removed contract are not known.
        let slots = if fate == Fate::Removed { &[][..] } else { &self.change.slots };
        for (at, (key, before, after)) in slots.iter().enumerate() {
            separate(at, out)?;
            let buffer = out.buffer();
            json::hash(buffer, &B256::from(*key));
            buffer.push(b':');
            write_change(
                fate,
                (before, after),
                |out, value| json::hash(out, &B256::from(*value)),
                buffer,
            );
        }
        out.buffer().extend_from_slice(b"}}");
        Ok(())
    }
}

/// Writes how a value has changed.
fn write_change<T: PartialEq>(
    fate: Fate,
    (before, after): (&T, &T),
    write: impl Fn(&mut Vec<u8>, &T),
    out: &mut Vec<u8>,
) {
    match fate {
        Fate::Created => {
            out.extend_from_slice(b"{\"+\":");
            write(out, after);
        }
        Fate::Removed => {
            out.extend_from_slice(b"{\"-\":");
            write(out, before);
        }
        Fate::Changed if before == after => {
            out.extend_from_slice(b"\"=\"");
            return;
        }
        Fate::Changed => {
            out.extend_from_slice(b"{\"*\":{\"from\":");
            write(out, before);
            out.extend_from_slice(b",\"to\":");
            write(out, after);
            out.push(b'}');
        }
    }
    out.push(b'}');
}
