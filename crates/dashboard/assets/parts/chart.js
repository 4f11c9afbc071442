// <e-chart>: one figure over time as an SVG line, with its value, its range and its span.

import { compact, duration } from '../format/text.js';
import { h, replace, svg } from './dom.js';

const WIDTH = 240;
const HEIGHT = 48;

class Chart extends HTMLElement {
  points = [];
  limit = 150;

  connectedCallback() {
    if (this.childNodes.length) return;
    this.value = h('span.chart-value', null, '–');
    this.drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    this.low = h('span');
    this.span = h('span');
    this.append(h('div.chart-head', null, h('h3', null, this.name), this.value), this.drawing, h('div.chart-foot', null, this.low, this.span));
    this.setAttribute('role', 'group');
    this.drawing.addEventListener('pointermove', (event) => this.point(event));
    this.drawing.addEventListener('pointerleave', () => { this.at = null; this.draw(); });
    this.draw();
  }

  /** Adds a value at a time in seconds. */
  push(value, time = Date.now() / 1000) {
    if (!Number.isFinite(value)) return;
    this.points.push([time, value]);
    if (this.points.length > this.limit) this.points.shift();
    if (this.isConnected) this.draw();
  }

  /** Replaces all values: `[[time, value]]`. */
  fill(points) {
    this.points = points.slice(-this.limit);
    if (this.isConnected) this.draw();
  }

  point(event) {
    const box = this.drawing.getBoundingClientRect();
    this.at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    this.draw();
  }

  draw() {
    if (!this.points.length) return;
    const times = this.points.map(([time]) => time);
    const values = this.points.map(([, value]) => value);
    const [from, until] = [times[0], times.at(-1)];
    const top = Math.max(...values);
    const bottom = Math.min(...values, this.zero ? 0 : Infinity);
    const x = (time) => (until > from ? ((time - from) / (until - from)) * WIDTH : WIDTH);
    const y = (value) => (top > bottom ? HEIGHT - 2 - ((value - bottom) / (top - bottom)) * (HEIGHT - 4) : HEIGHT - 2);
    const line = this.points.map(([time, value], i) => `${i ? 'L' : 'M'}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join('');
    const index = this.at == null ? values.length - 1 : nearest(times, from + this.at * (until - from));
    replace(this.drawing,
      svg('line.axis', { x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
      values.length > 1 ? [svg('path.area', { d: `${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }), svg('path.stroke', { d: line })] : null,
      this.at == null ? null : svg('line.cursor', { x1: x(times[index]), x2: x(times[index]), y1: 0, y2: HEIGHT }));
    const show = this.format ?? ((value) => [compact(value), this.unit]);
    const [text, unit] = show(values[index]);
    replace(this.value, text, unit ? h('span.unit', null, ` ${unit}`) : null);
    replace(this.low, top > bottom ? `${show(bottom)[0]} to ${show(top).join(' ')}` : 'steady');
    const age = until - times[index];
    replace(this.span, this.at != null && age > 0.5 ? `${duration(age)} before` : `last ${duration(until - from)}`);
    this.setAttribute('aria-label', `${this.name}: ${text} ${unit ?? ''}`);
  }
}

function nearest(times, time) {
  let best = 0;
  times.forEach((t, i) => { if (Math.abs(t - time) < Math.abs(times[best] - time)) best = i; });
  return best;
}

customElements.define('e-chart', Chart);

/** A chart; `zero` includes zero in its range, `format` makes text and unit of a value. */
export function chart(name, { unit, zero = true, format, limit = 150 } = {}) {
  const element = document.createElement('e-chart');
  Object.assign(element, { name, unit, zero, format, limit });
  return element;
}
