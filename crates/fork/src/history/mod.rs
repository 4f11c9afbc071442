//! Blocks' transactions and receipts as JSON-RPC has them, checked by the roots in the header.

mod receipts;
mod root;
mod transactions;

pub use receipts::check_receipts;
pub use root::BodyFault;
pub use transactions::check_transactions;
