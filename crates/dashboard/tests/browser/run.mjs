// Runs the journeys: `CHROMIUM=/usr/bin/chromium MODULES=FOLDER node run.mjs URL [EVM_URL] [NAME ..]`.
// FOLDER has node_modules with playwright-core and axe-core. Exit code 1 if a journey fails or the console has an error.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const NAMES = ['blocks', 'search', 'failure', 'utxo', 'move', 'hostile', 'access', 'lost', 'snapshots'];
const ARGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const DEADLINE_MS = 180_000;

const [url, evmUrl = '', ...wanted] = process.argv.slice(2);
const require = createRequire(join(process.env.MODULES ?? process.cwd(), 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ARGS });
let failed = 0;

for (const name of wanted.length ? wanted : NAMES) {
  const journey = await import(`./${name}.mjs`);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const errors = [];
  const note = (text) => { if (!(journey.expected ?? []).some((pattern) => pattern.test(text))) errors.push(text); };
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) note(`${message.type()}: ${message.text()} ${message.location().url}`); });
  page.on('pageerror', (error) => note(`thrown: ${error.stack}`));
  const start = Date.now();
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`timed out after ${DEADLINE_MS / 1000} s: waiting for the journey to end`)), DEADLINE_MS); });
  try {
    await Promise.race([journey.run({ page, url, evmUrl, axe }), late]);
    if (errors.length) throw new Error(`the console has errors:\n${errors.join('\n')}`);
    console.log(`ok ${name} ${Date.now() - start} ms`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack}\n${errors.join('\n')}\n${await page.locator('main').innerText().then((text) => text.slice(0, 800), () => '')}`);
  }
  clearTimeout(timer);
  await context.close();
}
await browser.close();
process.exit(failed ? 1 : 0);
