//! Arguments by position.
//!
//! [`FromParams`] makes a tuple of [`Argument`](esker_go_json::args::Argument)s from [`crate::Params::List`]. Errors name
//! the position of the argument that is wrong, missing or one too many.
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

mod list;
mod positional;

pub use list::FromParams;
pub use positional::Positional;
