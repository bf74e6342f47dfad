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
    static final int HEADER_BYTES = Header.BYTES;

    /** Identifies any value, also a value of another plan. */
    final Header origin;

    private final byte[] pool;
    private final int[] at;
    private final int[] length;
    private final int[] previous;
    /** The headers, three numbers each. */
    private final long[] header;

    /** Room for {@code count} values that are cut from this pool. */
    Values(Header origin, byte[] pool, int count) {
        this.origin = origin;
        this.pool = pool;
        at = new int[count];
        length = new int[count];
        previous = new int[count];
        header = new long[3 * count];
    }

    /** Reads the values of a file, made with this seed; values begin in the first {@code span} bytes of the pool. */
    static Values read(Path file, Path pool, String seed, int span) throws IOException {
        int count = Math.toIntExact(Files.size(file) / RECIPE_BYTES);
        byte[] bytes = Files.readAllBytes(pool);
        Values values = new Values(new Header(seed, span, bytes), bytes, count);
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
        Values only = new Values(origin, pool, numbers.length);
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
        if (length[i] < HEADER_BYTES) {
            return Arrays.copyOfRange(pool, at[i], at[i] + length[i]);
        }
        byte[] value = new byte[length[i]];
        for (int j = 0; j < 3; j++) {
            LittleEndian.putLong(value, 8 * j, header[3 * i + j]);
        }
        System.arraycopy(pool, at[i] + HEADER_BYTES, value, HEADER_BYTES, length[i] - HEADER_BYTES);
        return value;
    }

    /** Whether this is the value of that number. */
    boolean isValue(int number, byte[] got) {
        return number > 0 && got.length == length[number - 1] && begins(number, got);
    }

    /** Whether this value begins with these bytes. */
    boolean begins(int number, byte[] got) {
        int i = number - 1;
        int from = at[i];
        if (got.length > length[i]) {
            return false;
        }
        if (length[i] < HEADER_BYTES) {
            return Arrays.equals(got, 0, got.length, pool, from, from + got.length);
        }
        if (got.length < HEADER_BYTES) {
            return Arrays.equals(got, 0, got.length, compose(number), 0, got.length);
        }
        return LittleEndian.getLong(got, 0) == header[3 * i]
                && LittleEndian.getLong(got, 8) == header[3 * i + 1]
                && LittleEndian.getLong(got, 16) == header[3 * i + 2]
                && Arrays.equals(got, HEADER_BYTES, got.length, pool, from + HEADER_BYTES, from + got.length);
    }

    /** Whether a value and this one have the same first bytes, which tell a value's number. */
    boolean hasHeaderOf(int number, byte[] got) {
        int i = number - 1;
        if (length[i] < HEADER_BYTES || got.length < HEADER_BYTES) {
            return isValue(number, got);
        }
        return LittleEndian.getLong(got, 0) == header[3 * i]
                && LittleEndian.getLong(got, 8) == header[3 * i + 1]
                && LittleEndian.getLong(got, 16) == header[3 * i + 2];
    }

    /** A hash of a value, equal for values with the same first bytes. */
    static int hashOfHeader(byte[] value) {
        if (value.length < HEADER_BYTES) {
            return Arrays.hashCode(value);
        }
        return mixed(LittleEndian.getLong(value, 0), LittleEndian.getLong(value, 8), LittleEndian.getLong(value, 16));
    }

    int hashOfHeader(int number) {
        int i = number - 1;
        return length[i] < HEADER_BYTES
                ? Arrays.hashCode(compose(number))
                : mixed(header[3 * i], header[3 * i + 1], header[3 * i + 2]);
    }

    private static int mixed(long first, long second, long third) {
        long mixed = (first * 31 + second) * 31 + third;
        mixed *= 0x9e37_79b9_7f4a_7c15L;
        return (int) (mixed >>> 32);
    }
}
