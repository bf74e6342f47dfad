/**
 * The interface of a cache.
 *
 * `style` tells how a cache answers, and so which loop it has:
 *
 * - `sync`: `get(key)`, `set(key, value, ttl)` and the like return their answer.
 * - `await`: the same calls return promises of it.
 * - `callback`: the same calls take a function of an error and an answer as their last argument.
 *
 * `get` answers a buffer, or nothing where the key is absent; `set` whether the value was stored; `delete` and `touch`
 * whether the key was there; `getMany` the values in the order of the keys. An error is an error of the operation.
 */

import { readFileSync } from 'node:fs';

import { Failure } from './failure.js';

/** The common methods of most caches. */
export class Cache {
  /** Name and version. */
  title = '';
  style = 'sync';
  /** The entries dropped so far to make room; `null` where the cache does not tell. */
  evictions = null;

  /** The effective settings as text, read back where the client tells them. */
  settings() {
    return {};
  }

  getMany(keys) {
    return keys.map((key) => this.get(key));
  }

  /** A key in the form that this cache takes. Each byte is a character, so that different keys stay different. */
  key(bytes) {
    return bytes.toString('latin1');
  }

  /** A TTL of `seconds` in the form that `set` and `touch` take; `null` means no TTL. */
  ttl(seconds) {
    return seconds;
  }

  /** The reason why `set` did not store a value. */
  refusal(_key, _value) {
    return new Failure('other', `${this.title} refused the value without a reason`);
  }

  /** The cache to warm up with: this one, or another of its kind where its own entries must stay as they are. */
  async another() {
    return this;
  }
}

/** Carries out one operation in the style of a cache, for a command that nothing times. */
export function once(cache, name, ...rest) {
  if (cache.style !== 'callback') {
    return cache[name](...rest);
  }
  return new Promise((resolve, reject) => {
    cache[name](...rest, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

/** The key of a client that takes text: the text, or the bytes where they are no text. */
export function textOrBytes(bytes) {
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : Buffer.from(bytes);
}

/** The options of an order that are set. */
export function given(order) {
  return Object.fromEntries(Object.entries(order.options ?? {}).filter(([, value]) => value !== null));
}

/** Name and version of an installed package. */
export function titleOf(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(file)).version}`;
}
