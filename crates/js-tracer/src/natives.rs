//! The native functions that `prelude.js` calls.

use std::rc::Rc;

use alloy_primitives::{Address, B256, U256, hex, keccak256};
use esker_evm_execution::trace::{TraceContext, TraceError, op_name};
use rquickjs::function::IntoJsFunc;
use rquickjs::{
    BigInt, Ctx, Exception, Function, IntoJs, Object, String as JsString, TypedArray, Value,
};

use crate::current::Current;

/// Bytes beyond the end of the memory that `memory.slice` adds, at most.
const MAX_PADDING: i64 = 1024 * 1024;

type Js<T> = rquickjs::Result<T>;

/// The object with all native functions.
pub(crate) fn natives<'js>(ctx: &Ctx<'js>, current: &Rc<Current>) -> Js<Object<'js>> {
    let natives = Natives { ctx, object: Object::new(ctx.clone())? };
    natives.conversions(current)?;
    natives.instruction(current)?;
    natives.memory(current)?;
    natives.contract(current)?;
    natives.state(current)?;
    natives.frame(current)?;
    Ok(natives.object)
}

struct Natives<'c, 'js> {
    ctx: &'c Ctx<'js>,
    object: Object<'js>,
}

impl<'js> Natives<'_, 'js> {
    fn add<P>(&self, name: &str, function: impl IntoJsFunc<'js, P> + 'js) -> Js<()> {
        self.object.set(name, Function::new(self.ctx.clone(), function)?)
    }

    fn conversions(&self, current: &Rc<Current>) -> Js<()> {
        let shared = Rc::clone(current);
        self.add("fail", move |ctx: Ctx<'js>, text: String| -> Js<Value<'js>> {
            Err(fail(&ctx, &shared, text))
        })?;
        self.add("toHex", |bytes: TypedArray<'js, u8>| hex::encode_prefixed(copy(&bytes)))?;
        self.add("fromHex", |ctx: Ctx<'js>, text: String| buffer(&ctx, from_hex(&text)))?;
        self.add("created", |ctx: Ctx<'js>, from: TypedArray<'js, u8>, nonce: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            buffer(&ctx, address(&from).create(nonce as u64).to_vec())
        })?;
        self.add(
            "created2",
            |ctx: Ctx<'js>,
             from: TypedArray<'js, u8>,
             salt: TypedArray<'js, u8>,
             code: TypedArray<'js, u8>| {
                let created = address(&from).create2(word(&salt), keccak256(copy(&code)));
                buffer(&ctx, created.to_vec())
            },
        )?;
        let shared = Rc::clone(current);
        self.add("isPrecompiled", move |bytes: TypedArray<'js, u8>| {
            shared.precompiles.borrow().contains(&address(&bytes))
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of JavaScript is a float")]
    fn instruction(&self, current: &Rc<Current>) -> Js<()> {
        let shared = Rc::clone(current);
        self.add("number", move |place: usize| shared.numbers.get().at(place) as f64)?;
        let shared = Rc::clone(current);
        self.add("error", move || shared.error.borrow().clone())?;
        let shared = Rc::clone(current);
        self.add("opName", move |op: u32| {
            let op = u8::try_from(op).unwrap_or_default();
            let running = shared.step(|step| (step.op == op).then(|| step.op_name().into_owned()));
            running.flatten().unwrap_or_else(|| op_name(op).into_owned())
        })?;
        let shared = Rc::clone(current);
        self.add("peek", move |ctx: Ctx<'js>, place: f64| -> Js<Value<'js>> {
            let size = shared.numbers.get().stack;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let item = (place >= 0.0 && place < size as f64)
                .then(|| shared.step(|step| step.peek(place as usize)).flatten())
                .flatten();
            match item {
                Some(item) => big(&ctx, item),
                None => Err(fail(
                    &ctx,
                    &shared,
                    format!("tracer accessed out of bound stack: size {size}, index {place}"),
                )),
            }
        })
    }

    fn memory(&self, current: &Rc<Current>) -> Js<()> {
        let shared = Rc::clone(current);
        self.add("memory", move |ctx: Ctx<'js>, start: f64, end: f64| -> Js<Value<'js>> {
            match range(&shared, integer(start), integer(end)) {
                Ok(bytes) => buffer(&ctx, bytes),
                Err(text) => Err(fail(&ctx, &shared, text)),
            }
        })?;
        let shared = Rc::clone(current);
        self.add("word", move |ctx: Ctx<'js>, place: f64| -> Js<Value<'js>> {
            let size = shared.numbers.get().memory;
            let found = usize::try_from(integer(place)).ok().and_then(|start| {
                shared.step(|step| {
                    let memory = step.memory();
                    memory.get(start..start.checked_add(32)?).map(U256::from_be_slice)
                })
            });
            match found.flatten() {
                Some(value) => big(&ctx, value),
                None => Err(fail(
                    &ctx,
                    &shared,
                    format!(
                        "tracer accessed out of bound memory: available {size}, offset {place}, size 32"
                    ),
                )),
            }
        })
    }

    fn contract(&self, current: &Rc<Current>) -> Js<()> {
        let shared = Rc::clone(current);
        self.add("contract", move |ctx: Ctx<'js>, what: u32| {
            let bytes = shared.step(|step| match what {
                0 => step.caller().to_vec(),
                1 => step.address().to_vec(),
                _ => step.input().to_vec(),
            });
            buffer(&ctx, bytes.unwrap_or_default())
        })?;
        let shared = Rc::clone(current);
        self.add("contractValue", move |ctx: Ctx<'js>| {
            big(&ctx, shared.step(|step| step.value()).unwrap_or_default())
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of JavaScript is a float")]
    fn state(&self, current: &Rc<Current>) -> Js<()> {
        let shared = Rc::clone(current);
        self.add("balance", move |ctx: Ctx<'js>, of: TypedArray<'js, u8>| {
            big(&ctx, read(&ctx, &shared, |context| context.balance(address(&of)))?)
        })?;
        let shared = Rc::clone(current);
        self.add("nonce", move |ctx: Ctx<'js>, of: TypedArray<'js, u8>| -> Js<f64> {
            Ok(read(&ctx, &shared, |context| context.nonce(address(&of)))? as f64)
        })?;
        let shared = Rc::clone(current);
        self.add("exists", move |ctx: Ctx<'js>, of: TypedArray<'js, u8>| {
            read(&ctx, &shared, |context| context.exists(address(&of)))
        })?;
        let shared = Rc::clone(current);
        self.add("code", move |ctx: Ctx<'js>, of: TypedArray<'js, u8>| {
            let code = read(&ctx, &shared, |context| context.code(address(&of)))?;
            buffer(&ctx, code.to_vec())
        })?;
        let shared = Rc::clone(current);
        self.add(
            "storage",
            move |ctx: Ctx<'js>, of: TypedArray<'js, u8>, key: TypedArray<'js, u8>| {
                let key = U256::from_be_bytes(word(&key).0);
                let value = read(&ctx, &shared, |context| context.storage(address(&of), key))?;
                buffer(&ctx, value.to_be_bytes::<32>().to_vec())
            },
        )
    }

    fn frame(&self, current: &Rc<Current>) -> Js<()> {
        let shared = Rc::clone(current);
        self.add("frameType", move || shared.frame.borrow().kind)?;
        let shared = Rc::clone(current);
        self.add("frameBytes", move |ctx: Ctx<'js>, what: u32| {
            let frame = shared.frame.borrow();
            let bytes = match what {
                0 => frame.from.to_vec(),
                1 => frame.to.to_vec(),
                2 => frame.input.to_vec(),
                _ => frame.output.to_vec(),
            };
            drop(frame);
            buffer(&ctx, bytes)
        })?;
        let shared = Rc::clone(current);
        self.add("frameValue", move |ctx: Ctx<'js>| -> Js<Option<Value<'js>>> {
            let value = shared.frame.borrow().value;
            value.map(|value| big(&ctx, value)).transpose()
        })?;
        let shared = Rc::clone(current);
        self.add("frameError", move || shared.frame.borrow().error.clone())
    }
}

