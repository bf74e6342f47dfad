/** The loops of the three styles do the same work, whenever an answer comes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cache } from '../larder/cache.js';
import { openCache } from '../larder/caches/index.js';
import { TestPlan } from './support.js';

/** A table that answers by promises or callbacks, at once or later, and refuses or fails where a test asks for it. */
class Table extends Cache {
  title = 'table';
  style;
  #entries = new Map();
  #isLate;

  constructor(style, isLate) {
    super();
    this.style = style;
    this.#isLate = isLate;
  }

  #answer(of, callback) {
    if (this.style === 'sync') {
      return of();
    }
    const late = () => (this.#isLate ? new Promise(setImmediate) : null);
    if (this.style === 'await') {
      return Promise.resolve(late()).then(of);
    }
    const call = () => {
      let answer;
      try {
        answer = of();
      } catch (error) {
        callback(error);
        return;
      }
      callback(null, answer);
    };
    return this.#isLate ? setImmediate(call) : call();
  }

  get(key, callback) {
    return this.#answer(() => this.#entries.get(key), callback);
  }

  set(key, value, _ttl, callback) {
    return this.#answer(() => {
      if (key === 'fails') {
        throw new Error('not today');
      }
      return key !== 'refuses' && Boolean(this.#entries.set(key, value));
    }, callback);
  }

  delete(key, callback) {
    return this.#answer(() => this.#entries.delete(key), callback);
  }

  touch(key, _ttl, callback) {
    return this.#answer(() => this.#entries.has(key), callback);
  }

  getMany(keys, callback) {
    return this.#answer(() => keys.map((key) => this.#entries.get(key)), callback);
  }
}

const KEYS = ['a', 'b', 'fails', 'refuses', 'never'];

function plan() {
  const made = new TestPlan(KEYS);
  const [a, b, fails, refuses] = [0, 1, 2, 3].map((key) => made.value(key, 100));
  const gets = [['get', 0, a], ['get', 4, 0], ['get', 1, b], ['get', 2, fails]];
  made.phase([['set', 0, a], ['set', 2, fails], ['set', 3, refuses], ['set', 1, b]]);
  made.phase(gets);
  made.phase([...gets, ['set', 0, a], ['get', 0, a]], { multiget: 3 });
  made.phase([
    ['get_or_set', 0, a],
    ['delete', 0],
    ['touch', 0],
    ['get_or_set', 0, a],
    ['get_or_set', 2, fails],
    ['get_or_set', 3, refuses],
    ['touch', 0],
    ['get', 0, b],
  ]);
  return made;
}

const NAMES = ['ops', 'hits', 'misses', 'wrong', 'errors', 'failed_fills', 'succeeded'];
const EXPECTED = [
  { set: [4, 0, 0, 0, 2, 0, 2] },
  { get: [4, 2, 2, 0, 0, 0, 2] },
  { get_many: [5, 3, 2, 0, 0, 0, 3], set: [1, 0, 0, 0, 0, 0, 1] },
  {
    get_or_set: [4, 1, 3, 0, 0, 2, 2],
    delete: [1, 0, 0, 0, 0, 0, 1],
    touch: [2, 0, 1, 0, 0, 0, 1],
    get: [1, 0, 0, 1, 0, 0, 0],
  },
];

for (const [style, isLate] of [['sync', false], ['await', false], ['await', true], ['callback', false], ['callback', true]]) {
  test(`${style}, ${isLate ? 'later' : 'at once'}: every outcome is counted`, async (t) => {
    const results = await plan().run(t, new Table(style, isLate));
    const counted = results.map(({ operations }) =>
      Object.fromEntries(Object.entries(operations).map(([name, of]) => [name, NAMES.map((count) => of[count])])),
    );
    assert.deepEqual(counted, EXPECTED);
    assert.equal(results[0].first_error, 'not today');
  });
}

for (const style of ['sync', 'await', 'callback']) {
  test(`${style}: time ends a phase whose answers come at once`, async (t) => {
    const made = new TestPlan(['a'], { replays: true });
    const a = made.value(0, 100);
    const steps = Array.from({ length: 20_000 }, () => ['set', 0, a]);
    made.phase(steps);
    made.phase(steps, { limit: 0.1 });
    const cache = await openCache({ cache: 'null', options: { style } });
    const [once, again] = await made.run(t, cache);
    assert.equal(once.operations.set.succeeded, 20_000);
    assert.ok(again.wall_ns >= 1e8, `${again.wall_ns} ns`);
    assert.ok(again.operations.set.succeeded > 0);
  });
}
