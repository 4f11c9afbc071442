//! The dashboard: its files on each port, and the page for browsers that open `/`.

use bytes::Bytes;
use esker_dashboard::{BASE, FILES, File, INDEX};
use esker_http::{BrowserPage, RouteError, Routes, StaticFile};

/// Serves the dashboard on the port that has all paths.
pub(super) fn serve(routes: &Routes) -> Result<(), RouteError> {
    let files = FILES.iter().map(|file| (file.path.to_owned(), in_memory(file)));
    routes.page(BASE, files)?;
    match FILES.iter().find(|file| file.path == INDEX) {
        Some(index) => routes.page_at_root(BrowserPage::File(in_memory(index))),
        None => Ok(()),
    }
}

/// Sends browsers that open the port of the C-Chain to the port with the dashboard.
pub(super) fn refer(routes: &Routes, port: u16) -> Result<(), RouteError> {
    routes.page_at_root(BrowserPage::OtherPort(port))
}

fn in_memory(file: &File) -> StaticFile {
    let File { content_type, gzip, length, etag, .. } = *file;
    StaticFile { content_type, gzip: Bytes::from_static(gzip), length, etag }
}
