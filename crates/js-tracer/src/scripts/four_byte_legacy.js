// Function selectors of all calls, each with the size of its arguments, and how often it was called.
{
  seen: {},
  // Where the place of the call data is on the stack.
  places: { CALL: 3, CALLCODE: 3, DELEGATECALL: 2, STATICCALL: 2 },
  note: function (selector, size) {
    var key = toHex(selector) + '-' + size;
    this.seen[key] = (this.seen[key] || 0) + 1;
  },
  step: function (log) {
    var place = this.places[log.op.toString()];
    if (place === undefined || isPrecompiled(toAddress(log.stack.peek(1).toString(16)))) {
      return;
    }
    var size = log.stack.peek(place + 1).valueOf();
    if (size >= 4) {
      var start = log.stack.peek(place).valueOf();
      this.note(log.memory.slice(start, start + 4), size - 4);
    }
  },
  fault: function () {},
  result: function (ctx) {
    if (ctx.input.length >= 4) {
      this.note(slice(ctx.input, 0, 4), ctx.input.length - 4);
    }
    return this.seen;
  },
}
