package larder;

import com.google.common.cache.CacheBuilder;
import com.google.common.cache.RemovalCause;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Guava's cache, bounded by the bytes of its entries. It keeps an LRU for each of its segments, which have equal parts
 * of the size; one segment is one exact LRU. It has no TTL for an entry, and one expiry for all.
 */
final class GuavaCache extends LocalCache {
    /** The bytes of an entry besides key and value, as the heap grew over a million entries. */
    private static final int OVERHEAD = 150;

    /** The library's own number of threads to expect. */
    private static final int CONCURRENCY = 4;

    private final long size;
    private final int concurrency;
    private final long expiryMillis;
    private final LongAdder evictions = new LongAdder();
    private final com.google.common.cache.Cache<String, byte[]> cache;

    private GuavaCache(Order order) {
        size = order.number("size", 0);
        concurrency = (int) order.number("concurrency", CONCURRENCY);
        expiryMillis = order.millis("expire_after_write", FOREVER);
        CacheBuilder<String, byte[]> builder = CacheBuilder.newBuilder()
                .maximumWeight(size)
                .concurrencyLevel(concurrency)
                .weigher(GuavaCache::weight)
                .removalListener(removal -> count(removal.getCause()));
        cache = expiryMillis == FOREVER
                ? builder.build()
                : builder.expireAfterWrite(Duration.ofMillis(expiryMillis)).build();
    }

    static Cache open(Order order) {
        return new GuavaCache(order);
    }

    private static int weight(String name, byte[] value) {
        return (int) Math.min(bytesOf(name, value) + OVERHEAD, Integer.MAX_VALUE);
    }

    private void count(RemovalCause cause) {
        if (cause == RemovalCause.SIZE) {
            evictions.increment();
        }
    }

    @Override
    boolean hasTtl() {
        return false;
    }

    @Override
    String title() {
        return titled("Guava", CacheBuilder.class);
    }

    @Override
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("concurrency", Integer.toString(concurrency));
        settings.put("entry_overhead", Integer.toString(OVERHEAD));
        settings.put("eviction", segments() == 1 ? "LRU" : "LRU in each of " + segments() + " segments");
        settings.put("expire_after_write", expiryMillis == FOREVER ? "never" : expiryMillis + " ms");
        settings.put("largest_bytes", Long.toString(largest()));
        settings.put("maximum_weight", size + " bytes");
        return settings;
    }

    /** The segments that the library makes: the first power of two that is not below the expected threads. */
    private int segments() {
        return Integer.highestOneBit(2 * concurrency - 1);
    }

    /** The most bytes of a key and its value: a heavier entry would be dropped at once. */
    private long largest() {
        return size / segments() - OVERHEAD;
    }

    @Override
    byte[] get(Key key) {
        return cache.getIfPresent(key.asName());
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Failure {
        String name = key.asName();
        if (ttlMillis != FOREVER) {
            throw new Failure("other", "Guava has no TTL for an entry");
        }
        if (bytesOf(name, value) > largest()) {
            cache.invalidate(name);
            throw tooLarge(key, value, largest());
        }
        cache.put(name, value);
    }

    @Override
    boolean delete(Key key) {
        return cache.asMap().remove(key.asName()) != null;
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Failure {
        throw new Failure("other", "Guava has no TTL for an entry");
    }

    @Override
    long evictions() {
        cache.cleanUp();
        return evictions.sum();
    }
}
