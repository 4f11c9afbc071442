//! Reading of bytes.

use super::ChangeError;

/// What is left of bytes.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], ChangeError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(ChangeError::Form("cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ChangeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, ChangeError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<usize, ChangeError> {
        self.array().map(|bytes| usize::from(u16::from_be_bytes(bytes)))
    }

    pub(super) fn u64(&mut self) -> Result<u64, ChangeError> {
        self.array().map(u64::from_be_bytes)
    }

    /// Bytes with their length (u32) before them.
    pub(super) fn bytes(&mut self, max: usize) -> Result<&'a [u8], ChangeError> {
        let len = u32::from_be_bytes(self.array()?);
        match usize::try_from(len) {
            Ok(len) if len <= max => self.take(len),
            _ => Err(ChangeError::Form("too long")),
        }
    }

    pub(super) fn end(&self) -> Result<(), ChangeError> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(ChangeError::Form("more bytes than it says")),
        }
    }
}

/// Appends bytes with their length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("documents are bounded");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(bytes);
}
