// <e-time>: how long ago, with the absolute time as its title; all of them are kept up to date together.

import { duration, utc } from '../format/units.js';

const shown = new Set();
let timer = null;

class Time extends HTMLElement {
  connectedCallback() {
    this.title = utc(this.data);
    this.update();
    shown.add(this);
    timer ??= setInterval(() => shown.forEach((element) => element.update()), 1000);
  }

  disconnectedCallback() {
    shown.delete(this);
    if (shown.size) return;
    clearInterval(timer);
    timer = null;
  }

  update() {
    const ago = Date.now() / 1000 - Number(this.data);
    const text = ago < -1 ? `in ${duration(ago)}` : `${duration(Math.max(0, Math.floor(ago)))} ago`;
    if (this.textContent !== text) this.textContent = text;
  }
}

customElements.define('e-time', Time);

/** Time since these Unix seconds. */
export function ago(seconds) {
  const element = document.createElement('e-time');
  element.data = Number(seconds);
  element.className = 'nowrap';
  return element;
}

/** The absolute time and how long ago it was. */
export function when(seconds) {
  const span = document.createElement('span');
  span.append(`${utc(seconds)} `);
  const relative = ago(seconds);
  relative.classList.add('muted');
  span.append(relative);
  return span;
}
