// Elements from names and texts; text always becomes text nodes, never markup.

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element: `h('div.panel', { onclick }, child, 'text')`. */
export function h(spec, props, ...children) {
  const [tag, ...classes] = spec.split('.');
  return fill(document.createElement(tag), classes, props, children);
}

/** The same for SVG. */
export function svg(spec, props, ...children) {
  const [tag, ...classes] = spec.split('.');
  return fill(document.createElementNS(SVG, tag), classes, props, children);
}

function fill(element, classes, props, children) {
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(props ?? {})) setProp(element, name, value);
  append(element, children);
  return element;
}

function setProp(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (typeof value === 'function') element.addEventListener(name.slice(2), value);
  else if (name === 'data') element.data = value;
  else if (name === 'class') element.setAttribute('class', `${element.getAttribute('class') ?? ''} ${value}`.trim());
  else element.setAttribute(name, value === true ? '' : value);
}

/** Appends nodes, texts, numbers and lists of them; leaves out what is absent. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Replaces everything in an element. */
export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

let lastId = 0;

/** An ID for an element of this page. */
export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Says something to the user for some seconds, and to screen readers. */
export function announce(text) {
  const place = document.getElementById('status');
  place.textContent = text;
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => { place.textContent = ''; }, 3000);
}

/** Copies a text, also where the clipboard API is absent (plain HTTP from another machine). */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h('textarea.sr', { 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  announce(`Copied ${text.length > 40 ? `${text.slice(0, 18)}…${text.slice(-8)}` : text}`);
}
