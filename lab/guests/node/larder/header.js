/**
 * The header of a value: the tag of its key, its version, its length and a checksum.
 *
 * With the seed of the plan it identifies any value of this run, also a value of an earlier round. Only values that are
 * not right are read here, so that the slow integers of 64 bits cost the loop nothing.
 */

export const HEADER_BYTES = 24;

export class Header {
  #seed;
  #span;
  #pool;

  /** `seed` is in hexadecimal digits; values begin in the first `span` bytes of `pool`. */
  constructor(seed, span, pool) {
    this.#seed = BigInt(`0x${seed}`);
    this.#span = BigInt(span);
    this.#pool = pool;
  }

  /** The tag of the key with this index. */
  tagOf(key) {
    return mix(this.#seed ^ ((BigInt(key) << 1n) | 1n));
  }

  /** The header of a value, for a program that composes values itself. */
  of(key, version, length) {
    const tag = this.tagOf(key);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeBigUInt64LE(tag, 0);
    header.writeUInt32LE(version, 8);
    header.writeUInt32LE(length, 12);
    header.writeBigUInt64LE(this.#checksum(tag, version, length), 16);
    return header;
  }

  /** The place in the pool where the value of this key and version begins. */
  offset(key, version) {
    return this.#begin(this.tagOf(key), version);
  }

  /**
   * The tag and the length in the header of a value of this run, which may be truncated behind its header. `null` where
   * `value` is no such value: a byte differs, or it has more bytes than its header says.
   */
  readIntact(value) {
    if (value.length < HEADER_BYTES) {
      return null;
    }
    const tag = value.readBigUInt64LE(0);
    const version = value.readUInt32LE(8);
    const length = value.readUInt32LE(12);
    const isWhole = value.readBigUInt64LE(16) === this.#checksum(tag, version, length);
    if (value.length > length || !isWhole) {
      return null;
    }
    const at = this.#begin(tag, version);
    const rest = this.#pool.subarray(at + HEADER_BYTES, at + value.length);
    return value.subarray(HEADER_BYTES).equals(rest) ? { tag, length } : null;
  }

  #begin(tag, version) {
    return Number(mix(tag ^ BigInt(version)) % this.#span);
  }

  #checksum(tag, version, length) {
    return mix(tag ^ mix(((BigInt(version) << 32n) | BigInt(length)) ^ this.#seed));
  }
}

/** The finalizer of SplitMix64 (Steele, Lea, Flood 2014), modulo 2 to the 64th. */
function mix(x) {
  x = BigInt.asUintN(64, x + 0x9e3779b97f4a7c15n);
  x = BigInt.asUintN(64, (x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
  x = BigInt.asUintN(64, (x ^ (x >> 27n)) * 0x94d049bb133111ebn);
  return x ^ (x >> 31n);
}
