//! Whether numbers have to be in the form of their type.

use std::cell::Cell;

thread_local! {
    static TAKES_ANY: Cell<bool> = const { Cell::new(false) };
}

/// Resets the thread at the end, also after a panic.
struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        TAKES_ANY.set(self.0);
    }
}

/// Decodes arguments whose numbers may be in any form that says which number is meant: the types of a service that have
/// other forms ask [`takes_any_number_form`].
pub fn with_any_number_form<T>(decode: impl FnOnce() -> T) -> T {
    let _before = Before(TAKES_ANY.replace(true));
    decode()
}

/// Whether the arguments that this thread decodes may have numbers in any form.
#[must_use]
pub fn takes_any_number_form() -> bool {
    TAKES_ANY.get()
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn it_holds_while_arguments_are_decoded() {
        assert!(!takes_any_number_form());
        assert!(with_any_number_form(|| with_any_number_form(takes_any_number_form)));
        assert!(with_any_number_form(|| {
            let _inner = with_any_number_form(takes_any_number_form);
            takes_any_number_form()
        }));
        assert!(!takes_any_number_form());
        let crashed = catch_unwind(|| with_any_number_form(|| panic!("a decoder crashes")));
        assert!(crashed.is_err() && !takes_any_number_form());
    }
}
