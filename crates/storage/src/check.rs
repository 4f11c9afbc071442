//! Checks a database file before LMDB maps it. LMDB trusts the mapped file: if a page is missing at its end, the
//! process would be killed.
//!
//! The layout is LMDB's data version 1 on 64-bit machines, in the machine's byte order: two meta pages, of which the
//! one with the later transaction is valid, each with the roots of two trees (free pages, entries).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{StorageError, StorageResult};
use crate::folder::action_error;

const _: () =
    assert!(usize::BITS == 64, "the layout below, and the address space that a store maps");

const MAGIC: u32 = 0xbeef_c0de;
const DATA_VERSION: u32 = 1;
/// Bytes before the content of each page.
const PAGE_HEADER: usize = 16;
/// Bytes before key and data of each node.
const NODE_HEADER: usize = 8;
/// Bytes of a meta page that are used.
const META_LEN: usize = 152;
const MIN_PAGE: usize = 512;
const MAX_PAGE: usize = 64 << 10;
/// Depth limit of LMDB's cursors.
const MAX_DEPTH: u16 = 32;
const NO_PAGE: u64 = u64::MAX;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;
/// Node flag: the node has the number of an overflow page.
const BIG_DATA: u16 = 0x01;

/// How much of a file to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thoroughness {
    /// The meta pages, the roots and the length. Every page, only if the file is shorter than its meta page records;
    /// that is valid if the last pages are free.
    Quick,
    /// Every reachable page.
    Full,
}

/// Refuses a file that could crash LMDB.
pub(crate) fn check_file(path: &Path, thoroughness: Thoroughness) -> StorageResult<()> {
    let file = File::open(path).map_err(|error| action_error("open", path, error))?;
    let len = file.metadata().map_err(|error| action_error("read", path, error))?.len();
    let mut checker = Checker { file, path, len, meta: Meta::default(), seen: 0 };
    checker.meta = checker.latest_meta()?;
    let meta = checker.meta;
    let is_short =
        (meta.last_page + 1).checked_mul(meta.page_size as u64).is_none_or(|end| end > len);
    let everything = is_short || thoroughness == Thoroughness::Full;
    for tree in meta.trees {
        checker.tree(&tree, everything)?;
    }
    Ok(())
}

#[derive(Clone, Copy, Default)]
struct Meta {
    page_size: usize,
    last_page: u64,
    txn: u64,
    trees: [Tree; 2],
}

#[derive(Clone, Copy, Default)]
struct Tree {
    depth: u16,
    entries: u64,
    root: u64,
}

struct Checker<'a> {
    file: File,
    path: &'a Path,
    len: u64,
    meta: Meta,
    /// Tree pages so far. They never exceed the pages of the file, so cyclic references end.
    seen: u64,
}

