/**
 * Keeps nothing and returns the value that was set last: its figures are the floor of this language. Every key counts as
 * present, for the way to a key is measured. By its style it also answers by promises or by callbacks, which shows the
 * cost of waiting where there is nothing to wait for.
 */

import { Cache, given } from '../cache.js';

class Null extends Cache {
  title = 'null';
  #value;

  get() {
    return this.#value;
  }

  set(_key, value) {
    this.#value = value;
    return true;
  }

  delete() {
    return true;
  }

  touch() {
    return true;
  }

  async another() {
    return new this.constructor();
  }
}

class Promising extends Cache {
  title = 'null, by promises';
  style = 'await';
  #value;

  async get() {
    return this.#value;
  }

  async set(_key, value) {
    this.#value = value;
    return true;
  }

  async delete() {
    return true;
  }

  async touch() {
    return true;
  }

  getMany(keys) {
    return Promise.all(keys.map((key) => this.get(key)));
  }

  async another() {
    return new Promising();
  }
}

class CallingBack extends Cache {
  title = 'null, by callbacks';
  style = 'callback';
  #value;

  get(_key, callback) {
    callback(null, this.#value);
  }

  set(_key, value, _ttl, callback) {
    this.#value = value;
    callback(null, true);
  }

  delete(_key, callback) {
    callback(null, true);
  }

  touch(_key, _ttl, callback) {
    callback(null, true);
  }

  getMany(keys, callback) {
    callback(
      null,
      keys.map(() => this.#value),
    );
  }

  async another() {
    return new CallingBack();
  }
}

export function openCache(order) {
  const { style = 'sync' } = given(order);
  return { sync: new Null(), await: new Promising(), callback: new CallingBack() }[style];
}
