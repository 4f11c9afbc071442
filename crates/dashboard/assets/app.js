// The page: asks the node what it is, then shows the view of the hash.

import { live } from './chain/live.js';
import { connect } from './chain/node.js';
import { replace } from './parts/dom.js';
import { errorNotice } from './parts/layout.js';
import { header } from './shell/header.js';
import { keys, route } from './shell/router.js';

const main = document.getElementById('main');
const head = header(document.getElementById('header'));
let shown = null;

async function show(load, params, path) {
  shown?.abort();
  shown = new AbortController();
  const { signal } = shown;
  head.mark(path);
  try {
    const view = await load();
    if (signal.aborted) return;
    const { title, content } = await view.render(params, signal);
    if (signal.aborted) return;
    document.title = title ? `${title} – Esker` : 'Esker';
    replace(main, content);
    scrollTo(0, 0);
    if (show.isLater) main.focus({ preventScroll: true });
    show.isLater = true;
  } catch (error) {
    if (!signal.aborted) replace(main, errorNotice(error, () => show(load, params, path)));
  }
}

async function start(tries = 0) {
  try {
    await connect();
  } catch (error) {
    const wait = Math.min(500 * 2 ** tries, 8000);
    if (tries === 0) replace(main, errorNotice(error));
    setTimeout(() => start(tries + 1), wait);
    return;
  }
  head.draw();
  live.start();
  route(show);
}

keys();
start();
