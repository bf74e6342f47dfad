package larder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The values of a plan, by their numbers from 1 on. A value that was read is compared with the pieces of the expected
 * value. This is as fast as comparing with the whole value, and creates no garbage. Only values to store are composed.
 */
final class Values {
    private static final int RECIPE_BYTES = 36;
    /** The bytes before those of the pool, in values that are at least this long. */
    private static final int HEADER_BYTES = 24;

    private final byte[] pool;
    private final int[] at;
    private final int[] length;
    private final int[] previous;
    /** The headers, three numbers each. */
    private final long[] header;

    /** Room for {@code count} values that are cut from this pool. */
    private Values(byte[] pool, int count) {
        this.pool = pool;
        at = new int[count];
        length = new int[count];
        previous = new int[count];
        header = new long[3 * count];
    }

    static Values read(Path file, Path pool) throws IOException {
        int count = Math.toIntExact(Files.size(file) / RECIPE_BYTES);
        Values values = new Values(Files.readAllBytes(pool), count);
        try (LittleEndian recipes = new LittleEndian(file)) {
            for (int i = 0; i < count; i++) {
                values.at[i] = recipes.number();
                values.length[i] = recipes.number();
                values.previous[i] = recipes.number();
                for (int j = 3 * i; j < 3 * i + 3; j++) {
                    values.header[j] = recipes.longNumber();
                }
            }
        }
        return values;
    }

    /** These values alone, each as the only value of its key. */
    Values only(int[] numbers) {
        Values only = new Values(pool, numbers.length);
        for (int i = 0; i < numbers.length; i++) {
            only.at[i] = at[numbers[i] - 1];
            only.length[i] = length[numbers[i] - 1];
            System.arraycopy(header, 3 * (numbers[i] - 1), only.header, 3 * i, 3);
        }
        return only;
    }

    int count() {
        return at.length;
    }

    int length(int number) {
        return length[number - 1];
    }

    /** The number of the value stored before under the same key; 0 where there is no such value. */
    int previous(int number) {
        return previous[number - 1];
    }

    /** A value in an array of its own. */
    byte[] compose(int number) {
        int i = number - 1;
        byte[] value = Arrays.copyOf(head(number), length[i]);
        if (length[i] > HEADER_BYTES) {
            System.arraycopy(pool, at[i] + HEADER_BYTES, value, HEADER_BYTES, length[i] - HEADER_BYTES);
        }
        return value;
    }

    /** The first bytes of a value, which no other value of this length has: its header, or all of a shorter value. */
    byte[] head(int number) {
        int i = number - 1;
        if (length[i] < HEADER_BYTES) {
            return Arrays.copyOfRange(pool, at[i], at[i] + length[i]);
        }
        byte[] head = new byte[HEADER_BYTES];
        for (int j = 0; j < 3; j++) {
            LittleEndian.putLong(head, 8 * j, header[3 * i + j]);
        }
        return head;
    }

    /** Whether this is the value of that number. */
    boolean isValue(int number, byte[] got) {
        int i = number - 1;
        if (i < 0 || got.length != length[i]) {
            return false;
        }
        int from = at[i];
        if (got.length < HEADER_BYTES) {
            return Arrays.equals(got, 0, got.length, pool, from, from + got.length);
        }
        return hasHeader(i, got)
                && Arrays.equals(got, HEADER_BYTES, got.length, pool, from + HEADER_BYTES, from + got.length);
    }

    /** Whether the value of that number has the head of this one. */
    boolean hasHead(int number, byte[] got) {
        boolean isShort = length(number) < HEADER_BYTES || got.length < HEADER_BYTES;
        return isShort ? isValue(number, got) : hasHeader(number - 1, got);
    }

    /** A hash of a value, equal for values with the same head. */
    static int hashOfHead(byte[] value) {
        if (value.length < HEADER_BYTES) {
            return Arrays.hashCode(value);
        }
        long mixed = LittleEndian.getLong(value, 0) * 31 + LittleEndian.getLong(value, 8);
        mixed = (mixed * 31 + LittleEndian.getLong(value, 16)) * 0x9e37_79b9_7f4a_7c15L;
        return (int) (mixed >>> 32);
    }

    private boolean hasHeader(int i, byte[] got) {
        return LittleEndian.getLong(got, 0) == header[3 * i]
                && LittleEndian.getLong(got, 8) == header[3 * i + 1]
                && LittleEndian.getLong(got, 16) == header[3 * i + 2];
    }
}
