/**
 * The warm-up before any measurement, because V8 compiles while it runs: the first thousand operations on the null cache
 * take several times as long as later ones.
 *
 * The phases of the plan run on a few keys that the plan does not have and that are deleted again, until V8 has had time
 * to compile them. A cache in memory lends another of its kind, so that its own entries stay as they are.
 */

import { once } from './cache.js';
import { now } from './clock.js';
import { Phase } from './phase.js';
import { DELETE, OPERATION_WORDS, SET, TOUCH } from './plan.js';

/** The warm-up ends after this many operations and this time, and after the longest time in any case. */
const OPERATIONS = 10_000;
const LEAST_MS = 200;
const LONGEST_MS = 1_000;

const KEYS = 64;
/** The limit of the stored bytes, so that no other entry is evicted for them. */
const BYTES = 1 << 20;
/** The operations of a phase. */
const PHASE = 2_048;
const TTL_S = 60;

/** Warms up for a plan with a measured phase. A failure is only reported, for the plan will meet it too. */
export async function rehearse(cache, plan, process = 0) {
  const phases = plan.phases.filter(({ measured }) => measured);
  if (phases.length === 0 || plan.count === 0 || typeof plan.keys[0] !== 'string') {
    return;
  }
  const other = await cache.another();
  const keys = ownKeys(plan, process);
  try {
    const values = await taken(other, plan, keys[0]);
    if (values.length > 0) {
      await run(other, rehearsal(plan, phases, keys.slice(0, values.length), values));
    }
  } catch (error) {
    console.error(`warming up: ${error.message}`);
  } finally {
    await Promise.allSettled(keys.map((key) => once(other, 'delete', key)));
  }
}

/** The numbers of values that fit together into `BYTES`, or of one value; only values that the cache takes. */
async function taken(cache, plan, key) {
  const numbers = [];
  let bytes = 0;
  for (let number = 1; number <= Math.min(plan.count, 4 * KEYS) && numbers.length < KEYS; number += 1) {
    const length = plan.lengthOf(number);
    if (numbers.length > 0 && bytes + length > BYTES) {
      continue;
    }
    try {
      if (await once(cache, 'set', key, plan.value(number), cache.ttl(TTL_S))) {
        numbers.push(number);
        bytes += length;
      }
    } catch {
      // A value that is too large for the cache is no value to warm up with.
    }
  }
  return numbers;
}

async function run(cache, plan) {
  const began = now();
  for (let done = 0, took = 0; (done < OPERATIONS || took < LEAST_MS) && took < LONGEST_MS; took = now() - began) {
    for (let number = 0; number < plan.phases.length; number += 1) {
      const phase = await Phase.of(plan, cache, number);
      await phase.run();
      done += phase.done;
    }
  }
}

/** A plan with the measured phases, on keys of its own: first a phase that sets all of them. */
function rehearsal(plan, phases, keys, numbers) {
  const words = [];
  const phaseOf = (kinds, multiget, count) => {
    const first = words.length / OPERATION_WORDS;
    for (let n = 0; n < count; n += 1) {
      const key = Math.floor(n / kinds.length) % keys.length;
      const kind = kinds[n % kinds.length];
      words.push(kind, key, kind === DELETE || kind === TOUCH ? 0 : numbers[key], key);
    }
    return { measured: false, shares: [[first, count]], time_limit_s: null, multiget, again: false };
  };
  const all = [phaseOf([SET], 1, keys.length)];
  for (const phase of phases) {
    const kinds = plan.kindsIn(phase);
    all.push(phaseOf(kinds, phase.multiget, kinds.length === 0 ? 0 : PHASE));
  }
  return plan.rehearsing({
    ttlS: Math.min(plan.ttlS ?? TTL_S, TTL_S),
    phases: all,
    keys,
    newest: numbers,
    operations: Uint32Array.from(words),
  });
}

/** Keys that the plan does not have, which begin as its first key does and are as long. */
function ownKeys(plan, process) {
  const known = new Set(plan.keys);
  const [pattern] = plan.keys;
  const own = [];
  for (let number = process * KEYS; own.length < KEYS; number += 1) {
    const end = `-${number}`;
    const key = pattern.slice(0, Math.max(0, pattern.length - end.length)) + end;
    if (!known.has(key)) {
      own.push(key);
    }
  }
  return own;
}
