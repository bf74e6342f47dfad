package larder;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import com.github.benmanes.caffeine.cache.RemovalCause;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Caffeine, bounded by the bytes of its entries. A plan without TTLs gets a cache without expiry, as a program without
 * TTLs would have it: an expiry costs a clock reading at every get.
 */
final class CaffeineCache extends LocalCache {
    /** The bytes of an entry besides key and value, as the heap grew over a million entries. */
    private static final int OVERHEAD = 150;

    private final Order order;
    private final long size;
    private final LongAdder evictions = new LongAdder();
    private boolean expires;
    private com.github.benmanes.caffeine.cache.Cache<String, byte[]> cache;

    private CaffeineCache(Order order, boolean expires) {
        this.order = order;
        this.expires = expires;
        size = order.number("size", 0);
        cache = build();
    }

    static Cache open(Order order) {
        return new CaffeineCache(order, true);
    }

    private com.github.benmanes.caffeine.cache.Cache<String, byte[]> build() {
        Caffeine<String, byte[]> builder = Caffeine.newBuilder()
                .maximumWeight(size)
                .weigher((String name, byte[] value) -> weight(name, value))
                .evictionListener((name, value, cause) -> count(cause));
        if (isByCaller()) {
            builder.executor(Runnable::run);
        }
        return expires ? builder.expireAfter(new OwnTtl()).build() : builder.build();
    }

    private boolean isByCaller() {
        return order.text("executor", "pool").equals("caller");
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
    void expect(boolean ttl) {
        if (ttl != expires && cache.estimatedSize() == 0) {
            expires = ttl;
            cache = build();
        }
    }

    @Override
    boolean hasTtl() {
        return expires;
    }

    /** The policy learns from every access, so a warm-up here would decide over the measured entries. */
    @Override
    Cache forWarmUp() {
        return new CaffeineCache(order, expires);
    }

    @Override
    String title() {
        return titled("Caffeine", Caffeine.class);
    }

    @Override
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("entry_overhead", Integer.toString(OVERHEAD));
        settings.put("eviction", "W-TinyLFU");
        settings.put("executor", isByCaller() ? "the calling thread" : "ForkJoinPool.commonPool");
        settings.put("expiry", "each entry its own; none where the workload has no TTL");
        settings.put("largest_bytes", Long.toString(largest()));
        settings.put("maximum_weight", size + " bytes");
        return settings;
    }

    /** The most bytes of a key and its value: a heavier entry would be dropped at once. */
    private long largest() {
        return size - OVERHEAD;
    }

    @Override
    byte[] get(Key key) {
        return cache.getIfPresent(key.asName());
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Failure {
        String name = key.asName();
        if (bytesOf(name, value) > largest()) {
            cache.invalidate(name);
            throw tooLarge(key, value, largest());
        }
        if (ttlMillis == FOREVER) {
            cache.put(name, value);
        } else if (expires) {
            cache.policy().expireVariably().orElseThrow().put(name, value, Duration.ofMillis(ttlMillis));
        } else {
            throw new Failure("other", "the cache was made for a plan without TTLs");
        }
    }

    @Override
    boolean delete(Key key) {
        return cache.asMap().remove(key.asName()) != null;
    }

    @Override
    boolean touch(Key key, long ttlMillis) {
        String name = key.asName();
        if (expires && cache.asMap().containsKey(name)) {
            Duration ttl = ttlMillis == FOREVER ? Duration.ofNanos(Long.MAX_VALUE) : Duration.ofMillis(ttlMillis);
            cache.policy().expireVariably().orElseThrow().setExpiresAfter(name, ttl);
        }
        return cache.asMap().containsKey(name);
    }

    /** Evictions may still wait for a thread of the pool. */
    @Override
    long evictions() {
        cache.cleanUp();
        return evictions.sum();
    }

    /** Entries last for ever, unless a set or a touch gives them a TTL. */
    private static final class OwnTtl implements Expiry<String, byte[]> {
        @Override
        public long expireAfterCreate(String name, byte[] value, long now) {
            return Long.MAX_VALUE;
        }

        @Override
        public long expireAfterUpdate(String name, byte[] value, long now, long left) {
            return Long.MAX_VALUE;
        }

        @Override
        public long expireAfterRead(String name, byte[] value, long now, long left) {
            return left;
        }
    }
}
