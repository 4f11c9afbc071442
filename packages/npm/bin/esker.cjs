#!/usr/bin/env node
'use strict';
// The command `esker`: the binary in the place of this process. It is a child where Node.js can't replace itself (before
// 22.15), and under npx.
const { spawn } = require('node:child_process');
const { accessSync, constants } = require('node:fs');
const { binaryPath } = require('../binary.cjs');

/** What the binary handles itself. SIGWINCH, SIGTSTP and SIGCONT reach it from the terminal. */
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** npx passes on a signal to the shell that it runs commands with, and the shell ends without its child. */
const IS_NPX = process.env.npm_lifecycle_event === 'npx';
/** That shell. Read before the binary runs: the shell may have ended once the binary has printed its first line. */
const PARENT = process.ppid;
/** Between two looks whether it is there. */
const LOOK_MS = 200;

function fail(text) {
  process.stderr.write(`esker: ${text}\n`);
  process.exitCode = 1;
}

/** Ends this process as the child has ended. */
function endAs(code, signal, forward) {
  if (signal === null) {
    process.exitCode = code;
    return;
  }
  for (const name of FORWARDED) process.off(name, forward);
  process.kill(process.pid, signal);
}

/** Stops the child once the process that started this one has ended. */
function endWithParent(child) {
  const timer = setInterval(() => {
    if (process.ppid === PARENT) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, LOOK_MS);
  timer.unref();
}

function runAsChild(binary, args) {
  let child;
  const forward = (signal) => child.kill(signal);
  // Before the child runs: a signal that ends this process would leave the child alone.
  for (const name of FORWARDED) process.on(name, forward);
  child = spawn(binary, args, { stdio: 'inherit' });
  if (IS_NPX) endWithParent(child);
  child.once('error', (error) => fail(`starting ${binary}: ${error.message}`));
  child.once('exit', (code, signal) => endAs(code, signal, forward));
}

function main() {
  const args = process.argv.slice(2);
  let binary;
  try {
    binary = binaryPath();
    accessSync(binary, constants.X_OK);
  } catch (error) {
    fail(error.message);
    return;
  }
  if (!IS_NPX && typeof process.execve === 'function') process.execve(binary, [binary, ...args], process.env);
  else runAsChild(binary, args);
}

main();
