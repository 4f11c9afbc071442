//! Any kind of transaction.

use proptest::prelude::*;

pub(super) use esker_testkit::chains::any_tx::{AnyTx, Consumed, Status, What, ids_in};

pub(super) fn what() -> impl Strategy<Value = What> {
    use What::{ExportFromC, ExportFromX, ImportOnC, ImportOnX, Send, Transfer};
    prop::sample::select(vec![Transfer, ExportFromX, ImportOnX, ImportOnC, ExportFromC, Send])
}
