/** Small plans as Larder writes them, a guest as Larder starts it, and the needs of tests. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Phase } from '../larder/phase.js';
import { Plan } from '../larder/plan.js';
import { countsOf, receive } from './records.js';

const POOL = Buffer.alloc(1 << 17, 'the bytes of the pool, from which values are cut; ');
const KINDS = { get: 0, set: 1, get_or_set: 2, delete: 3, touch: 4 };
const PROGRAM = fileURLToPath(new URL('../guest.js', import.meta.url));

/** The reason to leave out a test of this package; `false` where the package is there, or must be. */
export function lacks(name) {
  const is = existsSync(new URL(`../node_modules/${name}`, import.meta.url));
  const reason = `the Node.js package ${name} is not installed: ./setup.sh --with node`;
  return is || process.env.LARDER_REQUIRE === 'all' ? false : reason;
}

/** A folder that is removed at the end of the test. */
export function folder(test) {
  const made = mkdtempSync(join(tmpdir(), 'larder-guest-node-'));
  test.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

export class TestPlan {
  phases = [];
  #keys;
  #newest;
  #values = [];
  #operations = [];
  #texts = [];
  #replays;

  constructor(keys, { replays = false } = {}) {
    this.#keys = keys;
    this.#newest = keys.map(() => 0);
    this.#replays = replays;
  }

  /** Adds a newer value of a key; returns its number. A header only needs to differ: Larder alone reads it. */
  value(key, length) {
    const number = this.#values.length + 1;
    const header = words(key, number, length, 0, 0, 0);
    const text = Buffer.from(POOL.subarray(number, number + length));
    if (length >= header.length) {
      header.copy(text);
    }
    this.#values.push(Buffer.concat([words(number, length, this.#newest[key]), header]));
    this.#texts.push(text);
    this.#newest[key] = number;
    return number;
  }

  text(number) {
    return this.#texts[number - 1];
  }

  /** Adds a phase of one process; a step is the name of an operation, a key and a value. */
  phase(steps, { multiget = 1, limit = null } = {}) {
    const shares = [[this.#operations.length, steps.length]];
    for (const [name, key, value = 0, under = key] of steps) {
      this.#operations.push(words(KINDS[name], key, value, under));
    }
    this.phases.push({ measured: true, shares, time_limit_s: limit, multiget, again: limit !== null });
  }

  /** Writes the plan into a folder. */
  write(folder) {
    const pool = join(folder, 'pool.bin');
    const keys = this.#keys.map((key, n) => Buffer.concat([words(this.#newest[n], key.length), Buffer.from(key)]));
    const terms = { pool, processes: 1, ttl_s: null, replays: this.#replays, phases: this.phases };
    writeFileSync(pool, POOL);
    writeFileSync(join(folder, 'plan.json'), JSON.stringify(terms));
    writeFileSync(join(folder, 'keys.bin'), Buffer.concat(keys));
    writeFileSync(join(folder, 'values.bin'), Buffer.concat(this.#values));
    writeFileSync(join(folder, 'ops.bin'), Buffer.concat(this.#operations));
  }

  /** Runs all phases on a cache of this process; returns the parts of each record. */
  async record(test, cache) {
    const at = folder(test);
    this.write(at);
    const plan = Plan.read(at, (key) => cache.key(key));
    const records = [];
    for (let number = 0; number < plan.phases.length; number += 1) {
      const received = receive(test, at);
      const phase = await Phase.of(plan, cache, number);
      await phase.run();
      records.push(await received());
    }
    return records;
  }

  /** Runs all phases on a cache of this process; returns the counts of each. */
  async run(test, cache) {
    const records = await this.record(test, cache);
    return records.map((parts, number) => this.counts(parts, number));
  }

  /** The counts of a record of this phase. */
  counts(parts, number) {
    const { shares, multiget } = this.phases[number];
    const [[first, count]] = shares;
    const steps = this.#operations.slice(first, first + count);
    return countsOf(parts, steps.map((step) => [step.readUInt32LE(0), step.readUInt32LE(8)]), multiget);
  }
}

function words(...numbers) {
  return Buffer.from(Uint32Array.from(numbers).buffer);
}

/** A guest, spoken to by its pipes. */
export class TestGuest {
  #process;
  #lines = [];
  #waiting = [];
  #text = '';

  constructor(test, open) {
    const at = folder(test);
    const order = { protocol: 3, options: {}, servers: [], access: {}, fresh: true, ...open };
    writeFileSync(join(at, 'open.json'), JSON.stringify(order));
    this.#process = spawn(process.execPath, [PROGRAM, at], { stdio: ['pipe', 'pipe', 'inherit'] });
    test.after(() => this.#process.kill('SIGKILL'));
    this.#process.stdout.on('data', (piece) => {
      this.#text += piece;
      const lines = this.#text.split('\n');
      this.#text = lines.pop();
      this.#lines.push(...lines.map((line) => JSON.parse(line)));
      while (this.#waiting.length > 0 && this.#lines.length > 0) {
        this.#waiting.shift()(this.#lines.shift());
      }
    });
  }

  answer() {
    if (this.#lines.length > 0) {
      return this.#lines.shift();
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** The answer to a command, without the signs of life before it. */
  async ask(command) {
    this.#process.stdin.write(`${command}\n`);
    let answer;
    do {
      answer = await this.answer();
    } while (answer.alive !== undefined);
    return answer;
  }

  /** Closes its input; returns its exit code. */
  close() {
    this.#process.stdin.end();
    return new Promise((resolve) => {
      this.#process.on('exit', resolve);
    });
  }
}
