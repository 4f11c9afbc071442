//! The locks of this workspace; clippy bans all others.
//!
//! Waits for a contended lock are reported to a hook, for profiles. A free lock costs as much as the plain lock.

#![expect(clippy::disallowed_types, reason = "this is the module that wraps them")]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use parking_lot::{Condvar, MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Called with the lock's name and the time that the calling thread waited for it. The thread then holds the lock, so
/// a hook must not take a named lock itself.
pub type ContentionHook = fn(&'static str, Duration);

static HOOK: OnceLock<ContentionHook> = OnceLock::new();

/// Sets the hook of this process; only the first one counts. Returns whether it was the first.
pub fn set_contention_hook(hook: ContentionHook) -> bool {
    HOOK.set(hook).is_ok()
}

fn wait<G>(name: &'static str, lock: impl FnOnce() -> G) -> G {
    let Some(hook) = HOOK.get() else { return lock() };
    let start = Instant::now();
    let guard = lock();
    hook(name, start.elapsed());
    guard
}

/// A mutual exclusion lock without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    name: &'static str,
    inner: parking_lot::Mutex<T>,
}

impl<T> Mutex<T> {
    /// A lock without a name.
    pub const fn new(value: T) -> Self {
        Self::new_named("", value)
    }

    /// A lock whose waits are reported under `name`.
    pub const fn new_named(name: &'static str, value: T) -> Self {
        Self { name, inner: parking_lot::Mutex::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.inner.try_lock().unwrap_or_else(|| wait(self.name, || self.inner.lock()))
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.inner.try_lock()
    }

    /// The value of a lock that nobody else holds.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}

/// A lock for many readers or one writer, without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized> {
    name: &'static str,
    inner: parking_lot::RwLock<T>,
}

impl<T> RwLock<T> {
    /// A lock without a name.
    pub const fn new(value: T) -> Self {
        Self::new_named("", value)
    }

    /// A lock whose waits are reported under `name`.
    pub const fn new_named(name: &'static str, value: T) -> Self {
        Self { name, inner: parking_lot::RwLock::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits to read.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.inner.try_read().unwrap_or_else(|| wait(self.name, || self.inner.read()))
    }

    /// Waits to write.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.inner.try_write().unwrap_or_else(|| wait(self.name, || self.inner.write()))
    }

    /// Takes the lock to read, if nobody writes.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.inner.try_read()
    }

    /// Takes the lock to write, if nobody else reads or writes.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.inner.try_write()
    }

    /// The value of a lock that nobody else holds.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }
}
