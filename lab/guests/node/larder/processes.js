/**
 * The processes that share the phases of a plan. Node cannot fork, so each is a program of its own that opens the cache
 * and reads the plan. They are started once for a plan, because V8 compiles while it runs. All begin a phase together.
 */

import { fork } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

import { Failure } from './failure.js';

const PROGRAM = fileURLToPath(new URL('../child.js', import.meta.url));

export class Processes {
  #children;

  constructor(plan, order) {
    this.#children = [];
    for (let process = 0; process < plan.processes; process += 1) {
      const name = `process ${process + 1} of ${plan.processes}`;
      this.#children.push(new Handle(name, { order, folder: plan.folder, process }));
    }
  }

  /** Starts the processes, and waits until all have read the plan. A failure of one ends all. */
  static async start(plan, order) {
    const processes = new Processes(plan, order);
    await processes.#orEnd(processes.#each(() => {}));
    return processes;
  }

  /** Runs a phase in all processes, and calls `tell` with the operations of all several times a second. */
  async run(number, tell) {
    await this.#orEnd(this.#runAll(number, tell));
  }

  /** Ends all processes. */
  end() {
    for (const child of this.#children) {
      child.end();
    }
  }

  async #runAll(number, tell) {
    await this.#each((child) => child.say({ prepare: number }));
    const told = () => tell(this.#children.reduce((sum, child) => sum + child.operations, 0));
    for (const child of this.#children) {
      child.operations = 0;
      child.told = told;
    }
    await this.#each((child) => child.say({ run: true }));
  }

  /** Does something with each child, and waits for the answers of all. */
  #each(action) {
    const answers = this.#children.map((child) => child.answer());
    this.#children.forEach(action);
    return Promise.all(answers);
  }

  async #orEnd(work) {
    try {
      await work;
    } catch (error) {
      this.end();
      throw error;
    }
  }
}

/** A child as its parent knows it. */
class Handle {
  operations = 0;
  told = () => {};
  #process;
  #name;
  #answered = null;
  #failed = null;

  constructor(name, what) {
    this.#name = name;
    this.#process = fork(PROGRAM, [], { stdio: ['ignore', 2, 2, 'ipc'] });
    this.#process.on('message', (message) => this.#hear(message));
    this.#process.on('exit', (code, signal) => this.#failed?.(this.#death(code, signal)));
    this.#process.on('error', (error) => this.#failed?.(Failure.of(error)));
    this.say({ open: what });
  }

  /** Sends a message. A child that has ended is known by its end. */
  say(message) {
    this.#process.send(message, () => {});
  }

  /** The next answer; an error if the child fails or ends instead. */
  answer() {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
    });
  }

  end() {
    this.#failed = null;
    this.#process.kill('SIGKILL');
  }

  #hear(message) {
    if (message.at !== undefined) {
      this.operations = message.at;
      this.told();
    } else if (message.failed) {
      this.#failed?.(new Failure(message.failed.kind, `${this.#name}: ${message.failed.error}`));
    } else {
      this.#answered?.();
    }
  }

  /** The failure of a child that has ended too early. */
  #death(code, signal) {
    const how = signal === null ? `ended with exit code ${code}` : `was ended by signal ${constants.signals[signal]}`;
    return new Failure('other', `${this.#name} ${how} before its share was done`);
  }
}