/// Ends the script. The script may catch the exception, but the hook fails with the text anyway.
fn fail(ctx: &Ctx<'_>, current: &Current, text: String) -> rquickjs::Error {
    let error = Exception::throw_message(ctx, &text);
    current.failure.borrow_mut().get_or_insert(text);
    error
}

fn read<T>(
    ctx: &Ctx<'_>,
    current: &Current,
    read: impl FnOnce(&mut TraceContext<'_, '_>) -> Result<T, TraceError>,
) -> Js<T> {
    match current.context(read) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(fail(ctx, current, error.to_string())),
        None => Err(fail(ctx, current, "the state can't be read here".to_owned())),
    }
}

/// A range of the memory, for `memory.slice`.
fn range(current: &Current, start: i64, end: i64) -> Result<Vec<u8>, String> {
    if start == end {
        return Ok(Vec::new());
    }
    if end < start || start < 0 {
        return Err(format!("tracer accessed out of bound memory: offset {start}, end {end}"));
    }
    let size = i64::try_from(current.numbers.get().memory).unwrap_or(i64::MAX);
    let padding = end.saturating_sub(size);
    if padding > MAX_PADDING {
        return Err(format!("reached limit for padding memory slice: {padding}"));
    }
    let (from, to) = (usize::try_from(start), usize::try_from(end));
    let (Ok(from), Ok(to)) = (from, to) else { return Ok(Vec::new()) };
    let mut bytes = current
        .step(|step| {
            let memory = step.memory();
            memory[from.min(memory.len())..to.min(memory.len())].to_vec()
        })
        .unwrap_or_default();
    bytes.resize(to - from, 0);
    Ok(bytes)
}

