package larder;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** What was got is right, newer, truncated or wrong. */
final class VerificationTest {
    private static final Map<String, Object> GETS = Map.of("operations", List.of("get"));

    private VerificationTest() {}

    public static void main(String[] arguments) {
        for (int length : new int[] {5, 23, 24, 100}) {
            Check.that("a value of " + length + " bytes is right as it is, and in no other way", () -> verdicts(length));
        }
        Check.that("a newer value of the key is right, an older one is not", VerificationTest::newer);
        Check.that("where nothing may be there, a hit is wrong", () -> {
            TestPlan plan = new TestPlan("a");
            int value = plan.value(0, 50);
            plan.phase(GETS, new int[] {0, 0, Plan.NOTHING});
            counts(plan, plan.text(value), 0, 0, 1, 0);
        });
        Check.that("any value is right where the plan says so, and after a set that failed", VerificationTest::any);
        Check.end();
    }

    private static void verdicts(int length) throws Exception {
        for (String what : List.of("right", "short", "other", "longer", "missing")) {
            TestPlan plan = new TestPlan("a");
            int value = plan.value(0, length);
            plan.phase(GETS, new int[] {0, 0, value});
            byte[] text = plan.text(value);
            switch (what) {
                case "right" -> counts(plan, text, 1, 0, 0, 0);
                case "short" -> counts(plan, Arrays.copyOf(text, length - 1), 0, 0, 1, 1);
                case "longer" -> counts(plan, Arrays.copyOf(text, length + 1), 0, 0, 1, 0);
                case "missing" -> counts(plan, null, 0, 1, 0, 0);
                default -> {
                    text[length - 1]++;
                    counts(plan, text, 0, 0, 1, 0);
                }
            }
        }
    }

    private static void newer() throws Exception {
        for (int held : new int[] {1, 2, 3}) {
            TestPlan plan = new TestPlan("a", "b");
            plan.value(0, 40);
            int expected = plan.value(0, 50);
            plan.value(0, 60);
            plan.phase(GETS, new int[] {0, 0, expected});
            counts(plan, plan.text(held), held >= expected ? 1 : 0, 0, held >= expected ? 0 : 1, 0);
        }
    }

    private static void any() throws Exception {
        TestPlan plan = new TestPlan("a");
        int first = plan.value(0, 40);
        plan.value(0, 50);
        plan.phase(GETS, new int[] {0, 0, 0});
        counts(plan, plan.text(first), 1, 0, 0, 0);
        TestPlan failing = new TestPlan("a");
        int older = failing.value(0, 40);
        int newer = failing.value(0, 50);
        failing.phase(Map.of("operations", List.of("set")), new int[] {1, 0, newer});
        failing.phase(GETS, new int[] {0, 0, newer});
        MapCache cache = new MapCache() {
            @Override
            void set(Key key, byte[] value, long ttlMillis) throws Exception {
                throw new Failure("io", "nobody is there");
            }
        };
        cache.entries.put(Key.of("a".getBytes()), failing.text(older));
        Check.equal(failing.found(cache, "get").get("hits"), 1, "hits of the older");
    }

    private static void counts(TestPlan plan, byte[] held, int hits, int misses, int wrong, int truncated)
            throws Exception {
        MapCache cache = new MapCache();
        if (held != null) {
            cache.entries.put(Key.of("a".getBytes()), held);
        }
        Map<String, Object> found = plan.found(cache, "get");
        List<Object> counted =
                List.of(found.get("hits"), found.get("misses"), found.get("wrong"), found.get("truncated"));
        Check.equal(counted, List.of(hits, misses, wrong, truncated), "hits, misses, wrong, truncated");
        Check.equal(found.get("bytes"), held == null ? 0 : held.length, "bytes");
    }
}
