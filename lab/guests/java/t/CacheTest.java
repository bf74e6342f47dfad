package larder;

import java.util.List;
import java.util.Map;
import java.util.Properties;

/** The settings of a cache: times to live, and the modes of TLS. */
final class CacheTest {
    private CacheTest() {}

    public static void main(String[] arguments) {
        Check.that("no finite TTL becomes for ever", () -> {
            Check.equal(Cache.ttlMillis(0.000_1), 1, "a tenth of a millisecond");
            Check.equal(Cache.ttlMillis(0.001_5), 2, "one and a half");
            Check.equal(Cache.ttlMillis(1.1), 1100, "a fraction that binary numbers have not");
            Check.equal(Cache.ttlMillis(1e300), 1L << 52, "longer than there are milliseconds");
        });
        Check.that("the certificate authorities that are named are used", () -> {
            Check.equal(sslmode("require"), "require", "nobody is named");
            Check.equal(sslmode("require", "sslrootcert", "ca.pem"), "verify-ca", "with a file");
            Check.equal(sslmode("verify-full", "sslrootcert", "ca.pem"), "verify-full", "with a file and a name");
            Check.equal(sslmode("prefer", "sslrootcert", "ca.pem"), "prefer", "that asks for nothing");
        });
        Check.that("verify-full without an authority is refused", () -> {
            try {
                sslmode("verify-full");
                throw new AssertionError("nobody was named");
            } catch (Failure failure) {
                String words = "sslmode=verify-full needs the authorities to trust: add sslrootcert=FILE";
                Check.equal(failure.text(), words, "text");
            }
        });
        Check.that("values that the cache refuses are left out of the warm-up", () -> {
            TestPlan plan = new TestPlan("a", "b");
            int large = plan.value(0, 50_000);
            int small = plan.value(1, 40);
            int[][] gets = {{0, 0, large}, {0, 1, small}};
            plan.phase(Map.of(), gets);
            Small cache = new Small();
            WarmUp.run(cache, plan.read());
            // On a slow machine the time of the warm-up is over first.
            Check.is(cache.stored > 0, "no set in the warm-up");
            Check.equal(cache.refused, 1, "tries of the large value");
        });
        Check.that("the warm-up leaves no entries behind", () -> {
            TestPlan plan = new TestPlan("a", "b");
            int value = plan.value(0, 100);
            plan.phase(Map.of(), new int[] {Operations.GET_OR_SET, 0, value}, new int[] {Operations.GET, 0, value});
            MapCache cache = new MapCache();
            WarmUp.run(cache, plan.read());
            Check.equal(cache.entries.size(), 0, "entries");
        });
        Check.end();
    }

    private static String sslmode(String mode, String... more) throws Failure {
        Map<String, String> access = more.length == 0
                ? Map.of("sslmode", mode)
                : Map.of("sslmode", mode, more[0], more[1]);
        Properties properties = PostgresqlCache.properties(new Order("postgresql", Map.of(), List.of(), access));
        return properties.getProperty("sslmode");
    }

    /** Refuses large values. */
    private static final class Small extends MapCache {
        private int stored;
        private int refused;

        @Override
        void set(Key key, byte[] value, long ttlMillis) throws Exception {
            if (value.length > 1000) {
                refused++;
                throw new Failure("too_large", "no");
            }
            stored++;
            super.set(key, value, ttlMillis);
        }
    }
}
