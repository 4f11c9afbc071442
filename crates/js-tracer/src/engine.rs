//! A script in its engine: compiled, checked, with the functions that hooks call.

use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::function::{Args, This};
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Object, Persistent, Runtime, Value,
};

use crate::current::Current;
use crate::natives::natives;
use crate::result::encode;

/// Memory of a script, bytes. The process has room for this beside that of the EVM (`worker`).
pub(crate) const SCRIPT_MEMORY: usize = 160 << 20;
/// Stack of a script, bytes; the main thread's is 8 MiB.
const SCRIPT_STACK: usize = 1 << 20;
/// Longest error text that is returned, bytes.
const MAX_TEXT: usize = 16 << 10;

const PRELUDE: &str = include_str!("prelude.js");

/// A hook of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    Step,
    Fault,
    Enter,
    Exit,
}

impl Hook {
    const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Fault => "fault",
            Self::Enter => "enter",
            Self::Exit => "exit",
        }
    }
}

type Fun = Persistent<Function<'static>>;
type Obj = Persistent<Object<'static>>;

/// A script that is ready to watch a transaction.
pub(crate) struct Engine {
    // Dropped before the context that owns them.
    parts: Parts,
    context: Context,
    pub(crate) current: Rc<Current>,
}

struct Parts {
    script: Obj,
    log: Obj,
    db: Obj,
    frame: Obj,
    frame_result: Obj,
    big: Fun,
    describe: Fun,
    result: Fun,
    fault: Fun,
    step: Option<Fun>,
    enter: Option<Fun>,
    exit: Option<Fun>,
}

impl Engine {
    /// Compiles a script. The error is the reply's text.
    pub(crate) fn new(source: &str, config: &str) -> Result<Self, String> {
        let broken = |error: rquickjs::Error| error.to_string();
        let current = Rc::new(Current::default());
        let runtime = Runtime::new().map_err(broken)?;
        runtime.set_memory_limit(SCRIPT_MEMORY);
        runtime.set_max_stack_size(SCRIPT_STACK);
        let stop = Rc::clone(&current);
        // A failed script ends here even if it has caught the exception.
        runtime.set_interrupt_handler(Some(Box::new(move || stop.failure.borrow().is_some())));
        let context = Context::full(&runtime).map_err(broken)?;
        let parts = context.with(|ctx| Parts::new(&ctx, &current, source, config))?;
        Ok(Self { parts, context, current })
    }

    pub(crate) fn has_steps(&self) -> bool {
        self.parts.step.is_some()
    }

    pub(crate) fn has_frames(&self) -> bool {
        self.parts.enter.is_some()
    }

    /// Calls a hook, if the script has it.
    pub(crate) fn call(&self, hook: Hook) -> Result<(), String> {
        let parts = &self.parts;
        let function = match hook {
            Hook::Step => parts.step.as_ref(),
            Hook::Fault => Some(&parts.fault),
            Hook::Enter => parts.enter.as_ref(),
            Hook::Exit => parts.exit.as_ref(),
        };
        let Some(function) = function else { return Ok(()) };
        self.context.with(|ctx| {
            let called = (|| -> rquickjs::Result<Value<'_>> {
                let mut args = Args::new(ctx.clone(), 2);
                args.this(parts.script.clone().restore(&ctx)?)?;
                match hook {
                    Hook::Step | Hook::Fault => {
                        args.push_arg(parts.log.clone().restore(&ctx)?)?;
                        args.push_arg(parts.db.clone().restore(&ctx)?)?;
                    }
                    Hook::Enter => args.push_arg(parts.frame.clone().restore(&ctx)?)?,
                    Hook::Exit => args.push_arg(parts.frame_result.clone().restore(&ctx)?)?,
                }
                args.apply(&function.clone().restore(&ctx)?)
            })();
            self.ended(&ctx, called).map(|_| ()).map_err(|text| in_function(&text, hook.name()))
        })
    }

    /// Calls `result` with the context object that `fill` fills, and encodes the returned value.
    pub(crate) fn result(
        &self,
        fill: impl for<'js> FnOnce(&Ctx<'js>, &Object<'js>, &Function<'js>) -> rquickjs::Result<()>,
    ) -> Result<String, String> {
        let parts = &self.parts;
        self.context.with(|ctx| {
            let called = (|| -> rquickjs::Result<Value<'_>> {
                let given = Object::new(ctx.clone())?;
                fill(&ctx, &given, &parts.big.clone().restore(&ctx)?)?;
                let script = parts.script.clone().restore(&ctx)?;
                let db = parts.db.clone().restore(&ctx)?;
                parts.result.clone().restore(&ctx)?.call((This(script), given, db))
            })();
            let value = self.ended(&ctx, called).map_err(|text| in_function(&text, "result"))?;
            match encode(&ctx, value) {
                Ok(json) => Ok(json),
                Err(None) => {
                    let text = self.ended(&ctx, Err(rquickjs::Error::Exception)).err();
                    let text = text.unwrap_or_default();
                    Err(format!("json: error calling MarshalJSON for type *goja.Object: {text}"))
                }
                Err(Some(text)) => Err(text),
            }
        })
    }

    /// The outcome of a call: its value, or an error text.
    fn ended<'js>(
        &self,
        ctx: &Ctx<'js>,
        called: rquickjs::Result<Value<'js>>,
    ) -> Result<Value<'js>, String> {
        let caught = called.catch(ctx);
        if let Some(text) = self.current.failure.borrow().clone() {
            return Err(text);
        }
        caught.map_err(|caught| describe(ctx, &self.parts.describe, caught))
    }
}

