//! The service `ots`.

mod code;
mod forms;
mod history;
mod lookup;
mod rows;
