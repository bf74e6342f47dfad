/** What each cache in memory keeps and drops. The contract suite tests the clients of servers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { openCache } from '../larder/caches/index.js';
import { lacks, TestPlan } from './support.js';

const VALUE = Buffer.alloc(1_000, 'x');

for (const [name, options] of [
  ['map', {}],
  ['lru-cache', { maxSize: 1 << 20 }],
  ['node-cache', {}],
  ['keyv', {}],
  ['keyv', { serialization: false }],
]) {
  const skip = name === 'map' ? false : lacks(name);
  test(`${name} ${JSON.stringify(options)} keeps bytes as they are, until their time is over`, { skip }, async () => {
    const cache = await openCache({ cache: name, options });
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const [key, short, other] = [Buffer.from([0xff, 0x20]), Buffer.from('short'), Buffer.from('other')].map((key) =>
      cache.key(key),
    );
    assert.ok(await cache.set(key, bytes, cache.ttl(null)));
    assert.ok(await cache.set(short, VALUE, cache.ttl(0.5)));
    assert.ok(await cache.set(other, VALUE, cache.ttl(0.5)));
    assert.ok(await cache.touch(other, cache.ttl(60)));
    assert.deepEqual(await cache.get(key), bytes);
    assert.deepEqual(await cache.getMany([short, cache.key(Buffer.from('none'))]), [VALUE, undefined]);
    await sleep(550);
    assert.equal(await cache.get(short), undefined);
    assert.deepEqual(await cache.get(other), VALUE);
    assert.equal(Boolean(await cache.touch(short, cache.ttl(60))), false);
    assert.deepEqual([await cache.delete(key), await cache.delete(key)], [true, false]);
    const another = await cache.another();
    assert.equal(await another.get(other), undefined, 'another cache of its kind has entries of its own');
  });
}

test('lru-cache drops the least recently used entries, and tells how many', { skip: lacks('lru-cache') }, async () => {
  for (const options of [{ maxSize: 10_010 }, { max: 10 }]) {
    const cache = await openCache({ cache: 'lru-cache', options });
    for (const key of '0123456789') {
      cache.set(key, VALUE, undefined);
    }
    assert.equal(cache.evictions, 0);
    cache.get('0');
    cache.set('a', VALUE, undefined);
    const there = [...'0123'].map((key) => cache.get(key) !== undefined);
    assert.deepEqual([there, cache.evictions], [[true, false, true, true], 1]);
  }
});

test('lru-cache refuses a value that is larger than all room', { skip: lacks('lru-cache') }, async () => {
  const cache = await openCache({ cache: 'lru-cache', options: { maxSize: 1_000 } });
  assert.equal(cache.set('key', VALUE, undefined), false);
  assert.equal(cache.refusal('key', VALUE).kind, 'too_large');
});

test('node-cache refuses a key more than maxKeys, and clones unless told', { skip: lacks('node-cache') }, async (t) => {
  const full = await openCache({ cache: 'node-cache', options: { maxKeys: 1 } });
  const made = new TestPlan(['a', 'b']);
  made.phase([['set', 0, made.value(0, 50)], ['set', 1, made.value(1, 50)]]);
  const [{ operations }] = await made.run(t, full);
  assert.deepEqual(operations.set.errors_by_kind, { full: 1 });
  for (const [useClones, isSame] of [[true, false], [false, true]]) {
    const cache = await openCache({ cache: 'node-cache', options: { useClones } });
    cache.set('key', VALUE, 0);
    assert.equal(cache.get('key') === VALUE, isSame);
    assert.deepEqual(cache.get('key'), VALUE);
  }
});

test('a package that is not there is named', async () => {
  if (lacks('keyv')) {
    await assert.rejects(openCache({ cache: 'keyv', options: {} }), /package keyv is not installed/);
  }
  await assert.rejects(openCache({ cache: 'redis', options: {} }), /unknown cache: redis; known: null, map/);
});
