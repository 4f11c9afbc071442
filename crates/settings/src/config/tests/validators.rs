//! Settings that only validators have.

use expect_test::expect;

use super::*;

#[test]
fn settings_of_validators_need_a_key() {
    check_error(
        &Given { flags: &[("validator-listen", "0.0.0.0:9651")], ..NOTHING },
        expect!["--validator-listen: validator-listen: only with validator-key"],
    );
    check_error(
        &Given { flags: &[("validator-key-is-new", "true")], ..NOTHING },
        expect!["--validator-key-is-new: validator-key-is-new: only with validator-key"],
    );
    check_error(
        &Given { flags: &[("validator-changes", "changes")], ..NOTHING },
        expect!["--validator-changes: validator-changes: only with validator-key or peer-key"],
    );
}
