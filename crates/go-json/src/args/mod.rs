//! Arguments, decoded as a Go server decodes them: it hands each one to the type of a parameter of a Go function, and
//! its error texts show that.
//!
//! Types of a service implement [`Argument`]; a type that is a Go struct in the reference lists its members in
//! [`decode_struct`].

mod argument;
mod error;
mod fields;

pub use argument::Argument;
pub use error::{ArgumentError, FieldPath, check_memory};
pub use fields::{Slot, decode_struct};
