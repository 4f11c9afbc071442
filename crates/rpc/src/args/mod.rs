//! Arguments by position, decoded as a Go server decodes them: the reference's dialect hands each one to
//! the parameter type of a Go function, and its error texts show that.
//!
//! [`FromParams`] makes a tuple of [`Argument`]s from [`crate::Params::List`]. Errors name the position of the
//! argument that is wrong, missing or one too many. Types of a service implement [`Argument`]; a type that is a
//! Go struct in the reference lists its members in [`decode_struct`].
//!
//! ```
//! use esker_go_json::Document;
//! use esker_rpc::{Params, args::FromParams};
//!
//! let list = Document::first(br#"["a", null]"#)?;
//! let (text, flag): (String, Option<bool>) = FromParams::from_params(Params::List(list)).unwrap();
//! assert_eq!((text.as_str(), flag), ("a", None));
//!
//! let list = Document::first(br#"["a", 5]"#)?;
//! let error = <(String, Option<bool>)>::from_params(Params::List(list)).unwrap_err();
//! let text = "invalid argument 1: json: cannot unmarshal number into Go value of type bool";
//! assert_eq!(error.to_string(), text);
//! # Ok::<(), esker_go_json::SyntaxError>(())
//! ```

mod argument;
mod error;
mod fields;
mod list;

pub use argument::Argument;
pub use error::{ArgumentError, FieldPath, check_memory};
pub use fields::{Slot, decode_struct};
pub use list::FromParams;