/// Decodes leading hexadecimal digits. An odd number of digits gets a zero in front.
fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let zero = if digits.len() % 2 == 1 { "0" } else { "" };
    let values = zero.chars().chain(digits.chars()).map(|digit| digit.to_digit(16));
    let digits: Vec<u32> = values.map_while(|digit| digit).collect();
    let byte = |pair: &[u32; 2]| u8::try_from(pair[0] << 4 | pair[1]).unwrap_or_default();
    digits.as_chunks().0.iter().map(byte).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn integer(number: f64) -> i64 {
    number as i64
}

fn copy(array: &TypedArray<'_, u8>) -> Vec<u8> {
    #[expect(unsafe_code, reason = "the engine may move or free the bytes whenever a script runs")]
    // SAFETY: the bytes are copied before anything else touches the engine.
    unsafe { array.as_bytes() }.map(<[u8]>::to_vec).unwrap_or_default()
}

fn address(array: &TypedArray<'_, u8>) -> Address {
    Address::try_from(copy(array).as_slice()).unwrap_or_default()
}

fn word(array: &TypedArray<'_, u8>) -> B256 {
    B256::try_from(copy(array).as_slice()).unwrap_or_default()
}

/// A `Uint8Array`.
pub(crate) fn buffer<'js>(ctx: &Ctx<'js>, bytes: Vec<u8>) -> Js<Value<'js>> {
    // A copy that counts against the engine's memory limit.
    Ok(TypedArray::<u8>::new_copy(ctx.clone(), bytes)?.into_value())
}

/// The argument of the prelude's `big`: a bigint if the number is small, otherwise hexadecimal digits.
pub(crate) fn big<'js>(ctx: &Ctx<'js>, value: U256) -> Js<Value<'js>> {
    match u64::try_from(value) {
        Ok(value) => BigInt::from_u64(ctx.clone(), value)?.into_js(ctx),
        Err(_) => JsString::from_str(ctx.clone(), &format!("{value:x}"))?.into_js(ctx),
    }
}
