/**
 * The records of a process in a phase: blocks of what came of its operations, and at the end what the process knows of
 * itself. They go over a pipe to Larder, which counts them.
 *
 * Before the process goes on with its next block, whose clock runs, it waits for a byte. Meanwhile it makes that block
 * ready, so that it seldom has to wait. The wait is a call of the system, which keeps the loop of events from working.
 */

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { ERROR, OTHER, UNFILLED } from './block.js';
import { nanoseconds } from './clock.js';

// The kinds of parts.
const BLOCK = 1;
const END = 2;
// The kinds of notes.
const VALUE = 1;
const BYTES = 2;
const FAILURE = 3;

const WORD_BYTES = 4;
/** Words of 32 bits: of the counts of a block, of a segment, of a time. */
const COUNT_WORDS = 4;
const SEGMENT_WORDS = 4;
const TIME_WORDS = 2;
/** The bytes of a note before its own. */
const NOTE_BYTES = 16;

const EMPTY = Buffer.alloc(0);

export class Records {
  #records;
  #next;
  /** Counts, segments and times of a block. The memory serves again for the next block. */
  #words = new Uint32Array(0);
  #hasFailed = false;
  #isCounting = false;

  /** Opens the pipes of a process in the folder of a plan. A rehearsal has no folder, and nobody reads its records. */
  constructor(folder, process) {
    this.#records = openSync(folder === null ? '/dev/null' : join(folder, `records-${process}`), constants.O_WRONLY);
    this.#next = openSync(folder === null ? '/dev/zero' : join(folder, `next-${process}`), constants.O_RDONLY);
  }

  /** Sends what came of the first `count` operations of a block. */
  sendBlock(block, count) {
    const { segments, end, outcome } = block;
    const notes = this.#notes(block, count);
    const times = COUNT_WORDS + segments.length * SEGMENT_WORDS;
    const all = times + count * TIME_WORDS;
    if (this.#words.length < all) {
      this.#words = new Uint32Array(all);
    }
    const words = this.#words;
    words.set([count, segments.length, notes.length, 0]);
    segments.forEach(({ first, began }, n) => {
      const at = COUNT_WORDS + n * SEGMENT_WORDS;
      words.set([first, 0], at);
      putTime(words, at + 2, began);
    });
    for (let n = 0; n < count; n += 1) {
      putTime(words, times + n * TIME_WORDS, end[n]);
    }
    this.#send(BLOCK, new Uint8Array(words.buffer, 0, all * WORD_BYTES), outcome.subarray(0, count), bytesOf(notes));
    this.#isCounting = true;
  }

  /** Waits until Larder has counted the block that was sent. */
  awaitCount() {
    if (this.#isCounting && readSync(this.#next, Buffer.alloc(1)) === 0) {
      // Larder has ended.
      process.exit(0);
    }
    this.#isCounting = false;
  }

  /** Sends the end of the phase. */
  sendEnd(end) {
    this.awaitCount();
    this.#send(END, Buffer.from(JSON.stringify(end)));
  }

  close() {
    closeSync(this.#records);
    closeSync(this.#next);
  }

  /** The notes on a block, in the order of its operations. Only the first error of a process has its text. */
  #notes({ outcome, known, others, errors }, count) {
    const notes = [];
    for (let n = 0; n < count; n += 1) {
      if (outcome[n] === OTHER && known[n] !== 0) {
        notes.push({ n, kind: VALUE, number: known[n], bytes: EMPTY });
      } else if (outcome[n] === OTHER) {
        const { length, bytes } = others.get(n);
        notes.push({ n, kind: BYTES, number: length, bytes });
      } else if (outcome[n] === ERROR || outcome[n] === UNFILLED) {
        const { kind, message } = errors.get(n);
        const text = this.#hasFailed ? kind : `${kind}\n${message}`;
        this.#hasFailed = true;
        notes.push({ n, kind: FAILURE, number: 0, bytes: Buffer.from(text) });
      }
    }
    return notes;
  }

  #send(kind, ...pieces) {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    for (const piece of [new Uint8Array(Uint32Array.of(kind, length).buffer), ...pieces]) {
      for (let sent = 0; sent < piece.length; ) {
        sent += writeSync(this.#records, piece, sent);
      }
    }
  }
}

/** Puts an instant of the clock in milliseconds into two words, the lower one first. */
function putTime(words, at, milliseconds) {
  const time = nanoseconds(milliseconds);
  // A word takes the remainder.
  words[at] = time;
  words[at + 1] = time / 2 ** 32;
}

/** The bytes of all notes. */
function bytesOf(notes) {
  const all = Buffer.allocUnsafe(notes.reduce((sum, { bytes }) => sum + NOTE_BYTES + bytes.length, 0));
  let at = 0;
  for (const { n, kind, number, bytes } of notes) {
    all.writeUInt32LE(n, at);
    all.writeUInt32LE(kind, at + 4);
    all.writeUInt32LE(number, at + 8);
    all.writeUInt32LE(bytes.length, at + 12);
    at += NOTE_BYTES + bytes.copy(all, at + NOTE_BYTES);
  }
  return all;
}
