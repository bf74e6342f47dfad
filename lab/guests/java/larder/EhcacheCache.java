package larder;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.ehcache.CacheManager;
import org.ehcache.config.builders.CacheConfigurationBuilder;
import org.ehcache.config.builders.CacheManagerBuilder;
import org.ehcache.config.builders.ResourcePoolsBuilder;
import org.ehcache.config.units.EntryUnit;
import org.ehcache.config.units.MemoryUnit;
import org.ehcache.core.internal.resilience.ThrowingResilienceStrategy;
import org.ehcache.core.internal.statistics.DefaultStatisticsService;
import org.ehcache.core.spi.service.StatisticsService;
import org.ehcache.expiry.ExpiryPolicy;

/**
 * Ehcache with one tier: objects on the heap, bounded by their bytes or by their number, or bytes outside the heap. It
 * walks through each object to count its bytes, and it copies what it keeps outside the heap.
 */
final class EhcacheCache extends LocalCache {
    private static final String NAME = "larder";
    /** Memory outside the heap is given in this unit. */
    private static final long MIB = 1 << 20;

    private final boolean isOffHeap;
    private final long entries;
    private final long size;
    private final StatisticsService statistics = new DefaultStatisticsService();
    private final OwnTtl ttl = new OwnTtl();
    private final CacheManager manager;
    private final org.ehcache.Cache<String, byte[]> cache;

    private EhcacheCache(Order order) {
        isOffHeap = order.text("tier", "heap").equals("offheap");
        entries = order.number("entries", 0);
        long asked = order.number("size", 0);
        size = isOffHeap ? (asked + MIB - 1) / MIB * MIB : asked;
        manager = CacheManagerBuilder.newCacheManagerBuilder()
                .using(statistics)
                .withCache(NAME, configuration())
                .build(true);
        cache = manager.getCache(NAME, String.class, byte[].class);
    }

    static Cache open(Order order) {
        return new EhcacheCache(order);
    }

    /** Without the last setting the cache would drop an entry that it cannot store, and say nothing. */
    @SuppressWarnings("deprecation")
    private CacheConfigurationBuilder<String, byte[]> configuration() {
        return CacheConfigurationBuilder.newCacheConfigurationBuilder(String.class, byte[].class, pools())
                .withSizeOfMaxObjectSize(Long.MAX_VALUE, MemoryUnit.B)
                .withExpiry(ttl)
                .withResilienceStrategy(new ThrowingResilienceStrategy<>());
    }

    @SuppressWarnings("deprecation")
    private ResourcePoolsBuilder pools() {
        ResourcePoolsBuilder pools = ResourcePoolsBuilder.newResourcePoolsBuilder();
        if (isOffHeap) {
            return pools.offheap(size / MIB, MemoryUnit.MB);
        }
        return entries > 0 ? pools.heap(entries, EntryUnit.ENTRIES) : pools.heap(size, MemoryUnit.B);
    }

    @Override
    String title() {
        return titled("Ehcache", CacheManager.class);
    }

    @Override
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        if (entries > 0) {
            settings.put("entries", Long.toString(entries));
        } else {
            settings.put("capacity_bytes", Long.toString(size));
        }
        settings.put("eviction", isOffHeap ? "clock" : "the least recently used of 8 sampled entries");
        settings.put("expiry", "each entry its own");
        settings.put("tier", isOffHeap ? "offheap" : "heap");
        return settings;
    }

    @Override
    byte[] get(Key key) throws Failure {
        try {
            return cache.get(key.asName());
        } catch (RuntimeException e) {
            throw explained(e);
        }
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Failure {
        put(key.asName(), value, ttlMillis);
    }

    private void put(String name, byte[] value, long ttlMillis) throws Failure {
        ttl.next(ttlMillis);
        try {
            cache.put(name, value);
        } catch (RuntimeException e) {
            throw explained(e);
        }
    }

    /** The cache does not tell whether it removed an entry, so it is asked before. */
    @Override
    boolean delete(Key key) throws Failure {
        String name = key.asName();
        try {
            boolean wasThere = cache.containsKey(name);
            cache.remove(name);
            return wasThere;
        } catch (RuntimeException e) {
            throw explained(e);
        }
    }

    /** The cache renews no TTL, so the value is stored again. */
    @Override
    boolean touch(Key key, long ttlMillis) throws Failure {
        byte[] value = get(key);
        if (value != null) {
            put(key.asName(), value, ttlMillis);
        }
        return value != null;
    }

    @Override
    long evictions() {
        return statistics.getCacheStatistics(NAME).getCacheEvictions();
    }

    @Override
    void close() {
        manager.close();
    }

    /** A value that no part of the memory outside the heap can take is too large; the strategy wraps the cause. */
    private Failure explained(RuntimeException caught) {
        for (Throwable cause = caught; cause != null; cause = cause.getCause()) {
            if (cause.getClass().getSimpleName().equals("OversizeMappingException")) {
                return new Failure("too_large", "the entry does not fit into " + size + " bytes outside the heap");
            }
        }
        return Failure.of(caught);
    }

    /** The cache asks for the TTL of an entry in the thread that stores it, and this thread has just named it. */
    private static final class OwnTtl implements ExpiryPolicy<String, byte[]> {
        private final ThreadLocal<Duration> next = ThreadLocal.withInitial(() -> INFINITE);

        void next(long ttlMillis) {
            next.set(ttlMillis == FOREVER ? INFINITE : Duration.ofMillis(ttlMillis));
        }

        @Override
        public Duration getExpiryForCreation(String name, byte[] value) {
            return next.get();
        }

        @Override
        public Duration getExpiryForAccess(String name, Supplier<? extends byte[]> value) {
            return null;
        }

        @Override
        public Duration getExpiryForUpdate(String name, Supplier<? extends byte[]> before, byte[] value) {
            return next.get();
        }
    }
}
