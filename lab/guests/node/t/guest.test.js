/** The program as Larder starts it: its warm-up leaves nothing, and its garbage collector is told. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cache } from '../larder/cache.js';
import { receive } from './records.js';
import { folder, TestGuest, TestPlan } from './support.js';

test('a warm-up leaves the entries of a cache in memory, and no others', async (t) => {
  const guest = new TestGuest(t, { cache: 'map' });
  assert.match((await guest.answer()).language, /^node \d+\./);
  const made = new TestPlan(['first', 'second']);
  const value = made.value(0, 50);
  made.phase([['set', 0, value]]);
  made.phase([['get', 0, value], ['get', 1, 0]]);
  const at = folder(t);
  made.write(at);
  assert.deepEqual(await guest.ask(`load ${at}`), { loaded: true });
  const received = receive(t, at);
  assert.deepEqual(await guest.ask('run 0'), { ran: 0 });
  assert.equal(made.counts(await received(), 0).operations.set.succeeded, 1);
  // Another plan is loaded for the read-back, and has no measured phase.
  made.phases.forEach((phase) => {
    phase.measured = false;
  });
  const other = folder(t);
  made.write(other);
  await guest.ask(`load ${other}`);
  const receivedOther = receive(t, other);
  await guest.ask('run 1');
  const { operations } = made.counts(await receivedOther(), 1);
  assert.deepEqual([operations.get.hits, operations.get.misses], [1, 1]);
  assert.equal(await guest.close(), 0);
});

/** A cache that makes garbage. */
class Wasteful extends Cache {
  set(_key, _value) {
    this.last = new Array(5_000).fill({});
    return true;
  }
}

test('the pauses of the garbage collector within a phase are told', async (t) => {
  const made = new TestPlan(['a']);
  const value = made.value(0, 100);
  made.phase(Array.from({ length: 20_000 }, () => ['set', 0, value]));
  const [{ collector, wall_ns: wall }] = await made.run(t, new Wasteful());
  const { cycles, pause_ns: all, longest_pause_ns: longest } = collector;
  assert.ok(cycles > 0 && longest > 0 && all >= longest && all < wall, JSON.stringify(collector));
});
