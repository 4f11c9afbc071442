//! Stacks of the calling thread, and the names of their functions.

use std::collections::BTreeMap;
use std::ffi::c_void;

/// Most frames of a stack that are kept, from the innermost on.
pub(crate) const MAX_FRAMES: usize = 64;

/// Most functions at the top of a stack that belong to taking it.
const MAX_INNER: usize = 16;

/// Return addresses, the innermost first.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    frames: [usize; MAX_FRAMES],
    len: usize,
}

impl Stack {
    /// The stack of the calling thread. Allocates nothing.
    #[inline(never)]
    pub(crate) fn capture() -> Self {
        let mut stack = Self { frames: [0; MAX_FRAMES], len: 0 };
        let note = |frame: &backtrace::Frame| {
            stack.frames[stack.len] = frame.ip() as usize;
            stack.len += 1;
            stack.len < MAX_FRAMES
        };
        #[expect(unsafe_code, reason = "the other form takes a lock that a profile must not take")]
        // SAFETY: on systems whose unwinder is safe for threads, as all that we build for have it, walking a stack
        // needs no lock; nothing is resolved to names.
        unsafe {
            backtrace::trace_unsynchronized(note);
        }
        stack
    }

    pub(crate) fn frames(&self) -> &[usize] {
        &self.frames[..self.len]
    }
}

/// A function, as a profile shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// Names of the functions at return addresses; each is resolved once.
#[derive(Debug, Default)]
pub(crate) struct FunctionNames(BTreeMap<usize, Vec<Function>>);

impl FunctionNames {
    /// The functions at a return address, the innermost inlined one first.
    pub(crate) fn at(&mut self, address: usize) -> &[Function] {
        self.0.entry(address).or_insert_with(|| resolve(address))
    }

    /// The functions of a stack, without those of this crate that took it.
    pub(crate) fn of_stack(&mut self, stack: &[usize]) -> Vec<Function> {
        self.without(stack, &["esker_profiling::", "backtrace::backtrace::"])
    }

    /// [`FunctionNames::of_stack`] of a thread that waited for a lock, without the functions of the lock.
    pub(crate) fn of_waiter(&mut self, stack: &[usize]) -> Vec<Function> {
        self.without(
            stack,
            &["esker_profiling::", "backtrace::backtrace::", "esker_primitives::sync::"],
        )
    }

    /// The functions outside the outermost one whose name contains one of these.
    fn without(&mut self, stack: &[usize], inner: &[&str]) -> Vec<Function> {
        let all: Vec<Function> =
            stack.iter().flat_map(|address| self.at(*address).to_vec()).collect();
        let ours = |function: &Function| inner.iter().any(|part| function.name.contains(part));
        // Frames further out may have these names in the types of other functions.
        let near = all.len().min(MAX_INNER);
        let begin = all[..near].iter().rposition(ours).map_or(0, |last| last + 1);
        let rest = &all[begin..];
        if rest.is_empty() { all } else { rest.to_vec() }
    }
}

fn resolve(address: usize) -> Vec<Function> {
    let mut functions = Vec::new();
    // The call is before the address to which it returns.
    backtrace::resolve(address.saturating_sub(1) as *mut c_void, |symbol| {
        let name = symbol.name().map(|name| format!("{name:#}"));
        let file = symbol.filename().map(|file| file.to_string_lossy().into_owned());
        functions.push(Function {
            name: name.unwrap_or_else(|| format!("{address:#x}")),
            file: file.unwrap_or_default(),
            line: symbol.lineno().unwrap_or_default(),
        });
    });
    if functions.is_empty() {
        functions.push(Function { name: format!("{address:#x}"), file: String::new(), line: 0 });
    }
    functions
}
