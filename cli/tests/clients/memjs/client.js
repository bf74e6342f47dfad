'use strict';
// memjs: every method of its client, against the server at the address of the first argument.
//
// The second argument is the folder of the library. The client speaks the binary protocol only. The program prints what
// differs from memcached and ends with code 1, or prints `OK`.

const { isDeepStrictEqual, inspect, promisify } = require('util');

const [address, folder] = process.argv.slice(2);
const { Client } = require(folder);
const differences = [];

function same(what, got, expected) {
  if (!isDeepStrictEqual(got, expected)) {
    const shown = (value) => inspect(value, { breakLength: Infinity }).slice(0, 200);
    differences.push(`${what}: ${shown(got)} in place of ${shown(expected)}`);
  }
}

async function fails(what, promise) {
  try {
    same(what, await promise, 'an error');
  } catch (error) {
    same(what, error instanceof Error, true);
  }
}

const options = { timeout: 10, conntimeout: 10, retries: 1, logger: { log() {} } };
const client = Client.create(address, options);
const flush = promisify(client.flush.bind(client));
const stats = (call) => new Promise((resolve, reject) => {
  call((error, server, counters) => (error ? reject(error) : resolve(counters)));
});

/** The text under a key; null where there is no entry. */
async function text(key) {
  const { value } = await client.get(key);
  return value && value.toString();
}

async function storing() {
  same('get of an absent key', await client.get('k'), { value: null, flags: null });
  same('replace of an absent key', await client.replace('k', 'v', {}), false);
  await fails('append to an absent key', client.append('k', 'v'));
  await fails('prepend to an absent key', client.prepend('k', 'v'));
  same('set', await client.set('k', 'middle', {}), true);
  same('add of a present key', await client.add('k', 'v', {}), false);
  same('add', await client.add('added', 'v', {}), true);
  same('append', await client.append('k', ' end'), true);
  // The client's `prepend` sends the code of `append`.
  same('prepend', await client.prepend('k', ' twice'), true);
  same('get', await text('k'), 'middle end twice');
  same('replace', await client.replace('k', 'new', {}), true);
  same('get after replace', await text('k'), 'new');
  same('an empty value', [await client.set('empty', '', {}), await text('empty')], [true, '']);
  const bytes = Buffer.from([0, 13, 10, 255]);
  same('bytes', [await client.set('bytes', bytes, {}), (await client.get('bytes')).value], [true, bytes]);
  const got = await new Promise((resolve) => client.get('k', (error, value) => resolve([error, value.toString()])));
  same('get with a callback', got, [null, 'new']);
}

async function many() {
  const keys = Array.from({ length: 100 }, (_, i) => `many${i}`);
  const sets = await Promise.all(keys.map((key) => client.set(key, key.repeat(10), {})));
  same('sets at once', sets, keys.map(() => true));
  same('gets at once', await Promise.all(keys.map(text)), keys.map((key) => key.repeat(10)));
  same('deletes at once', await Promise.all(keys.map((key) => client.delete(key))), keys.map(() => true));
  same('gets after deletes', await Promise.all(keys.map(text)), keys.map(() => null));
}

async function counting() {
  const value = async (answer) => (await answer).value;
  same('increment with a first value', await value(client.increment('number', 1, { initial: 10 })), 10);
  same('increment', await value(client.increment('number', 5, {})), 15);
  same('decrement', await value(client.decrement('number', 4, {})), 11);
  same('decrement below zero', await value(client.decrement('number', 100, {})), 0);
  same('decrement with a first value', await value(client.decrement('first', 1, { initial: 7 })), 7);
  await client.set('word', 'word', {});
  await fails('increment of a word', client.increment('word', 1, {}));
  same('the word after increment', await text('word'), 'word');
}

async function keysAndSizes() {
  const key = 'k'.repeat(250);
  same('a key of 250 bytes', [await client.set(key, 'long', {}), await text(key)], [true, 'long']);
  const unicode = 'schlüssel–鍵';
  same('a key in Unicode', [await client.set(unicode, 'wért–値', {}), await text(unicode)], [true, 'wért–値']);
  const large = Buffer.alloc((1 << 20) + 1, Buffer.from([0, 13, 10, 255]));
  const fitting = large.subarray(1025);
  same('a large value', await client.set('large', fitting, {}), true);
  same('its bytes', fitting.equals((await client.get('large')).value), true);
  await fails('a value that is too large', client.set('large', large, {}));
  same('the key of a value that was too large', await text('large'), null);
  same('the client after it', [await client.set('k', 'v', {}), await text('k')], [true, 'v']);
}

async function lifetimes() {
  const now = Math.floor(Date.now() / 1000);
  // An entry of memcached with a TTL of one second may end at once, at the next tick of its clock.
  for (const key of ['short', 'touched']) {
    same(`set of ${key}`, await client.set(key, 'v', { expires: 2 }), true);
  }
  same('add with a time', await client.add('short2', 'v', { expires: 2 }), true);
  await client.increment('short3', 1, { initial: 5, expires: 2 });
  same('a date', [await client.set('date', 'v', { expires: now + 100 }), await text('date')], [true, 'v']);
  same('a date in the past', [await client.set('date', 'v', { expires: now - 100 }), await text('date')], [true, null]);
  same('touch', await client.touch('touched', 100), true);
  same('touch of an absent key', await client.touch('absent', 100), false);
  await new Promise((resolve) => { setTimeout(resolve, 3200); });
  const keys = ['short', 'short2', 'short3', 'touched'];
  same('what has expired', await Promise.all(keys.map(text)), [null, null, null, 'v']);
}

async function others() {
  const counters = await stats(client.stats.bind(client));
  const names = ['pid', 'uptime', 'curr_items', 'cmd_get', 'get_hits', 'version'];
  same('stats', names.filter((name) => counters[name] === undefined), []);
  const settings = await stats((callback) => client.statsWithKey('settings', callback));
  same('stats of settings', Number(settings.maxconns) > 0, true);
  same('delete', [await client.delete('k'), await client.delete('k')], [true, false]);
  await flush();
  same('flush', await text('added'), null);
  client.quit();
  const another = Client.create(address, options);
  same('another client after quit', await another.set('k', 'v', {}), true);
  another.close();
}

async function main() {
  await flush();
  for (const part of [storing, many, counting, keysAndSizes, lifetimes, others]) {
    await part();
  }
  console.log(differences.length ? differences.join('\n') : 'OK');
  process.exit(differences.length ? 1 : 0);
}

main().catch((error) => {
  console.log([...differences, error.stack].join('\n'));
  process.exit(1);
});
