package larder;

import java.util.Arrays;

/**
 * The header of a value: the tag of its key, its version, its length and a checksum. With the seed of the plan it
 * identifies any value of this run, also a value of an earlier round.
 */
final class Header {
    static final int BYTES = 24;

    private static final int VERSION = 8;
    private static final int CHECKSUM = 16;

    private final long seed;
    private final int span;
    private final byte[] pool;

    /** The seed is in hexadecimal digits; values begin in the first {@code span} bytes of the pool. */
    Header(String seed, int span, byte[] pool) {
        this.seed = Long.parseUnsignedLong(seed, 16);
        this.span = span;
        this.pool = pool;
    }

    /** The tag and the length in the header of a value of this run. */
    record Read(long tag, int length) {}

    /** The tag of the key with this index. */
    long tagOf(int key) {
        return mixed(seed ^ (Integer.toUnsignedLong(key) << 1 | 1));
    }

    /** The header of a value, for a program that composes values itself. */
    byte[] of(int key, int version, int length) {
        long tag = tagOf(key);
        byte[] header = new byte[BYTES];
        LittleEndian.putLong(header, 0, tag);
        LittleEndian.putLong(header, VERSION, Integer.toUnsignedLong(version) | (long) length << 32);
        LittleEndian.putLong(header, CHECKSUM, checksum(tag, version, length));
        return header;
    }

    /** The place in the pool where the value of this key and version begins. */
    int offset(int key, int version) {
        return begin(tagOf(key), version);
    }

    /**
     * The header of a value of this run, which may be truncated behind its header. Null where the bytes are no such
     * value: a byte differs, or there are more bytes than the header says.
     */
    Read readIntact(byte[] value) {
        if (value.length < BYTES) {
            return null;
        }
        long tag = LittleEndian.getLong(value, 0);
        int version = (int) LittleEndian.getLong(value, VERSION);
        int length = (int) (LittleEndian.getLong(value, VERSION) >>> Integer.SIZE);
        boolean isHeader = LittleEndian.getLong(value, CHECKSUM) == checksum(tag, version, length);
        if (!isHeader || Integer.compareUnsigned(value.length, length) > 0) {
            return null;
        }
        int at = begin(tag, version);
        boolean isThere = at + value.length <= pool.length
                && Arrays.equals(value, BYTES, value.length, pool, at + BYTES, at + value.length);
        return isThere ? new Read(tag, length) : null;
    }

    /** Whether the values of this key begin with these few bytes. */
    boolean begins(int key, byte[] got) {
        byte[] tag = new byte[Long.BYTES];
        LittleEndian.putLong(tag, 0, tagOf(key));
        int length = Math.min(got.length, tag.length);
        return Arrays.equals(got, 0, length, tag, 0, length);
    }

    private int begin(long tag, int version) {
        return (int) Long.remainderUnsigned(mixed(tag ^ Integer.toUnsignedLong(version)), span);
    }

    private long checksum(long tag, int version, int length) {
        return mixed(tag ^ mixed((Integer.toUnsignedLong(version) << 32 | Integer.toUnsignedLong(length)) ^ seed));
    }

    /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014). */
    private static long mixed(long number) {
        long x = number + 0x9e37_79b9_7f4a_7c15L;
        x = (x ^ (x >>> 30)) * 0xbf58_476d_1ce4_e5b9L;
        x = (x ^ (x >>> 27)) * 0x94d0_49bb_1331_11ebL;
        return x ^ (x >>> 31);
    }
}
