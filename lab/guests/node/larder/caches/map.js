/**
 * A plain Map: the cache that most programs begin with.
 *
 * It keeps the very buffers that it is given, in the memory of this process. Each entry has its expiry time; an expired
 * entry is removed when its key is asked for. Nothing bounds the cache.
 */

import { Cache } from '../cache.js';
import { now } from '../clock.js';

class MapCache extends Cache {
  title = 'Map';
  #entries = new Map();

  get(key) {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      return undefined;
    }
    if (entry.end !== null && now() >= entry.end) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry.value;
  }

  set(key, value, ttl) {
    this.#entries.set(key, { value, end: ttl === null ? null : now() + ttl });
    return true;
  }

  delete(key) {
    return this.get(key) !== undefined && this.#entries.delete(key);
  }

  touch(key, ttl) {
    const value = this.get(key);
    return value !== undefined && this.set(key, value, ttl);
  }

  settings() {
    return { policy: 'none', capacity: 'unbounded', reach: 'one process' };
  }

  /** Milliseconds. */
  ttl(seconds) {
    return seconds === null ? null : seconds * 1e3;
  }

  async another() {
    return new MapCache();
  }
}

export function openCache() {
  return new MapCache();
}
