//! Fetches headers of blocks before the pinned one, for their hashes. Each is checked by the parent hash of the next one.

use serde_json::json;

use super::context::Context;
use super::reader::StateReader;
use super::reading::Reading;
use crate::error::{Contradiction, ForkError};
use crate::misses::Want;
use crate::pin::Pin;
use crate::source::{Answer, Call};
use crate::state::Fact;

/// Most headers that are fetched at once: code reaches no further back.
const MAX_HEADERS: u64 = 256;
const METHOD: &str = "eth_getBlockByNumber";

/// Fetches what the hashes among the wanted parts take.
pub(super) async fn fetch_ancestors(
    context: &Context,
    (reading, reader): (&Reading, &StateReader),
    wants: &[Want],
) -> Result<(), ForkError> {
    let lowest = wants.iter().filter_map(|want| match want {
        Want::BlockHash(number) => Some(*number),
        _ => None,
    });
    let Some(lowest) = lowest.min() else { return Ok(()) };
    let Some((highest, mut expected)) = context.known.next_ancestor() else { return Ok(()) };
    let count = highest.saturating_sub(lowest);
    if count > MAX_HEADERS {
        let (count, max) = (usize::try_from(count).unwrap_or(usize::MAX), 256);
        return Err(ForkError::TooMany { count, max });
    }
    let numbers: Vec<u64> = (lowest.saturating_add(1)..=highest).rev().collect();
    let call = |number: &u64| Call::new(METHOD, json!([format!("{number:#x}"), false]));
    let answers = reader.source.batch(&numbers.iter().map(call).collect::<Vec<_>>()).await;
    let mut facts = Vec::with_capacity(numbers.len());
    for (number, answer) in numbers.into_iter().zip(answers) {
        let header = ancestor(context, number, &answer?)?;
        if header.hash != expected {
            return Err(other_block(reader, number, &header, expected));
        }
        expected = header.header.parent_hash;
        facts.push(Fact::Ancestor { number, parent: expected, json: header.header_json().into() });
    }
    context.keep(reading, facts).await
}

/// Reads a header whose hash is that of its fields, as far as headers of this chain are known.
fn ancestor(context: &Context, number: u64, answer: &Answer) -> Result<Pin, ForkError> {
    let url = answer.url.to_string();
    if answer.result.is_null() {
        return Err(ForkError::NoBlock { url, block: number.to_string() });
    }
    let header = Pin::from_json(context.pin.chain_id, &answer.result);
    let header = header.map_err(|fault| ForkError::Form { url, method: METHOD, fault })?;
    let is_known = header.is_verified() || !context.pin.is_verified();
    match is_known && header.header.number == number {
        true => Ok(header),
        false => Err(ForkError::Contradiction(Box::new(Contradiction {
            url: answer.url.to_string(),
            method: METHOD,
            part: format!("block {number}"),
            field: "hash",
            claimed: header.hash.to_string(),
            proven: "another one by its fields".to_owned(),
        }))),
    }
}

fn other_block(
    reader: &StateReader,
    number: u64,
    found: &Pin,
    expected: alloy_primitives::B256,
) -> ForkError {
    let url = reader.source.url().to_owned();
    ForkError::Reorganized { url, number, expected, found: found.hash.to_string() }
}
