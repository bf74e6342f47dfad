package larder;

import java.lang.reflect.InvocationTargetException;
import java.util.Map;

/**
 * What a cache is to a guest. One object is for one thread; {@link #another} makes one for the next. What it throws is
 * an error of the operation.
 */
abstract class Cache {
    /** In place of a TTL: none. */
    static final long FOREVER = 0;

    /** Beyond it a deadline would be no number of milliseconds any more. */
    private static final long LONGEST_TTL_MILLIS = 1L << 52;

    /** Gets that are asked for together, made ready before the clock runs. */
    interface Request {
        /** The values in the order of the keys; null for what is not there. */
        byte[][] send() throws Exception;
    }

    /** By the names of open.json; found by name, for a library that is not there keeps no other cache from its work. */
    private static final Map<String, String> CACHES =
            Map.of("null", "NullCache", "memcached", "MemcachedCache", "postgresql", "PostgresqlCache");

    /** A TTL of so many seconds, rounded up: a fraction of a millisecond would become 0, which is for ever. */
    static long ttlMillis(double seconds) {
        // So little is what a fraction in binary adds, and no time.
        double millis = Math.ceil(seconds * 1000 - 1e-6);
        return Math.max(1, Math.min((long) millis, LONGEST_TTL_MILLIS));
    }

    /** Opens what open.json describes. */
    static Cache open(Order order) throws Exception {
        String name = CACHES.get(order.cache());
        if (name == null) {
            throw new Failure("protocol", "no cache of this guest: " + order.cache());
        }
        try {
            Class<?> cache = Class.forName("larder." + name);
            return (Cache) cache.getDeclaredMethod("open", Order.class).invoke(null, order);
        } catch (InvocationTargetException e) {
            throw Failure.of(e.getCause());
        }
    }

    /** Name and version. */
    abstract String title();

    /** Effective settings, as text. */
    abstract Map<String, String> settings() throws Exception;

    /** The value, or null. */
    abstract byte[] get(Key key) throws Exception;

    /** Stores a value for so many milliseconds, or {@link #FOREVER}. */
    abstract void set(Key key, byte[] value, long ttlMillis) throws Exception;

    /** Whether the key was there. */
    abstract boolean delete(Key key) throws Exception;

    /** Renews a TTL; whether the key was there. */
    abstract boolean touch(Key key, long ttlMillis) throws Exception;

    /** What these keys have, as one request. */
    abstract Request request(Key[] keys, int from, int to) throws Exception;

    /** The same cache for another thread, with a client of its own that is connected. */
    abstract Cache another() throws Exception;

    /** The client for one operation, where each has its own: a get and the fill of its miss are one. */
    Cache operation() throws Exception {
        return this;
    }

    /** The operation of this client is over. */
    void release(Cache client) {}

    /** Waits for what is still under way, while the clock runs. Whether there may have been anything. */
    boolean finish() throws Exception {
        return false;
    }

    /** Connections opened since the last time this was asked. */
    long connections() {
        return 0;
    }

    /** Whether its clients have threads that end with them, so that only the process knows what they took. */
    boolean hasPassingThreads() {
        return false;
    }

    void close() {}
}
