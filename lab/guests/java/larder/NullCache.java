package larder;

import java.util.Arrays;
import java.util.Map;

/** Keeps nothing and returns the value that was set last: its figures are the floor of this language. */
final class NullCache extends Cache {
    private byte[] held;

    static Cache open(Order order) {
        return new NullCache();
    }

    @Override
    String title() {
        return "null";
    }

    @Override
    Map<String, String> settings() {
        return Map.of();
    }

    @Override
    byte[] get(Key key) {
        return held;
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) {
        held = value;
    }

    /** Every key counts as present, for the way to a key is measured. */
    @Override
    boolean delete(Key key) {
        return true;
    }

    @Override
    boolean touch(Key key, long ttlMillis) {
        return true;
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        byte[][] found = new byte[to - from + 1][];
        return () -> {
            Arrays.fill(found, held);
            return found;
        };
    }

    @Override
    Cache another() {
        return new NullCache();
    }

    /** A null cache would return a value of the warm-up. */
    @Override
    Cache forWarmUp() {
        return new NullCache();
    }
}
