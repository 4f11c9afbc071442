// Runs a journey through the dashboard in Chromium: `CLIENT_TESTS_CHROMIUM=chromium node run.mjs URL NAME`, or in Firefox:
// `CLIENT_TESTS_FIREFOX=firefox-esr node run.mjs URL NAME firefox`. It fails if an expectation does not hold, or if the
// browser's console has an error or a warning.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, firefox } from 'playwright-core';

/** Without these, Chromium opens connections of its own. */
const ARGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];
/** On a busy machine a journey takes a minute or two. */
const DEADLINE_MS = 500_000;

const [url, name, kind = 'chromium'] = process.argv.slice(2);

function launch() {
  const program = process.env[`CLIENT_TESTS_${kind.toUpperCase()}`] ?? kind;
  const executablePath = program.includes('/') ? program : execFileSync('which', [program], { encoding: 'utf8' }).trim();
  // By this channel Playwright drives an unchanged Firefox.
  return kind === 'firefox' ? firefox.launch({ executablePath, channel: 'moz-firefox' }) : chromium.launch({ executablePath, args: ARGS });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What the console says, but for what the journey expects. */
function watch(page, expected) {
  const errors = [];
  const note = (text) => { if (!expected.some((pattern) => pattern.test(text))) errors.push(text); };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) note(`${message.type()}: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => note(`thrown: ${error.stack}`));
  return errors;
}

const journey = await import(`./${name}.mjs`);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.setDefaultTimeout(60_000);
const errors = watch(page, journey.expected ?? []);
const deadline = setTimeout(() => {
  console.error(`${name}: waited ${DEADLINE_MS / 1000} s for the journey to end`);
  process.exit(1);
}, DEADLINE_MS);
try {
  await journey.run({ page, url, axe, kind });
  if (errors.length) throw new Error('the console has errors');
} catch (error) {
  const shown = await page.locator('body').innerText().catch(() => '');
  console.error(`${name}: ${error.stack}\nconsole:\n${errors.join('\n')}\npage:\n${shown.slice(0, 2_000)}`);
  process.exitCode = 1;
}
clearTimeout(deadline);
await browser.close();
