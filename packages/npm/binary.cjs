'use strict';
// Finds the binary, which is in a package for each platform: an optional dependency of this one.
const manifest = require('./package.json');

/** How the program is made where there is no binary. */
const BUILD_IT = 'build it with Rust: `cargo install --locked --path bin/esker` in a clone of the repository';

/** The packages with binaries, by platform (`linux-x64`). */
function platforms() {
  const prefix = `${manifest.name}-`;
  const names = Object.keys(manifest.optionalDependencies ?? {}).filter((name) => name.startsWith(prefix));
  return new Map(names.map((name) => [name.slice(prefix.length), name]));
}

/** The version of this system's glibc, '' for another C library. */
function glibcVersion() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ?? '';
}

function isOlder(version, needed) {
  const [[major, minor], [neededMajor, neededMinor]] = [version, needed].map((text) => text.split('.').map(Number));
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}

/** Why the C library of this system does not fit a binary; undefined if it does. */
function misfit(needed) {
  const version = process.platform === 'linux' ? glibcVersion() : needed;
  if (version === '') return `the binary needs glibc, and this system has another C library: ${BUILD_IT}`;
  if (needed && isOlder(version, needed)) {
    return `the binary needs glibc ${needed} or newer, and this system has ${version}: use a newer system, or ${BUILD_IT}`;
  }
  return undefined;
}

/** The path of the binary; throws an error that says what to do if there is none. */
function binaryPath() {
  const [platform, all] = [`${process.platform}-${process.arch}`, platforms()];
  const name = all.get(platform);
  if (name === undefined) {
    throw new Error(`there is no binary for ${platform}, only for ${[...all.keys()].join(', ')}: ${BUILD_IT}`);
  }
  let path;
  try {
    path = require.resolve(`${name}/bin/esker`);
  } catch (cause) {
    const wanted = `${name}@${manifest.optionalDependencies[name]}`;
    const text =
      misfit() ??
      `the package ${name} with the binary is missing: install again without --omit=optional (--no-optional), ` +
        `or install ${wanted} beside ${manifest.name}`;
    throw new Error(text, { cause });
  }
  // A report of an older Node.js may wait for name servers: there, the loader says what is wrong.
  const text = 'excludeNetwork' in process.report ? misfit(require(`${name}/package.json`).glibc) : undefined;
  if (text !== undefined) throw new Error(text);
  return path;
}

module.exports = { binaryPath };
