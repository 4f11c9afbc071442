// Sees nothing.
{
  step: function () {},
  fault: function () {},
  result: function () { return {}; },
}
