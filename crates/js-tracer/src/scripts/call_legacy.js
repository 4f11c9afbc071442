// The tree of calls, from the instructions alone.
{
  // The calls that have not ended; the outermost is the transaction's own.
  open: [{}],
  // Has a call been made whose first instruction is not seen yet?
  descends: false,

  top: function () { return this.open[this.open.length - 1]; },
  add: function (call) {
    var into = this.top();
    (into.calls = into.calls || []).push(call);
  },
  begin: function (call) {
    this.open.push(call);
    this.descends = true;
  },

  step: function (log, db) {
    if (log.getError() !== undefined) {
      this.fault(log, db);
      return;
    }
    var op = log.op.toNumber() >= 0xf0 ? log.op.toString() : '';
    var number = function (at) { return log.stack.peek(at).valueOf(); };
    var quantity = function (at) { return '0x' + log.stack.peek(at).toString(16); };
    var self = log.contract.getAddress();
    switch (op) {
      case 'CREATE': case 'CREATE2':
        this.begin({
          type: op,
          from: toHex(self),
          input: toHex(log.memory.slice(number(1), number(1) + number(2))),
          gasBefore: log.getGas(),
          cost: log.getCost(),
          value: quantity(0),
        });
        return;
      case 'SELFDESTRUCT':
        this.add({
          type: op,
          from: toHex(self),
          to: toHex(toAddress(log.stack.peek(0).toString(16))),
          gasIn: log.getGas(),
          gasCost: log.getCost(),
          value: '0x' + db.getBalance(self).toString(16),
        });
        return;
      case 'CALL': case 'CALLCODE': case 'DELEGATECALL': case 'STATICCALL':
        var to = toAddress(log.stack.peek(1).toString(16));
        if (isPrecompiled(to)) {
          return;
        }
        var more = op === 'CALL' || op === 'CALLCODE' ? 1 : 0;
        var start = number(2 + more);
        var call = {
          type: op,
          from: toHex(self),
          to: toHex(to),
          input: toHex(log.memory.slice(start, start + number(3 + more))),
          gasBefore: log.getGas(),
          cost: log.getCost(),
          outStart: number(4 + more),
          outSize: number(5 + more),
        };
        if (more) {
          call.value = quantity(2);
        }
        this.begin(call);
        return;
    }
    if (this.descends) {
      // A contract without code has no instruction that would say what gas it got.
      if (log.getDepth() >= this.open.length) {
        this.top().gas = log.getGas();
      }
      this.descends = false;
    }
    if (op === 'REVERT') {
      this.top().error = 'execution reverted';
      return;
    }
    if (log.getDepth() === this.open.length - 1) {
      this.end(log, db);
    }
  },

  // The first instruction after a call.
  end: function (log, db) {
    var call = this.open.pop();
    var returned = log.stack.peek(0);
    var isCreation = call.type === 'CREATE' || call.type === 'CREATE2';
    if (isCreation) {
      call.gasUsed = '0x' + bigInt(call.gasBefore - call.cost - log.getGas()).toString(16);
    } else if (call.gas !== undefined) {
      call.gasUsed = '0x' + bigInt(call.gasBefore - call.cost + call.gas - log.getGas()).toString(16);
    }
    if (returned.equals(0)) {
      if (call.error === undefined) {
        call.error = 'internal failure';
      }
    } else if (isCreation) {
      var created = toAddress(returned.toString(16));
      call.to = toHex(created);
      call.output = toHex(db.getCode(created));
    } else {
      call.output = toHex(log.memory.slice(call.outStart, call.outStart + call.outSize));
    }
    if (call.gas !== undefined) {
      call.gas = '0x' + bigInt(call.gas).toString(16);
    }
    this.add(call);
  },

  fault: function (log) {
    // One failure may be shown twice.
    if (this.top().error !== undefined) {
      return;
    }
    var call = this.open.pop();
    call.error = log.getError();
    if (call.gas !== undefined) {
      call.gas = '0x' + bigInt(call.gas).toString(16);
      call.gasUsed = call.gas;
    }
    if (this.open.length > 0) {
      this.add(call);
    } else {
      this.open.push(call);
    }
  },

  result: function (ctx) {
    var outermost = this.open[0];
    var result = {
      type: ctx.type,
      from: toHex(ctx.from),
      to: toHex(ctx.to),
      value: '0x' + ctx.value.toString(16),
      gas: '0x' + bigInt(ctx.gas).toString(16),
      gasUsed: '0x' + bigInt(ctx.gasUsed).toString(16),
      input: toHex(ctx.input),
      output: toHex(ctx.output),
      calls: outermost.calls,
      error: outermost.error !== undefined ? outermost.error : ctx.error,
    };
    if (result.error !== undefined && (result.error !== 'execution reverted' || result.output === '0x')) {
      delete result.output;
    }
    return this.ordered(result);
  },

  ordered: function (call) {
    var self = this;
    var result = {};
    ['type', 'from', 'to', 'value', 'gas', 'gasUsed', 'input', 'output', 'error', 'calls'].forEach(
      function (name) {
        if (call[name] !== undefined) {
          result[name] = call[name];
        }
      }
    );
    if (result.calls !== undefined) {
      result.calls = result.calls.map(function (inner) { return self.ordered(inner); });
    }
    return result;
  },
}
