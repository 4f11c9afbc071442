// How often each instruction ran.
{
  seen: {},
  step: function (log) {
    var name = log.op.toString();
    this.seen[name] = (this.seen[name] || 0) + 1;
  },
  fault: function () {},
  result: function () { return this.seen; },
}