impl Checker<'_> {
    fn latest_meta(&self) -> StorageResult<Meta> {
        let first = self.meta_at(0)?;
        let second = self.meta_at(first.page_size as u64)?;
        if first.page_size != second.page_size {
            return Err(self.damaged("meta pages differ in page size"));
        }
        Ok(if second.txn > first.txn { second } else { first })
    }

    fn meta_at(&self, offset: u64) -> StorageResult<Meta> {
        let page = self.read(offset, META_LEN)?;
        if u16_at(&page, 10) & META == 0 || u32_at(&page, 16) != MAGIC {
            return Err(self.damaged("no database file, or its first pages are damaged"));
        }
        let version = u32_at(&page, 20);
        if version != DATA_VERSION {
            return Err(self.damaged(&format!("data version {version}, not {DATA_VERSION}")));
        }
        let page_size = u32_at(&page, 40) as usize;
        if !page_size.is_power_of_two() || !(MIN_PAGE..=MAX_PAGE).contains(&page_size) {
            return Err(self.damaged(&format!("page size {page_size}")));
        }
        let trees = [40, 88].map(|at| Tree {
            depth: u16_at(&page, at + 6),
            entries: u64_at(&page, at + 32),
            root: u64_at(&page, at + 40),
        });
        let last_page = u64_at(&page, 136);
        if last_page == NO_PAGE {
            return Err(self.damaged("last page out of range"));
        }
        Ok(Meta { page_size, last_page, txn: u64_at(&page, 144), trees })
    }

    fn tree(&mut self, tree: &Tree, everything: bool) -> StorageResult<()> {
        if tree.root == NO_PAGE {
            return match tree.entries {
                0 => Ok(()),
                _ => Err(self.damaged("tree without a root")),
            };
        }
        if tree.depth == 0 || tree.depth > MAX_DEPTH {
            return Err(self.damaged(&format!("tree of depth {}", tree.depth)));
        }
        if !everything {
            return self.tree_page(tree.root, tree.depth).map(drop);
        }
        let mut entries = 0;
        let mut open = vec![(tree.root, tree.depth)];
        while let Some((number, depth)) = open.pop() {
            let page = self.tree_page(number, depth)?;
            for node in self.nodes(&page, number)? {
                match node {
                    Node::Child(child) => open.push((child, depth - 1)),
                    Node::Entry => entries += 1,
                    Node::BigEntry { page, len } => {
                        self.overflow(page, len)?;
                        entries += 1;
                    }
                }
            }
        }
        if entries != tree.entries {
            let text = format!("{entries} entries where there should be {}", tree.entries);
            return Err(self.damaged(&text));
        }
        Ok(())
    }

    /// Reads a page of a tree; at depth 1 it is a leaf.
    fn tree_page(&mut self, number: u64, depth: u16) -> StorageResult<Vec<u8>> {
        self.seen += 1;
        if self.seen > self.meta.last_page {
            return Err(self.damaged("pages form a circle"));
        }
        let page = self.page(number)?;
        let kind = if depth == 1 { LEAF } else { BRANCH };
        if u16_at(&page, 10) & (BRANCH | LEAF | OVERFLOW | META) != kind {
            return Err(self.damaged(&format!("page {number} is of the wrong kind")));
        }
        Ok(page)
    }

    fn nodes(&self, page: &[u8], number: u64) -> StorageResult<Vec<Node>> {
        let wrong = || self.damaged(&format!("page {number} has a wrong node"));
        let (lower, upper) = (usize::from(u16_at(page, 12)), usize::from(u16_at(page, 14)));
        if lower < PAGE_HEADER || upper < lower || upper > page.len() {
            return Err(self.damaged(&format!("page {number} has wrong bounds")));
        }
        let is_leaf = u16_at(page, 10) & LEAF != 0;
        let mut nodes = Vec::with_capacity((lower - PAGE_HEADER) / 2);
        for at in (PAGE_HEADER..lower).step_by(2) {
            let start = usize::from(u16_at(page, at));
            if start < upper || start + NODE_HEADER > page.len() {
                return Err(wrong());
            }
            let (low, high) = (u16_at(page, start), u16_at(page, start + 2));
            let flags = u16_at(page, start + 4);
            let data = start + NODE_HEADER + usize::from(u16_at(page, start + 6));
            let len = u32::from(low) | u32::from(high) << 16;
            let (node, end) = if !is_leaf {
                (Node::Child(u64::from(len) | u64::from(flags) << 32), data)
            } else if flags & BIG_DATA == 0 {
                (Node::Entry, data.saturating_add(len as usize))
            } else if data + 8 <= page.len() {
                (Node::BigEntry { page: u64_at(page, data), len }, data + 8)
            } else {
                return Err(wrong());
            };
            if end > page.len() {
                return Err(wrong());
            }
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// Reads a value on overflow pages; only the first has a header.
    fn overflow(&self, number: u64, len: u32) -> StorageResult<()> {
        let header = self.page_head(number, PAGE_HEADER)?;
        let needed = (PAGE_HEADER as u64 + u64::from(len)).div_ceil(self.meta.page_size as u64);
        let is_whole =
            u16_at(&header, 10) & OVERFLOW != 0 && u64::from(u32_at(&header, 12)) >= needed;
        let last = number.checked_add(needed - 1).filter(|last| is_whole && self.has_page(*last));
        last.map(drop).ok_or_else(|| self.damaged(&format!("overflow page {number} is wrong")))
    }

    fn page(&self, number: u64) -> StorageResult<Vec<u8>> {
        self.page_head(number, self.meta.page_size)
    }

    /// The first `len` bytes of a page, after checking the page number in its header.
    fn page_head(&self, number: u64, len: usize) -> StorageResult<Vec<u8>> {
        if !self.has_page(number) {
            return Err(self.damaged(&format!("page {number} is missing")));
        }
        let page = self.read(number * self.meta.page_size as u64, len)?;
        if u64_at(&page, 0) != number {
            return Err(self.damaged(&format!(
                "page {number} is corrupt (wrong page number); restore a backup"
            )));
        }
        Ok(page)
    }

    fn has_page(&self, number: u64) -> bool {
        let end = number.checked_add(1).and_then(|n| n.checked_mul(self.meta.page_size as u64));
        number <= self.meta.last_page && end.is_some_and(|end| end <= self.len)
    }

    fn read(&self, offset: u64, len: usize) -> StorageResult<Vec<u8>> {
        let mut bytes = vec![0; len];
        if offset + len as u64 > self.len {
            return Err(self.damaged("file ends too early"));
        }
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| action_error("read", self.path, error))?;
        Ok(bytes)
    }

    fn damaged(&self, what: &str) -> StorageError {
        StorageError::Corrupted(format!("{}: {what}", self.path.display()))
    }
}

enum Node {
    Child(u64),
    Entry,
    BigEntry { page: u64, len: u32 },
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a range of N bytes")
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(array_at(bytes, at))
}
