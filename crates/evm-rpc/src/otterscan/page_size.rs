//! The number of transactions of a page.

use esker_rpc::RpcError;

use crate::wire::HexOrDecimal;

/// Most transactions that a page may be asked for. Otterscan asks for 25.
pub(super) const MAX_PAGE_SIZE: u64 = 100;

/// The size of a page, from 1 to [`MAX_PAGE_SIZE`].
pub(super) fn page_size(HexOrDecimal(size): HexOrDecimal) -> Result<usize, RpcError> {
    let text = match size {
        0 => format!("page size 0: ask for 1 to {MAX_PAGE_SIZE} transactions"),
        1..=MAX_PAGE_SIZE => return Ok(size as usize),
        _ => format!("max allowed page size: {MAX_PAGE_SIZE}"),
    };
    Err(RpcError::with_code(RpcError::INVALID_PARAMS, text))
}
