// How often three instructions followed each other in the same frame. The first of a stay in a frame does not count,
// and the two after it follow something without a name.
{
  seen: {},
  last: ['', ''],
  depth: 0,
  step: function (log) {
    if (log.getDepth() !== this.depth) {
      this.depth = log.getDepth();
      this.last = ['', ''];
      return;
    }
    var name = log.op.toString();
    var three = this.last[0] + '-' + this.last[1] + '-' + name;
    this.seen[three] = (this.seen[three] || 0) + 1;
    this.last = [this.last[1], name];
  },
  fault: function () {},
  result: function () { return this.seen; },
}
