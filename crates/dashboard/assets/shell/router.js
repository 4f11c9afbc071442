// Views by the path in the hash. Each view is its own module, loaded when it is first shown.

const ROUTES = [
  [/^\/$/, () => import('../views/overview.js'), []],
  [/^\/search\/(.+)$/, () => import('../views/search.js'), ['text']],
];

/** Calls `show(view, params, path)` for the present hash and each later one. */
export function route(show) {
  const run = () => {
    const path = location.hash.replace(/^#/, '') || '/';
    for (const [pattern, load, names] of ROUTES) {
      const match = pattern.exec(path);
      if (!match) continue;
      const params = Object.fromEntries(names.map((name, i) => [name, safeDecode(match[i + 1])]));
      show(load, params, path);
      return;
    }
    show(() => import('../views/search.js'), { text: safeDecode(path.replace(/^\//, '')) }, path);
  };
  addEventListener('hashchange', run);
  run();
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
