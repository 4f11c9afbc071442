//! Lists of arguments.

use esker_go_json::Document;
use esker_go_json::args::Argument;

use super::Positional;
use crate::discover::Schemas;
use crate::params::{Params, ParamsError};

/// All arguments of a method: `()` for none, otherwise a tuple of [`Argument`]s.
pub trait FromParams: Sized {
    /// Number of arguments.
    const COUNT: usize;

    /// Describes each argument.
    fn describe(schemas: &mut Schemas) -> Vec<Positional>;

    /// Decodes arguments by position, with the error of the first one that is wrong.
    fn from_params(params: Params<'_>) -> Result<Self, ParamsError>;
}

/// Hands out the elements of a list one after the other.
struct Arguments<I> {
    elements: I,
    taken: usize,
}

fn arguments<'a>(
    params: Params<'a>,
) -> Result<Arguments<impl Iterator<Item = Document<'a>>>, ParamsError> {
    let list = match params {
        Params::Absent => None,
        Params::List(list) => Some(list),
        Params::Named(_) => return Err(ParamsError::ExpectedList),
    };
    Ok(Arguments { elements: list.into_iter().flat_map(Document::elements), taken: 0 })
}

impl<'a, I: Iterator<Item = Document<'a>>> Arguments<I> {
    fn next<T: Argument>(&mut self) -> Result<T, ParamsError> {
        let index = self.taken;
        self.taken += 1;
        match self.elements.next() {
            None => T::absent().ok_or(ParamsError::Missing(index)),
            Some(value) => T::decode(value)
                .map_err(|error| ParamsError::Argument { index, text: error.to_string() }),
        }
    }

    fn end(mut self) -> Result<(), ParamsError> {
        if self.elements.next().is_some() { Err(ParamsError::TooMany(self.taken)) } else { Ok(()) }
    }
}

fn positional<T: Argument>(schemas: &mut Schemas) -> Positional {
    Positional { schema: schemas.argument::<T>(), is_required: T::is_required() }
}

impl FromParams for () {
    const COUNT: usize = 0;

    fn describe(_: &mut Schemas) -> Vec<Positional> {
        Vec::new()
    }

    fn from_params(params: Params<'_>) -> Result<Self, ParamsError> {
        arguments(params)?.end()
    }
}

macro_rules! tuples {
    ($($($of:ident)+;)*) => {$(
        impl<$($of: Argument),+> FromParams for ($($of,)+) {
            const COUNT: usize = [$(stringify!($of)),+].len();

            fn describe(schemas: &mut Schemas) -> Vec<Positional> {
                vec![$(positional::<$of>(schemas)),+]
            }

            fn from_params(params: Params<'_>) -> Result<Self, ParamsError> {
                let mut arguments = arguments(params)?;
                let taken = ($(arguments.next::<$of>()?,)+);
                arguments.end()?;
                Ok(taken)
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}
