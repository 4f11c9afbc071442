// How many instructions ran.
{
  count: 0,
  step: function () { this.count++; },
  fault: function () {},
  result: function () { return this.count; },
}
