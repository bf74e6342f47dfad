package larder;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.Map;

/**
 * The interface of a cache. An object is for one thread; {@link #another} makes an object for the next thread. An
 * exception of the cache is an error of the operation.
 */
abstract class Cache {
    /** The TTL of an entry without one. */
    static final long FOREVER = 0;

    /** A deadline beyond this limit would no longer be a number of milliseconds. */
    private static final long LONGEST_TTL_MILLIS = 1L << 52;

    /** A request of many keys, made ready before the clock runs. */
    interface Request {
        /** The values in the order of the keys; null for an absent key. */
        byte[][] send() throws Exception;
    }

    /** The classes of the caches, by the names of open.json. They are loaded by name, for a library may be missing. */
    private static final Map<String, String> CACHES = Map.of(
            "null", "NullCache",
            "map", "HashMapCache",
            "caffeine", "CaffeineCache",
            "guava", "GuavaCache",
            "ehcache", "EhcacheCache",
            "hazelcast", "HazelcastCache",
            "memcached", "MemcachedCache",
            "lettuce", "LettuceCache",
            "jedis", "JedisCache",
            "postgresql", "PostgresqlCache");

    /** A TTL in milliseconds, rounded up: a fraction of a millisecond would become 0, which means for ever. */
    static long ttlMillis(double seconds) {
        // A binary fraction may be too large by this much.
        double millis = Math.ceil(seconds * 1000 - 1e-6);
        return Math.max(1, Math.min((long) millis, LONGEST_TTL_MILLIS));
    }

    /** The name of a library, and its version as its jar is named, because most libraries do not tell it. */
    static String titled(String library, Class<?> of) {
        String jar = Path.of(of.getProtectionDomain().getCodeSource().getLocation().getPath()).getFileName().toString();
        return library + jar.replaceFirst("^.*?-(?=\\d)", " ").replaceFirst("(\\.RELEASE)?\\.jar$", "");
    }

    /** Opens the cache that open.json describes. */
    static Cache open(Order order) throws Exception {
        String name = CACHES.get(order.cache());
        if (name == null) {
            throw new Failure("protocol", "unknown cache: " + order.cache());
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

    /** Stores a value with a TTL in milliseconds, or with {@link #FOREVER}. */
    abstract void set(Key key, byte[] value, long ttlMillis) throws Exception;

    /** Whether the key was there. */
    abstract boolean delete(Key key) throws Exception;

    /** Renews a TTL; returns whether the key was there. */
    abstract boolean touch(Key key, long ttlMillis) throws Exception;

    /** A request for the values of these keys. */
    abstract Request request(Key[] keys, int from, int to) throws Exception;

    /** Whether an entry may have a TTL of its own. */
    boolean hasTtl() {
        return true;
    }

    /** Tells whether the coming plan has a TTL. A cache that is still empty may leave out what only TTLs need. */
    void expect(boolean ttl) throws Exception {}

    /** Entries dropped so far to make room; negative where the cache does not tell, or the servers tell. */
    long evictions() throws Exception {
        return -1;
    }

    /** The cache to warm up on: another one, where this one would remember the operations or return their values. */
    Cache forWarmUp() throws Exception {
        return this;
    }

    /** The same cache for another thread, with a client of its own that is connected. */
    abstract Cache another() throws Exception;

    /** The client for one operation, where each has its own; a get and the fill of its miss are one operation. */
    Cache operation() throws Exception {
        return this;
    }

    /** Takes back a client whose operation is over. */
    void release(Cache client) {}

    /** Waits for operations still under way, while the clock runs. Returns whether there may have been any. */
    boolean finish() throws Exception {
        return false;
    }

    /** Connections opened since the last call. */
    long connections() {
        return 0;
    }

    /** Whether the clients' threads end with the clients, so that only the process knows their processor time. */
    boolean hasPassingThreads() {
        return false;
    }

    void close() {}
}
