//! The repository itself, as an ordinary test.

#[test]
fn repository_is_tidy() {
    if let Err(breaches) = xtask::tidy::run() {
        panic!("{breaches:#}");
    }
}
