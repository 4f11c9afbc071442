//! `4byteTracer`.

use super::{call, code, lab, trace};
use crate::machine::{CODE, Lab};

fn counted(lab: &Lab, to: Option<alloy_primitives::Address>, input: &[u8]) -> String {
    trace(lab, &call(to, input, 0), ("4byteTracer", "null")).unwrap()
}

#[test]
fn calls_are_counted_by_selector_and_length() {
    // Calls inner with 4 + 32, twice 4 + 100 and 3 bytes, identity with 36, then creates with 4 bytes of init code.
    let lab = lab([
        "63aabbccdd60e01b5f52 5f5f60245f5fINNER5af150 5f5f60685f5fINNER5af150 5f5f60685fINNER5afa50 \
         5f5f60035fINNER5af450 5f5f60245f5f60045af150 60045f5ff050",
        "00",
        "",
    ]);
    // The order is that of texts: the longer one comes first.
    let want = r#"{"0x01020304-0":1,"0xaabbccdd-100":2,"0xaabbccdd-32":1}"#;
    assert_eq!(counted(&lab, Some(CODE), &[1, 2, 3, 4]), want);
    let want = r#"{"0xaabbccdd-100":2,"0xaabbccdd-32":1}"#;
    assert_eq!(counted(&lab, Some(CODE), &[1, 2, 3]), want);
}

/// For the transaction itself, everything counts.
#[test]
fn init_code_of_the_transaction_counts() {
    let lab = lab(["", "", ""]);
    assert_eq!(counted(&lab, None, &code("5f5ff300")), r#"{"0x5f5ff300-0":1}"#);
    let identity = alloy_primitives::Address::with_last_byte(4);
    assert_eq!(counted(&lab, Some(identity), &[9; 5]), r#"{"0x09090909-1":1}"#);
    assert_eq!(counted(&lab, Some(identity), &[]), "{}");
}

/// The tracer ignores any configuration.
#[test]
fn any_configuration_will_do() {
    let lab = lab(["00", "", ""]);
    for name in ["4byteTracer", "noopTracer"] {
        for config in ["null", "5", "[]", r#"{"x":1}"#] {
            let traced = trace(&lab, &call(Some(CODE), &[], 0), (name, config));
            assert_eq!(traced.as_deref(), Ok("{}"), "{name} {config}");
        }
    }
}
