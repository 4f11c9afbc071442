// The last lines of a node's output.
import { fstatSync, readSync } from 'node:fs';

const MAX_BYTES = 32 * 1024;
const MAX_LINES = 100;

/** The last lines of an open file. */
export function lastLines(file) {
  const { size } = fstatSync(file);
  const length = Math.min(size, MAX_BYTES);
  const bytes = Buffer.alloc(length);
  const read = readSync(file, bytes, 0, length, size - length);
  return bytes.toString('utf8', 0, read).trimEnd().split('\n').slice(-MAX_LINES).join('\n');
}