impl Parts {
    fn new(
        ctx: &Ctx<'_>,
        current: &Rc<Current>,
        source: &str,
        config: &str,
    ) -> Result<Self, String> {
        let broken = |error: rquickjs::Error| error.to_string();
        let prelude: Function<'_> = ctx.eval(PRELUDE).map_err(broken)?;
        let natives = natives(ctx, current).map_err(broken)?;
        let given: Object<'_> = prelude.call((natives,)).map_err(broken)?;
        let object = |name: &str| -> rquickjs::Result<Obj> {
            Ok(Persistent::save(ctx, given.get::<_, Object<'_>>(name)?))
        };
        let function = |name: &str| -> rquickjs::Result<Fun> {
            Ok(Persistent::save(ctx, given.get::<_, Function<'_>>(name)?))
        };
        let describer = function("describe").map_err(broken)?;
        let mut options = EvalOptions::default();
        options.strict = false;
        options.backtrace_barrier = true;
        let value = ctx.eval_with_options(format!("({source})"), options);
        let value = value.and_then(|value: Value<'_>| {
            given.get::<_, Function<'_>>("toObject")?.call::<_, Value<'_>>((value,))
        });
        let value = value.catch(ctx).map_err(|caught| describe(ctx, &describer, caught))?;
        let Some(script) = value.as_object() else { return Err("not an object".to_owned()) };
        let member = |name: &str| -> Result<Option<Function<'_>>, String> {
            let value: rquickjs::Result<Value<'_>> = script.get(name);
            let value = value.catch(ctx).map_err(|caught| describe(ctx, &describer, caught))?;
            Ok(value.into_function())
        };
        let needed = |name: &str| {
            member(name)?.ok_or_else(|| format!("trace object must expose a function {name}()"))
        };
        let (result, fault) = (needed("result")?, needed("fault")?);
        let step = member("step")?;
        let (enter, exit) = (member("enter")?, member("exit")?);
        if enter.is_some() != exit.is_some() {
            let text = "trace object must expose either both or none of enter() and exit()";
            return Err(text.to_owned());
        }
        if let Some(setup) = member("setup")? {
            let called: rquickjs::Result<Value<'_>> = setup.call((This(script.clone()), config));
            let caught = called.catch(ctx);
            if let Some(text) = current.failure.borrow().clone() {
                return Err(text);
            }
            caught.map_err(|caught| describe(ctx, &describer, caught))?;
        }
        let save = |function| Persistent::save(ctx, function);
        Ok(Self {
            script: Persistent::save(ctx, script.clone()),
            log: object("log").map_err(broken)?,
            db: object("db").map_err(broken)?,
            frame: object("frame").map_err(broken)?,
            frame_result: object("frameResult").map_err(broken)?,
            big: function("big").map_err(broken)?,
            describe: describer.clone(),
            result: save(result),
            fault: save(fault),
            step: step.map(save),
            enter: enter.map(save),
            exit: exit.map(save),
        })
    }
}

fn in_function(text: &str, name: &str) -> String {
    format!("{text}    in server-side tracer function '{name}'")
}

/// The text of an exception, as a script would see it.
fn describe<'js>(ctx: &Ctx<'js>, describer: &Fun, caught: CaughtError<'js>) -> String {
    let value = match caught {
        CaughtError::Error(error) => return error.to_string(),
        CaughtError::Exception(exception) => exception.into_value(),
        CaughtError::Value(value) => value,
    };
    // The engine also throws this if it has no memory left for an error.
    if value.is_null() {
        return "null was thrown, or there is no memory for an error".to_owned();
    }
    let text = describer.clone().restore(ctx).and_then(|describe| describe.call((value,)));
    let mut text: String = text.unwrap_or_else(|_| "out of memory".to_owned());
    let mut most = MAX_TEXT.min(text.len());
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    text.truncate(most);
    text
}
