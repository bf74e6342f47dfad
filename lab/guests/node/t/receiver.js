/**
 * Receives the records of one process in one phase, as Larder does, and keeps them in a file. It is a program of its own,
 * because a phase may run in the process of the test, and waits there. `node receiver.js RECORDS NEXT KEPT`
 */

import { openSync, readSync, writeSync } from 'node:fs';

const BLOCK = 1;

const [records, next, kept] = process.argv.slice(2).map((path, n) => openSync(path, n === 2 ? 'w' : 'r+'));

let kind;
do {
  const head = read(8);
  kind = head.readUInt32LE(0);
  const part = read(head.readUInt32LE(4));
  writeSync(kept, Buffer.concat([head, part]));
  if (kind === BLOCK) {
    writeSync(next, '\n');
  }
} while (kind === BLOCK);

function read(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    at += readSync(records, bytes, at, length - at);
  }
  return bytes;
}
