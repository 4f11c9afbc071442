//! The dashboard: a web page about the node, in the binary. It uses public methods only (docs/dashboard.md).
//!
//! `assets` has the page: HTML, CSS and ES modules, without Node and without code of others. The build leaves out comments and
//! indentation, puts the modules together into one script (`build/bundle.rs`), and compresses each file. `esker-http` serves them.

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Path below [`BASE`]: `page.css`, `app.js`.
    pub path: &'static str,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// A quoted text that changes with the content.
    pub etag: &'static str,
    /// Length in bytes.
    pub length: usize,
    /// The content, compressed with gzip.
    pub gzip: &'static [u8],
}

/// All files, by ascending path.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The file that a browser opens. It names the others below [`BASE`].
pub const INDEX: &str = "index.html";

/// The path below which the files are served.
pub const BASE: &str = "/dashboard/";
