// Figures of /ext/metrics, in Prometheus' text form.

import { urlOf } from './node.js';
import { get } from './rpc.js';

/** `{ 'name': [{ labels, value }] }` of the node now. */
export async function metrics(signal) {
  return parse(await get(urlOf('/ext/metrics'), signal));
}

/** Parses the text form. */
export function parse(text) {
  const families = {};
  for (const line of text.split('\n')) {
    if (!line || line[0] === '#') continue;
    const match = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    (families[match[1]] ??= []).push({ labels, value: Number(match[3]) });
  }
  return families;
}

/** The sum of a family over the samples that have these labels; null without any. */
export function figure(families, name, labels = {}) {
  const samples = (families[name] ?? []).filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
  return samples.length ? samples.reduce((sum, { value }) => sum + value, 0) : null;
}

/** The rate of a growing figure a second, from call to call. */
export function rate() {
  let last = null;
  return (value, time = performance.now() / 1000) => {
    const before = last;
    last = [value, time];
    if (!before || value === null || before[0] === null || time <= before[1]) return NaN;
    return Math.max(0, (value - before[0]) / (time - before[1]));
  };
}
