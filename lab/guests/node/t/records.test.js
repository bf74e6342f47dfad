/** The notes of a record, which Larder reads only where it needs them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cache } from '../larder/cache.js';
import { TestPlan } from './support.js';

/** A cache that answers each get by the next of some values, or fails with it. */
class Answering extends Cache {
  #answers;

  constructor(answers) {
    super();
    this.#answers = answers;
  }

  get(_key) {
    const answer = this.#answers.shift();
    if (answer instanceof Error) {
      throw answer;
    }
    return answer;
  }
}

/** The outcomes and notes of a phase of gets, of one block. */
async function gets(t, made, value, answers) {
  made.phase(answers.map(() => ['get', 0, value]));
  const [{ blocks }] = await made.record(t, new Answering([...answers]));
  assert.equal(blocks.length, 1);
  return blocks[0];
}

test('a value of the key has its number, any other its bytes, and only the first error its text', async (t) => {
  const made = new TestPlan(['a', 'b']);
  const [older, expected, newer, ofOther] = [[0, 40], [0, 50], [0, 10], [1, 40]].map((of) => made.value(...of));
  const unknown = [made.text(ofOther), made.text(older).subarray(0, 30), Buffer.alloc(0)];
  const failures = [new Error('connection lost'), new Error('timed out')];
  const known = [made.text(older), made.text(newer)];
  const answers = [known[0], failures[0], unknown[0], null, known[1], ...unknown.slice(1), failures[1]];
  const { outcomes, notes } = await gets(t, made, expected, answers);
  assert.deepEqual(outcomes, ['other', 'failed', 'other', 'missed', 'other', 'other', 'other', 'failed']);
  const bytes = (n, of) => ({ n, kind: 2, number: of.length, bytes: of });
  assert.deepEqual(notes, [
    { n: 0, kind: 1, number: older, bytes: Buffer.alloc(0) },
    { n: 1, kind: 3, number: 0, bytes: Buffer.from('io\nconnection lost') },
    bytes(2, unknown[0]),
    { n: 4, kind: 1, number: newer, bytes: Buffer.alloc(0) },
    bytes(5, unknown[1]),
    bytes(6, unknown[2]),
    { n: 7, kind: 3, number: 0, bytes: Buffer.from('timeout') },
  ]);
});

test('after 16 MiB of other values a block has only the beginning of each', async (t) => {
  const made = new TestPlan(['a']);
  const large = Buffer.alloc(1 << 20, 'another value');
  const { notes } = await gets(t, made, made.value(0, 40), Array.from({ length: 20 }, () => large));
  assert.deepEqual(
    notes.map(({ kind, number, bytes }) => [kind, number, bytes.length]),
    notes.map((_, n) => [2, 1 << 20, n < 16 ? 1 << 20 : 64]),
  );
  assert.deepEqual(notes[19].bytes, large.subarray(0, 64));
});
