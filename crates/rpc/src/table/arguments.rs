//! The arguments of work that may run several times.

use bytes::Bytes;
use esker_primitives::thread_memory;

use crate::context::CallContext;
use crate::params::{Params, ParamsError};
use crate::work::SMALL_TEXT;

/// Decodes the arguments of a dialect.
pub(super) type Read<P> = fn(Params<'_>) -> Result<P, ParamsError>;

/// Arguments for each run of a job: decoded once, and again from their text if the work runs again. Long ones are first
/// decoded in the run, where what they take is counted.
pub(super) struct Arguments<P> {
    decoded: Option<P>,
    text: Bytes,
    /// Their kind, without their text.
    kind: Params<'static>,
    read: Read<P>,
}

impl<P> Arguments<P> {
    /// # Errors
    /// They do not fit; of long ones that is found out later.
    pub(super) fn new(
        params: Params<'_>,
        context: &CallContext,
        read: Read<P>,
    ) -> Result<Self, ParamsError> {
        let kind: Params<'static> = params.of_text(&[]);
        let is_long = context.client().is_some() && params.text().len() > SMALL_TEXT;
        let decoded = match is_long {
            true => None,
            false => match read(params) {
                Ok(decoded) => (!thread_memory::is_exceeded()).then_some(decoded),
                // Perhaps not, if there is more memory.
                Err(_) if thread_memory::is_exceeded() => None,
                Err(error) => return Err(error),
            },
        };
        Ok(Self { decoded, text: text_of(params, context), kind, read })
    }

    /// The arguments of the first run, unless they are long.
    pub(super) fn decoded(&self) -> Option<&P> {
        self.decoded.as_ref()
    }

    /// The arguments of the next run.
    pub(super) fn take(&mut self) -> Result<P, ParamsError> {
        match self.decoded.take() {
            Some(decoded) => Ok(decoded),
            None => (self.read)(self.kind.of_text(&self.text)),
        }
    }
}

/// The text of arguments: the part of the request that it is, or a copy.
fn text_of(params: Params<'_>, context: &CallContext) -> Bytes {
    let text = params.text();
    let is_part = |request: &&Bytes| {
        let (of_request, of_text) = (request.as_ptr_range(), text.as_ptr_range());
        of_request.start <= of_text.start && of_text.end <= of_request.end
    };
    match context.caller().request.as_ref().filter(is_part) {
        Some(request) if !text.is_empty() => request.slice_ref(text),
        Some(_) | None => Bytes::copy_from_slice(text),
    }
}

#[cfg(test)]
mod tests {
    use esker_go_json::Document;

    use super::*;
    use crate::Caller;

    type List = (Vec<String>,);

    fn read(params: Params<'_>) -> Result<List, ParamsError> {
        crate::args::FromParams::from_params(params)
    }

    fn arguments(request: &Bytes, has_request: bool) -> Arguments<List> {
        let caller = Caller { request: has_request.then(|| request.clone()), ..Caller::default() };
        let params = Params::List(Document::first(&request[3..]).unwrap());
        Arguments::new(params, &CallContext::for_caller(&caller), read).unwrap()
    }

    #[test]
    fn a_job_has_its_arguments_again_and_again() {
        let request = Bytes::from_static(br#"xyz[["a", "b"]] and more"#);
        let wanted = (vec!["a".to_owned(), "b".to_owned()],);
        for has_request in [false, true] {
            let mut arguments = arguments(&request, has_request);
            assert_eq!(arguments.decoded(), Some(&wanted));
            assert_eq!(
                (arguments.take(), arguments.take()),
                (Ok(wanted.clone()), Ok(wanted.clone()))
            );
            assert_eq!(&arguments.text[..], br#"[["a", "b"]]"#);
            let is_shared = arguments.text.as_ptr() == request[3..].as_ptr();
            assert_eq!(is_shared, has_request, "a part of the request is not copied");
        }
    }

    #[test]
    fn arguments_that_take_too_much_are_decoded_later() {
        let request = Bytes::from_static(br#"xyz[["a", "b"]]"#);
        let (mut arguments, is_exceeded) = thread_memory::limited(0, || {
            thread_memory::add(1);
            arguments(&request, false)
        });
        thread_memory::subtract(1);
        assert!(is_exceeded && arguments.decoded().is_none());
        assert_eq!(arguments.take().map(|(list,)| list.len()), Ok(2));
    }
}
