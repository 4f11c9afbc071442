// The instructions of each frame with what they left on the stack, and the frames of its calls within it.
{
  frames: [{ ops: [] }],
  // How many items an instruction leaves that are of interest. As in the reference, what came after Byzantium leaves
  // none.
  left: function (op) {
    if (op >= 0x80 && op <= 0x8f) return op - 0x7e;
    if (op >= 0x90 && op <= 0x9f) return op - 0x8e;
    var ranges = [
      0x01, 0x0b, 0x10, 0x1a, 0x20, 0x20, 0x30, 0x36, 0x38, 0x38, 0x3a, 0x3b, 0x40, 0x45, 0x51, 0x51, 0x54, 0x54,
      0x58, 0x5a, 0x60, 0x7f, 0xf0, 0xf2,
    ];
    for (var at = 0; at < ranges.length; at += 2) {
      if (op >= ranges[at] && op <= ranges[at + 1]) return 1;
    }
    return 0;
  },

  step: function (log) {
    var frame = this.frames[this.frames.length - 1];
    if (log.getError() !== undefined) {
      frame.error = log.getError();
      return;
    }
    if (log.getDepth() !== this.frames.length) {
      // A frame has ended, or a call had no code.
      this.frames = this.frames.slice(0, log.getDepth());
      return;
    }
    var before = frame.ops[frame.ops.length - 1];
    if (before !== undefined) {
      for (var at = 0; at < this.left(before.op); at++) {
        before.result.push(log.stack.peek(at).toString(16));
      }
    }
    var shown = { op: log.op.toNumber(), depth: log.getDepth(), result: [] };
    this.describe(log, frame, shown);
    if (log.op.isPush()) {
      shown.len = log.op.toNumber() - 0x5e;
    }
    frame.ops.push(shown);
  },

  describe: function (log, frame, shown) {
    var number = function (at) { return log.stack.peek(at).valueOf(); };
    var data = function (at) { return log.memory.slice(number(at), number(at) + number(at + 1)); };
    var name = log.op.toString();
    switch (name) {
      case 'CALL': case 'CALLCODE': case 'DELEGATECALL': case 'STATICCALL':
        var sends = name === 'CALL' || name === 'CALLCODE';
        shown.gas = number(0);
        shown.to = log.stack.peek(1).toString(16);
        if (sends) {
          shown.value = log.stack.peek(2).toString();
        }
        shown.input = data(sends ? 3 : 2);
        this.open(shown);
        break;
      case 'CREATE': case 'CREATE2':
        shown.value = log.stack.peek(0).toString();
        shown.input = data(1);
        this.open(shown);
        break;
      case 'RETURN':
        frame['return'] = data(0);
        break;
      case 'STOP':
        frame['return'] = log.memory.slice(0, 0);
        break;
      case 'JUMPDEST':
        shown.pc = log.getPC();
        break;
    }
  },

  open: function (shown) {
    shown.error = null;
    shown['return'] = null;
    shown.ops = [];
    this.frames.push(shown);
  },

  fault: function () {},
  result: function () { return this.frames[0].ops; },
}
