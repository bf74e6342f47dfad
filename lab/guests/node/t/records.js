/**
 * The records of a phase as a test reads them, and counts of their outcomes. Larder alone judges values: of those that are
 * not the expected ones, here a newer value of the key that has a number is right, and all others are wrong.
 */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RECEIVER = fileURLToPath(new URL('receiver.js', import.meta.url));
const BLOCK = 1;
const VALUE = 1;
const OUTCOMES = ['right', 'missed', 'failed', 'filled', 'unfilled', 'other'];
const KINDS = ['get', 'set', 'get_or_set', 'delete', 'touch'];
const COUNTS = ['ops', 'hits', 'misses', 'wrong', 'errors', 'failed_fills', 'succeeded'];

/** Begins to receive the records of a phase of one process, and returns a function that waits for all parts. */
export function receive(test, folder) {
  const [records, next, kept] = ['records-0', 'next-0', 'kept-0'].map((name) => join(folder, name));
  if (!existsSync(records)) {
    execFileSync('mkfifo', [records, next]);
  }
  const stdio = ['ignore', 'ignore', 'inherit'];
  const receiver = spawn(process.execPath, [RECEIVER, records, next, kept], { stdio });
  test.after(() => receiver.kill('SIGKILL'));
  const over = new Promise((resolve) => receiver.on('exit', resolve));
  return async () => {
    await over;
    return partsOf(readFileSync(kept));
  };
}

function partsOf(bytes) {
  const parts = { blocks: [], end: null };
  for (let at = 0; at < bytes.length; ) {
    const [kind, length] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
    const part = bytes.subarray(at + 8, (at += 8 + length));
    if (kind === BLOCK) {
      parts.blocks.push(blockOf(part));
    } else {
      parts.end = JSON.parse(part);
    }
  }
  return parts;
}

function blockOf(part) {
  let at = 16;
  const take = (length) => part.subarray(at, (at += length));
  const [count, segments, notes] = [0, 4, 8].map((word) => part.readUInt32LE(word));
  const time = (bytes, byte) => Number(bytes.readBigUInt64LE(byte));
  const block = {
    segments: Array.from({ length: segments }, () => take(16)).map((one) => [one.readUInt32LE(0), time(one, 8)]),
    ends: Array.from({ length: count }, () => time(take(8), 0)),
    outcomes: [...take(count)].map((outcome) => OUTCOMES[outcome]),
    notes: Array.from({ length: notes }, () => {
      const head = take(16);
      const [n, kind, number, length] = [0, 4, 8, 12].map((byte) => head.readUInt32LE(byte));
      return { n, kind, number, bytes: take(length) };
    }),
  };
  if (at !== part.length) {
    throw new Error(`a block of ${part.length} bytes ends after ${at}`);
  }
  return block;
}

/** The counts of these parts by the name of each operation; `steps` are the kinds and values of the operations. */
export function countsOf({ blocks, end }, steps, multiget) {
  const result = { ...end, wall_ns: 0, operations: {} };
  let done = 0;
  for (const { segments, ends, outcomes, notes } of blocks) {
    const [begins, noted] = [new Map(segments), new Map(notes.map((note) => [note.n, note]))];
    let then = 0;
    ends.forEach((at, n) => {
      const [kind, value] = steps[(done + n) % steps.length];
      then = begins.get(n) ?? then;
      if (at < then) {
        throw new Error('its clock went back');
      }
      result.wall_ns += at - then;
      then = at;
      const name = kind === 0 && multiget > 1 ? 'get_many' : KINDS[kind];
      count((result.operations[name] ??= zeros()), outcomes[n], noted.get(n), { kind, value });
      if (outcomes[n] === 'failed' || outcomes[n] === 'unfilled') {
        const text = noted.get(n).bytes.toString().split('\n')[1];
        result.first_error ??= text;
      }
    });
    done += ends.length;
  }
  return result;
}

function zeros() {
  return { ...Object.fromEntries(COUNTS.map((name) => [name, 0])), errors_by_kind: {} };
}

function count(of, outcome, note, { kind, value }) {
  const isNewer = outcome === 'other' && note.kind === VALUE && note.number >= value;
  const isRight = outcome === 'right' || isNewer;
  of.ops += 1;
  of.hits += isRight && (kind === 0 || kind === 2) ? 1 : 0;
  of.misses += ['missed', 'filled', 'unfilled'].includes(outcome) ? 1 : 0;
  of.wrong += outcome === 'other' && !isRight ? 1 : 0;
  of.errors += outcome === 'failed' ? 1 : 0;
  of.failed_fills += outcome === 'unfilled' ? 1 : 0;
  of.succeeded += isRight || outcome === 'filled' ? 1 : 0;
  if (outcome === 'failed' || outcome === 'unfilled') {
    const [error] = note.bytes.toString().split('\n');
    of.errors_by_kind[error] = (of.errors_by_kind[error] ?? 0) + 1;
  }
}
