/** Small plans as Larder writes them, a guest as Larder starts it, and the needs of tests. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Header } from '../larder/header.js';
import { Judge } from '../larder/judge.js';
import { Phase } from '../larder/phase.js';
import { Plan } from '../larder/plan.js';

/** The seed and the span of the values of plans. */
const SEED = '00000000c0ffee07';
const SPAN = 131_072;
const POOL = Buffer.alloc(SPAN + 65_536, 'the bytes of the pool, from which values are cut; ');
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
  #header = new Header(SEED, SPAN, POOL);
  #keys;
  #newest;
  #values = [];
  #operations = [];
  #texts = [];

  constructor(keys, { processes = 1, ttl = null, replays = false } = {}) {
    this.#keys = keys;
    this.#newest = keys.map(() => 0);
    this.terms = { processes, ttl_s: ttl, replays };
  }

  /** Adds a newer value of a key; returns its number. */
  value(key, length) {
    const version = this.#values.length + 1;
    const at = this.#header.offset(key, version);
    const header = this.#header.of(key, version, length);
    this.#values.push(Buffer.concat([words(at, length, this.#newest[key]), header]));
    this.#texts.push(Buffer.concat([header, POOL.subarray(at + 24, at + length)]));
    this.#newest[key] = version;
    return version;
  }

  text(number) {
    return this.#texts[number - 1];
  }

  /** Adds a phase of one process; a step is the name of an operation, a key and a value. */
  phase(operations, steps, { multiget = 1, limit = null, measured = true } = {}) {
    const shares = [[this.#operations.length, steps.length]];
    for (const [name, key, value = 0, under = key] of steps) {
      this.#operations.push(words(KINDS[name], key, value, under));
    }
    const again = limit !== null;
    this.phases.push({ measured, operations, shares, time_limit_s: limit, multiget, again });
  }

  /** Writes the plan into a folder. */
  write(folder) {
    const pool = join(folder, 'pool.bin');
    const keys = this.#keys.map((key, n) => Buffer.concat([words(this.#newest[n], key.length), Buffer.from(key)]));
    const terms = { pool, seed: SEED, span: SPAN, ...this.terms, phases: this.phases };
    writeFileSync(pool, POOL);
    writeFileSync(join(folder, 'plan.json'), JSON.stringify(terms));
    writeFileSync(join(folder, 'keys.bin'), Buffer.concat(keys));
    writeFileSync(join(folder, 'values.bin'), Buffer.concat(this.#values));
    writeFileSync(join(folder, 'ops.bin'), Buffer.concat(this.#operations));
  }

  /** Runs all phases on a cache of this process; returns the counts of each. */
  async run(test, cache) {
    const at = folder(test);
    this.write(at);
    const plan = Plan.read(at, (key) => cache.key(key));
    const judge = new Judge(plan);
    const results = [];
    for (let number = 0; number < plan.phases.length; number += 1) {
      const phase = await Phase.of(plan, cache, judge, number);
      await phase.run();
      results.push(phase.result());
    }
    return results;
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
    const order = { protocol: 2, options: {}, servers: [], access: {}, fresh: true, ...open };
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
