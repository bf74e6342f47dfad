package larder;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Caches in the memory of the virtual machine, as far as they need no library; and a client for each operation. */
final class LocalCacheTest {
    private LocalCacheTest() {}

    public static void main(String[] arguments) {
        Check.that("an entry of the map is there until its TTL has passed", () -> {
            HashMapCache cache = new HashMapCache();
            cache.set(key("mortal"), value("m"), 40);
            cache.set(key("lasting"), value("l"), Cache.FOREVER);
            cache.set(key("years"), value("y"), Cache.ttlMillis(1e12));
            Check.equal(text(cache.get(key("mortal"))), "m", "before");
            Thread.sleep(60);
            Check.is(!cache.touch(key("mortal"), 1000), "a touch brought an expired entry back");
            Check.equal(cache.get(key("mortal")), null, "after");
            Check.is(!cache.delete(key("mortal")), "a delete found an expired entry");
            Check.equal(text(cache.get(key("lasting"))), "l", "without a TTL");
            Check.equal(text(cache.get(key("years"))), "y", "a TTL of thousands of years");
        });
        Check.that("a touch renews and ends a TTL", () -> {
            HashMapCache cache = new HashMapCache();
            cache.set(key("a"), value("1"), 1);
            cache.set(key("b"), value("2"), Cache.FOREVER);
            Check.is(cache.touch(key("b"), 1), "the entry is there");
            cache.set(key("c"), value("3"), 60_000);
            Check.is(cache.touch(key("c"), Cache.FOREVER), "the entry is there");
            Thread.sleep(5);
            Check.equal(cache.get(key("a")), null, "its own TTL");
            Check.equal(cache.get(key("b")), null, "a touched TTL");
            Check.equal(text(cache.get(key("c"))), "3", "no TTL any more");
            Check.equal(cache.evictions(), 0, "an expired entry is no eviction");
        });
        Check.that("keys that are no texts have names of their own", () -> {
            HashMapCache cache = new HashMapCache();
            byte[][] keys = {{(byte) 0xff}, {(byte) 0xc3, (byte) 0xbf}, {(byte) 0xfe}, {}, {0}};
            for (byte[] bytes : keys) {
                cache.set(Key.of(bytes), bytes, Cache.FOREVER);
            }
            for (byte[] bytes : keys) {
                Check.equal(List.of(new Key(cache.get(Key.of(bytes)), null)), List.of(new Key(bytes, null)), "value");
            }
        });
        Check.that("each operation has a client of its own, and a get and its fill are one operation", () -> {
            Counted first = new Counted(new ArrayList<>());
            PerOperation cache = new PerOperation(first, () -> new Counted(first.closed), true);
            TestPlan plan = new TestPlan("a", "b");
            int value = plan.value(0, 40);
            plan.phase(
                    Map.of(),
                    new int[] {Operations.SET, 0, value},
                    new int[] {Operations.GET, 0, value},
                    new int[] {Operations.GET_OR_SET, 0, value},
                    new int[] {Operations.DELETE, 0, 0});
            plan.run(cache);
            Check.equal(first.closed, "[1, 1, 2, 1]", "the operations of each client");
        });
        Check.end();
    }

    private static Key key(String name) {
        return Key.of(value(name));
    }

    private static byte[] value(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] value) {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    /** A client that notes how many operations it did when it is closed. It has no entries. */
    private static final class Counted extends MapCache {
        private final List<Integer> closed;
        private int operations;

        Counted(List<Integer> closed) {
            this.closed = closed;
        }

        @Override
        byte[] get(Key key) {
            operations++;
            return null;
        }

        @Override
        void set(Key key, byte[] value, long ttlMillis) throws Exception {
            operations++;
        }

        @Override
        boolean delete(Key key) {
            operations++;
            return false;
        }

        @Override
        void close() {
            closed.add(operations);
        }
    }
}
