// How often one instruction followed another in the same frame. The first of a stay in a frame follows none.
{
  seen: {},
  last: '',
  depth: 0,
  step: function (log) {
    var name = log.op.toString();
    if (log.getDepth() === this.depth) {
      var pair = this.last + '-' + name;
      this.seen[pair] = (this.seen[pair] || 0) + 1;
    }
    this.depth = log.getDepth();
    this.last = name;
  },
  fault: function () {},
  result: function () { return this.seen; },
}
