/**
 * lru-cache: an exact LRU in the memory of this process, bounded by bytes, by entries or by both.
 *
 * The size of an entry is that of its key and its value, so `maxSize` bytes of them fit. The package silently drops a
 * value that is larger than all room; here it is refused.
 */

import { LRUCache } from 'lru-cache';

import { Cache, given, titleOf } from '../cache.js';
import { Failure } from '../failure.js';

/** The bytes that a cache without any bound holds, as a memcached does. */
const DEFAULT_BYTES = 64 << 20;

class Lru extends Cache {
  title = titleOf('lru-cache');
  evictions = 0;
  #order;
  #entries;
  #room;

  constructor(order) {
    super();
    this.#order = order;
    const { max, maxSize, updateAgeOnGet = false } = given(order);
    this.#room = maxSize ?? (max === undefined ? DEFAULT_BYTES : Infinity);
    const bySize = { maxSize: this.#room, sizeCalculation: (value, key) => value.length + key.length };
    this.#entries = new LRUCache({
      ...(max === undefined ? {} : { max }),
      ...(this.#room === Infinity ? {} : bySize),
      updateAgeOnGet,
      dispose: (_value, _key, reason) => {
        this.evictions += reason === 'evict' ? 1 : 0;
      },
    });
  }

  get(key) {
    return this.#entries.get(key);
  }

  set(key, value, options) {
    this.#entries.set(key, value, options);
    return value.length + key.length <= this.#room;
  }

  delete(key) {
    return this.#entries.delete(key);
  }

  /** The package renews a TTL by storing the value again. */
  touch(key, options) {
    const value = this.#entries.get(key);
    return value !== undefined && this.set(key, value, options);
  }

  settings() {
    const { max, maxSize, ttlResolution, updateAgeOnGet } = this.#entries;
    return {
      policy: 'lru',
      ...(max > 0 ? { max: String(max) } : {}),
      ...(maxSize > 0 ? { maxSize: String(maxSize) } : {}),
      ttlResolution: `${ttlResolution} ms`,
      updateAgeOnGet: updateAgeOnGet ? 'on' : 'off',
      reach: 'one process',
    };
  }

  /** The options of a set, made once for all sets. */
  ttl(seconds) {
    return seconds === null ? undefined : { ttl: Math.ceil(seconds * 1e3) };
  }

  refusal(key, value) {
    const bytes = value.length + key.length;
    return new Failure('too_large', `an entry of ${bytes} bytes is too large for maxSize, ${this.#room} bytes`);
  }

  async another() {
    return new Lru(this.#order);
  }
}

export function openCache(order) {
  return new Lru(order);
}
