# Recipes; `just` lists them. A tool that is missing is an error, never a skip.

default:
    @just --list

# The node with the development network.
dev *args:
    cargo run --release -- dev {{args}}

# Every test; gets node and npm where they are missing.
test *args:
    cargo xtask test {{args}}

# Runs chosen tests many times on a busy machine: `just flaky 20 crash:: disk::`.
flaky *args:
    cargo xtask flaky {{args}}

# What must hold before a change is taken.
ci: && spelling licences
    .ci/run

# Formats everything.
fmt:
    cargo fmt --all

# Lints of all targets.
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# Pages that hold tables and answers of the code, written anew.
pages:
    cargo xtask docs

# Documentation of all crates, warnings denied.
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Rules of the repository that no compiler checks.
tidy:
    cargo xtask tidy

# Tests through nextest; those named slow_* left out.
quick:
    cargo nextest run --workspace -E 'not test(/(^|::)slow_/)'

# Packages of a release for npm, Python and Debian, into `dist` (docs/releasing.md has the steps before: binary, list of components).
packages *args:
    cargo build --profile dist --locked --package esker --features validators
    cargo xtask packages --binary {{justfile_directory()}}/target/dist/esker --components {{justfile_directory()}}/bin/esker/esker.cdx.json --out {{justfile_directory()}}/dist {{args}}

# Spelling (needs typos-cli).
spelling:
    typos

# Licences, bans and sources of dependencies (needs cargo-deny).
licences:
    cargo deny check licenses bans sources

# Known vulnerabilities; needs the advisory database from the network.
advisories:
    cargo deny check advisories

# Many runs of four simulated validators: `just bft-seeds 200`.
bft-seeds seeds="1000":
    ESKER_BFT_SEEDS={{seeds}} cargo test -p esker-engine-bft -- --ignored --nocapture slow_validators

# Many runs of four simulated validators with the X-Chain and the C-Chain: `just chain-seeds 200`.
chain-seeds seeds="1000":
    ESKER_BFT_SEEDS={{seeds}} cargo test -p esker-engine-bft -- --ignored --nocapture slow_real_chains

# How fast 1, 4 and 7 validators are, on an idle machine: the table and the plots of docs/performance.md. Needs `ss` of iproute2.
measure-validators:
    cargo build --profile dist --features validators
    MEASURED_NODE={{justfile_directory()}}/target/dist/esker MEASURED_OUT={{justfile_directory()}}/target/validators.json cargo test -p esker-e2e --test it -- --ignored --nocapture slow_how_fast_validators_are
    cargo xtask plots target/validators.json

# Shows which recorded exchanges differ from those in a folder; `just goldens FOLDER --update` copies them.
goldens *args:
    cargo xtask goldens {{args}}
