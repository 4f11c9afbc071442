// The names that scripts can use: big integers, conversions, and the objects that hooks are given. Only this file
// sees `native`. Scripts may break all of it for themselves; the next transaction begins with a fresh one.
(function (native) {
  'use strict';
  const Bytes = Uint8Array;
  const Big = BigInt;
  const isArray = Array.isArray;

  // Big integers with the methods of the library that the reference's scripts use, over the engine's own.

  function BigInteger(value) {
    this.value = value;
  }

  const wrap = (value) => new BigInteger(value);
  const small = [];
  for (let at = -999; at < 1000; at++) small.push(wrap(Big(at)));

  function parseDecimal(text) {
    const number = +text;
    if (Number.isSafeInteger(number)) return Big(number);
    let rest = text;
    const isNegative = rest[0] === '-';
    if (isNegative) rest = rest.slice(1);
    const parts = rest.split(/e/i);
    if (parts.length > 2) throw new Error('Invalid integer: ' + parts.join('e'));
    if (parts.length === 2) {
      let exponent = parts[1][0] === '+' ? parts[1].slice(1) : parts[1];
      exponent = +exponent;
      if (!Number.isSafeInteger(exponent)) {
        throw new Error('Invalid integer: ' + exponent + ' is not a valid exponent.');
      }
      let digits = parts[0];
      const point = digits.indexOf('.');
      if (point >= 0) {
        exponent -= digits.length - point - 1;
        digits = digits.slice(0, point) + digits.slice(point + 1);
      }
      if (exponent < 0) throw new Error('Cannot include negative exponent part for integers');
      rest = digits + '0'.repeat(exponent);
    }
    if (!/^[0-9]+$/.test(rest)) throw new Error('Invalid integer: ' + text);
    const value = Big(rest);
    return isNegative ? -value : value;
  }

  function valueOf(v) {
    if (v instanceof BigInteger) return v.value;
    switch (typeof v) {
      case 'bigint':
        return v;
      case 'number':
        if (Number.isSafeInteger(v)) return Big(v);
        if (v !== Math.trunc(v) || !Number.isFinite(v)) throw new Error(v + ' is not an integer.');
        return parseDecimal(String(v));
      default:
        return parseDecimal(String(v));
    }
  }

  const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';

  function parseBase(text, radix, alphabet, isCaseSensitive) {
    let rest = String(text);
    let digits = alphabet || DIGITS;
    if (!isCaseSensitive) {
      rest = rest.toLowerCase();
      digits = digits.toLowerCase();
    }
    const base = valueOf(radix);
    const isNegative = rest[0] === '-';
    if (isNegative) rest = rest.slice(1);
    if (base === 16n && !alphabet && /^[0-9a-f]+$/.test(rest)) {
      const value = Big('0x' + rest);
      return isNegative ? -value : value;
    }
    const size = base < 0n ? -base : base;
    let value = 0n;
    for (let at = 0; at < rest.length; at++) {
      let digit = digits.indexOf(rest[at]);
      if (digit >= 0 && (Big(digit) < size || (size === 1n && digit <= 1))) {
        digit = Big(digit);
      } else if (rest[at] === '<') {
        const end = rest.indexOf('>', at);
        digit = parseDecimal(rest.slice(at + 1, end));
        at = end;
      } else {
        throw new Error(rest[at] + ' is not a valid digit in base ' + radix + '.');
      }
      value = value * base + digit;
    }
    return isNegative ? -value : value;
  }

  function bigInt(v, radix, alphabet, isCaseSensitive) {
    if (typeof v === 'undefined') return wrap(0n);
    if (typeof radix !== 'undefined' && (+radix !== 10 || alphabet)) {
      return wrap(parseBase(v, radix, alphabet, isCaseSensitive));
    }
    return v instanceof BigInteger ? v : wrap(valueOf(v));
  }

  const abs = (value) => (value < 0n ? -value : value);
  const compare = (a, b) => (a === b ? 0 : a > b ? 1 : -1);

  function gcd(a, b) {
    a = abs(a);
    b = abs(b);
    while (b) [a, b] = [b, a % b];
    return a;
  }

  function divisor(value) {
    if (value === 0n) throw new Error('Cannot divide by zero');
    return value;
  }

  function power(base, exponent) {
    if (exponent === 0n) return 1n;
    if (base === 0n || base === 1n) return base;
    if (base === -1n) return exponent & 1n ? -1n : 1n;
    if (exponent < 0n) return 0n;
    return base ** exponent;
  }

  function powerModulo(base, exponent, modulus) {
    if (modulus === 0n) throw new Error('Cannot take modPow with modulus 0');
    if (exponent < 0n) {
      exponent = -exponent;
      base = inverse(base, modulus);
    }
    let result = 1n;
    base %= modulus;
    while (exponent > 0n) {
      if (base === 0n) return 0n;
      if (exponent & 1n) result = (result * base) % modulus;
      exponent >>= 1n;
      base = (base * base) % modulus;
    }
    return result;
  }

  function inverse(value, modulus) {
    let [t, next, r, rest] = [0n, 1n, modulus, abs(value)];
    while (rest !== 0n) {
      const quotient = r / rest;
      [t, next] = [next, t - quotient * next];
      [r, rest] = [rest, r - quotient * rest];
    }
    if (r !== 1n && r !== -1n) {
      throw new Error(value + ' and ' + modulus + ' are not co-prime');
    }
    if (compare(t, 0n) === -1) t += modulus;
    return value < 0n ? -t : t;
  }

  function isPrime(value) {
    const n = abs(value);
    if (n < 2n) return false;
    for (const p of [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n]) {
      if (n === p) return true;
      if (n % p === 0n) return false;
    }
    let odd = n - 1n;
    let twos = 0;
    while (!(odd & 1n)) {
      odd >>= 1n;
      twos++;
    }
    for (const a of [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n]) {
      let x = powerModulo(a, odd, n);
      if (x === 1n || x === n - 1n) continue;
      let isWitness = true;
      for (let at = 1; at < twos && isWitness; at++) {
        x = (x * x) % n;
        isWitness = x !== n - 1n;
      }
      if (isWitness) return false;
    }
    return true;
  }

  function shift(value, by) {
    const bits = Number(by);
    if (!Number.isSafeInteger(bits)) throw new Error(String(by) + ' is too large for shifting.');
    return bits >= 0 ? value << Big(bits) : value >> Big(-bits);
  }

  function digitsOf(value, base) {
    if (base === 0n) {
      if (value === 0n) return { value: [0], isNegative: false };
      throw new Error('Cannot convert nonzero numbers to base 0.');
    }
    if (value === 0n) return { value: [0], isNegative: false };
    const isNegative = value < 0n && base > 0n;
    let rest = isNegative ? -value : value;
    if (base === 1n) return { value: new Array(Number(rest)).fill(1), isNegative };
    if (base === -1n) throw new Error('base -1 is not supported');
    const digits = [];
    while (rest !== 0n) {
      let digit = rest % base;
      rest /= base;
      if (digit < 0n) {
        digit -= base;
        rest += 1n;
      }
      digits.push(Number(digit));
    }
    return { value: digits.reverse(), isNegative };
  }

  const methods = {
    add: (a, b) => a + b,
    subtract: (a, b) => a - b,
    multiply: (a, b) => a * b,
    divide: (a, b) => a / divisor(b),
    mod: (a, b) => a % divisor(b),
    pow: power,
    modInv: inverse,
    and: (a, b) => a & b,
    or: (a, b) => a | b,
    xor: (a, b) => a ^ b,
  };
  const aliases = {
    plus: 'add', minus: 'subtract', times: 'multiply', over: 'divide', remainder: 'mod',
    compareTo: 'compare', eq: 'equals', neq: 'notEquals', gt: 'greater', lt: 'lesser',
    geq: 'greaterOrEquals', leq: 'lesserOrEquals',
  };
  const tests = {
    equals: (sign) => sign === 0,
    notEquals: (sign) => sign !== 0,
    greater: (sign) => sign > 0,
    lesser: (sign) => sign < 0,
    greaterOrEquals: (sign) => sign >= 0,
    lesserOrEquals: (sign) => sign <= 0,
  };
  const prototype = {
    compare(v) {
      if (v === Infinity) return -1;
      if (v === -Infinity) return 1;
      return compare(this.value, valueOf(v));
    },
    compareAbs(v) {
      if (v === Infinity) return -1;
      return compare(abs(this.value), abs(valueOf(v)));
    },
    modPow(e, m) { return wrap(powerModulo(this.value, valueOf(e), valueOf(m))); },
    divmod(v) {
      const by = divisor(valueOf(v));
      return { quotient: wrap(this.value / by), remainder: wrap(this.value % by) };
    },
    square() { return wrap(this.value * this.value); },
    abs() { return wrap(abs(this.value)); },
    negate() { return wrap(-this.value); },
    next() { return wrap(this.value + 1n); },
    prev() { return wrap(this.value - 1n); },
    not() { return wrap(~this.value); },
    shiftLeft(n) { return wrap(shift(this.value, valueOf(n))); },
    shiftRight(n) { return wrap(shift(this.value, -valueOf(n))); },
    bitLength() {
      const value = this.value < 0n ? -this.value - 1n : this.value;
      return wrap(value === 0n ? 0n : Big(value.toString(2).length));
    },
    isEven() { return !(this.value & 1n); },
    isOdd() { return !!(this.value & 1n); },
    isPositive() { return this.value > 0n; },
    isNegative() { return this.value < 0n; },
    isUnit() { return abs(this.value) === 1n; },
    isZero() { return this.value === 0n; },
    isDivisibleBy(v) {
      const by = valueOf(v);
      return by !== 0n && this.value % by === 0n;
    },
    isPrime() { return isPrime(this.value); },
    isProbablePrime() { return isPrime(this.value); },
    toArray(radix) { return digitsOf(this.value, valueOf(radix)); },
    toJSNumber() { return Number(this.value); },
    valueOf() { return Number(this.value); },
    toString(radix, alphabet) {
      const base = radix === undefined ? 10 : Number(radix);
      if (base === 10 && !alphabet) return this.value.toString();
      if (base >= 2 && base <= 36 && !alphabet) return this.value.toString(base);
      const letters = alphabet || DIGITS;
      const { value, isNegative } = digitsOf(this.value, valueOf(radix));
      const digit = (at) => (at < letters.length ? letters[at] : '<' + at + '>');
      return (isNegative ? '-' : '') + value.map(digit).join('');
    },
    toJSON() { return this.toString(); },
  };
  for (const name of Object.keys(methods)) {
    const method = methods[name];
    prototype[name] = function (v) { return wrap(method(this.value, valueOf(v))); };
  }
  for (const name of Object.keys(tests)) {
    const test = tests[name];
    prototype[name] = function (v) { return test(this.compare(v)); };
  }
  for (const name of Object.keys(aliases)) prototype[name] = prototype[aliases[name]];
  for (const name of Object.keys(prototype)) {
    const value = prototype[name];
    Object.defineProperty(BigInteger.prototype, name, { value, writable: true, configurable: true });
  }

  const extreme = (sign) => (a, b) => {
    [a, b] = [bigInt(a), bigInt(b)];
    return compare(a.value, b.value) === sign ? a : b;
  };
  bigInt.zero = wrap(0n);
  bigInt.one = wrap(1n);
  bigInt.minusOne = wrap(-1n);
  bigInt.max = extreme(1);
  bigInt.min = extreme(-1);
  bigInt.gcd = (a, b) => wrap(gcd(valueOf(a), valueOf(b)));
  bigInt.lcm = (a, b) => {
    [a, b] = [abs(valueOf(a)), abs(valueOf(b))];
    return wrap((a / gcd(a, b)) * b);
  };
  bigInt.isInstance = (v) => v instanceof BigInteger;
  bigInt.randBetween = (a, b, random) => {
    [a, b] = [valueOf(a), valueOf(b)];
    const [low, high] = a < b ? [a, b] : [b, a];
    const range = high - low + 1n;
    const next = random || Math.random;
    let value = 0n;
    for (let size = 1n; size < range << 32n; size <<= 32n) {
      value = (value << 32n) + Big(Math.floor(next() * 4294967296));
    }
    return wrap(low + (value % range));
  };
  bigInt.fromArray = (digits, radix, isNegative) => {
    const base = radix === undefined ? 10n : valueOf(radix);
    let value = 0n;
    for (let at = 0; at < digits.length; at++) value = value * base + valueOf(digits[at]);
    return wrap(isNegative ? -value : value);
  };
  for (let at = -999; at < 1000; at++) bigInt[at] = small[at + 999];

  // A number that comes from outside: a bigint, or the hexadecimal digits of one.
  const big = (value) => wrap(typeof value === 'string' ? Big('0x' + value) : value);

  // Conversions.

  // A whole number, as the reference's engine makes one of an argument.
  const whole = (v) => Math.trunc(Number(v)) || 0;

  const invalid = () => native.fail('invalid buffer type');

  function buffer(v, takesText) {
    if (v === null || v === undefined) {
      throw new TypeError('Cannot convert undefined or null to object');
    }
    if (typeof v === 'string' || v instanceof String) {
      return takesText ? native.fromHex(String(v)) : invalid();
    }
    if (isArray(v)) {
      const bytes = new Bytes(v.length);
      for (let at = 0; at < bytes.length; at++) bytes[at] = whole(v[at]);
      return bytes;
    }
    // All of what lies below a view counts, as in the reference.
    if (typeof v === 'object' && v.constructor === Bytes) return new Bytes(v.buffer);
    return invalid();
  }

  // The last bytes, with zeros before them.
  function lastBytes(bytes, size) {
    const word = new Bytes(size);
    const tail = bytes.length > size ? bytes.subarray(bytes.length - size) : bytes;
    word.set(tail, size - tail.length);
    return word;
  }

  const address = (v, takesText) => lastBytes(buffer(v, takesText), 20);

  const globals = {
    bigInt,
    toHex: (v) => native.toHex(buffer(v, false)),
    toWord: (v) => lastBytes(buffer(v, true), 32),
    toAddress: (v) => address(v, true),
    toContract: (from, nonce) => native.created(address(from, true), whole(nonce)),
    toContract2: (from, salt, code) =>
      native.created2(address(from, true), lastBytes(native.fromHex(String(salt)), 32), buffer(code, true)),
    isPrecompiled: (v) => native.isPrecompiled(address(v, true)),
    slice: (v, start, end) => {
      const bytes = buffer(v, false);
      [start, end] = [whole(start), whole(end)];
      if (start < 0 || start > end || end > bytes.length) {
        native.fail(
          'Tracer accessed out of bound memory: available ' + bytes.length + ', offset ' + start +
            ', size ' + (end - start),
        );
      }
      return bytes.slice(start, end);
    },
  };
  for (const name of Object.keys(globals)) {
    Object.defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true });
  }

  // The objects that hooks are given. `native.number` selects a figure by its place in a list.

  const number = native.number;
  const names = [];
  const log = {
    getPC: () => number(0),
    getGas: () => number(1),
    getCost: () => number(2),
    getDepth: () => number(3),
    getRefund: () => number(4),
    getError: () => native.error(),
    op: {
      toNumber: () => number(5),
      toString: () => {
        const op = number(5);
        return names[op] || (names[op] = native.opName(op));
      },
      isPush: () => number(5) >= 0x5f && number(5) <= 0x7f,
    },
    stack: {
      peek: (at) => big(native.peek(whole(at))),
      length: () => number(6),
    },
    memory: {
      slice: (start, end) => native.memory(whole(start), whole(end)),
      getUint: (at) => big(native.word(whole(at))),
      length: () => number(7),
    },
    contract: {
      getCaller: () => native.contract(0),
      getAddress: () => native.contract(1),
      getValue: () => big(native.contractValue()),
      getInput: () => native.contract(2),
    },
  };
  const db = {
    getBalance: (v) => big(native.balance(address(v, false))),
    getNonce: (v) => native.nonce(address(v, false)),
    getCode: (v) => native.code(address(v, false)),
    getState: (v, key) => native.storage(address(v, false), lastBytes(buffer(key, false), 32)),
    exists: (v) => native.exists(address(v, false)),
  };
  const frame = {
    getType: () => native.frameType(),
    getFrom: () => native.frameBytes(0),
    getTo: () => native.frameBytes(1),
    getInput: () => native.frameBytes(2),
    getGas: () => number(8),
    getValue: () => {
      const value = native.frameValue();
      return value === undefined ? undefined : big(value);
    },
  };
  const frameResult = {
    getGasUsed: () => number(9),
    getOutput: () => native.frameBytes(3),
    getError: () => native.frameError(),
  };

  return {
    log, db, frame, frameResult, big,
    toObject: (v) => {
      if (v === null || v === undefined) {
        throw new TypeError('Cannot convert undefined or null to object');
      }
      return Object(v);
    },
    describe: (error) => {
      try {
        return String(error);
      } catch (_) {
        return 'an exception that has no text';
      }
    },
  };
});
