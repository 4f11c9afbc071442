//! Checks of a block: its header against its parent, its body and its requests against the header.

mod blobs;
mod body;
mod error;
mod fees;
mod header;
mod requests;

pub use body::{BodyError, MAX_BLOCK_SIZE, check_body};
pub use error::HeaderError;
pub use fees::{INITIAL_BASE_FEE, child_base_fee, moved_gas_limit, unchanged_gas_limit};
pub use header::{check_header, check_set_header, check_transition, check_work_header};
pub use requests::{RequestsError, check_requests};
