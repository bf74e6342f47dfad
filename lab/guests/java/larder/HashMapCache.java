package larder;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A {@code ConcurrentHashMap} without bounds, with a deadline beside each value: what a program begins with, and the
 * control of the bounded caches, because it misses only the keys that were never set. An expired entry goes when its
 * key is asked for.
 */
final class HashMapCache extends LocalCache {
    /** The deadline of an entry without one. */
    private static final long NEVER = Long.MAX_VALUE;

    /** A value, and the time on the monotonic clock at which it ends. */
    private record Entry(byte[] value, long deadline) {
        static Entry of(byte[] value, long ttlMillis) {
            return new Entry(value, ttlMillis == FOREVER ? NEVER : System.nanoTime() + nanos(ttlMillis));
        }

        boolean isOver() {
            return deadline != NEVER && System.nanoTime() - deadline >= 0;
        }
    }

    private final Map<String, Entry> entries = new ConcurrentHashMap<>();

    static Cache open(Order order) {
        return new HashMapCache();
    }

    /** Nanoseconds, of which a signed number counts 292 years; half of them leave room for differences. */
    private static long nanos(long ttlMillis) {
        return Math.min(ttlMillis, NEVER / 2_000_000) * 1_000_000;
    }

    @Override
    String title() {
        return "ConcurrentHashMap";
    }

    @Override
    Map<String, String> settings() {
        return Map.of("bound", "none", "eviction", "none", "expiry", "each entry its own, looked at by a get");
    }

    @Override
    byte[] get(Key key) {
        String name = key.asName();
        Entry entry = entries.get(name);
        if (entry == null) {
            return null;
        }
        if (entry.isOver()) {
            entries.remove(name, entry);
            return null;
        }
        return entry.value;
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) {
        entries.put(key.asName(), Entry.of(value, ttlMillis));
    }

    @Override
    boolean delete(Key key) {
        Entry removed = entries.remove(key.asName());
        return removed != null && !removed.isOver();
    }

    @Override
    boolean touch(Key key, long ttlMillis) {
        Entry kept = entries.computeIfPresent(
                key.asName(), (name, entry) -> entry.isOver() ? null : Entry.of(entry.value, ttlMillis));
        return kept != null;
    }

    /** Nothing is dropped to make room. */
    @Override
    long evictions() {
        return 0;
    }
}
