//! The service `ots`.

pub(super) mod code;
mod forms;
mod history;
mod lookup;
mod rows;
