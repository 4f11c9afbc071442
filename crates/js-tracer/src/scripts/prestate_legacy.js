// The accounts that a transaction needs, as they were before it.
{
  accounts: null,
  account: function (address, db) {
    var name = toHex(address);
    if (this.accounts[name] === undefined) {
      this.accounts[name] = {
        balance: '0x' + db.getBalance(address).toString(16),
        nonce: db.getNonce(address),
        code: toHex(db.getCode(address)),
        storage: {},
      };
    }
    return this.accounts[name];
  },
  slot: function (address, key, db) {
    var storage = this.account(address, db).storage;
    var name = toHex(key);
    if (storage[name] === undefined) {
      storage[name] = toHex(db.getState(address, key));
    }
  },
  step: function (log, db) {
    var self = log.contract.getAddress();
    if (this.accounts === null) {
      // The value that the transaction sent counts here already; `result` takes it back.
      this.accounts = {};
      this.account(self, db);
    }
    var item = function (at) { return log.stack.peek(at).toString(16); };
    switch (log.op.toString()) {
      case 'BALANCE': case 'EXTCODECOPY': case 'EXTCODEHASH': case 'EXTCODESIZE':
        this.account(toAddress(item(0)), db);
        break;
      case 'CALL': case 'CALLCODE': case 'DELEGATECALL': case 'STATICCALL':
        this.account(toAddress(item(1)), db);
        break;
      case 'CREATE':
        this.account(toContract(self, db.getNonce(self)), db);
        break;
      case 'CREATE2':
        var start = log.stack.peek(1).valueOf();
        var code = log.memory.slice(start, start + log.stack.peek(2).valueOf());
        this.account(toContract2(self, item(3), code), db);
        break;
      case 'SLOAD': case 'SSTORE':
        this.slot(self, toWord(item(0)), db);
        break;
    }
  },
  fault: function () {},
  result: function (ctx, db) {
    if (this.accounts === null) {
      this.accounts = {};
    }
    // A plain transfer has shown neither.
    var to = this.account(ctx.to, db);
    var from = this.account(ctx.from, db);
    var sent = bigInt(from.balance.slice(2), 16);
    var got = bigInt(to.balance.slice(2), 16);
    to.balance = '0x' + got.subtract(ctx.value).toString(16);
    from.balance = '0x' + sent.add(ctx.value).add(ctx.gasUsed * ctx.gasPrice).toString(16);
    from.nonce--;
    if (ctx.type === 'CREATE') {
      // There was nothing: else the transaction would have been refused.
      delete this.accounts[toHex(ctx.to)];
    }
    return this.accounts;
  },
}
