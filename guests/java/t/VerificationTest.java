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
        Check.that("each way in which a value is wrong is told", VerificationTest::ways);
        Check.that("where nothing may be there, a miss is right", VerificationTest::gone);
        Check.end();
    }

    private static void ways() throws Exception {
        TestPlan plan = new TestPlan("a", "b");
        byte[] older = plan.text(plan.value(0, 40));
        int expected = plan.value(0, 50);
        byte[] other = plan.text(plan.value(1, 60));
        byte[] text = plan.text(expected);
        byte[] damaged = text.clone();
        damaged[30] ^= 1;
        byte[] forged = older.clone();
        forged[9] ^= 1;
        plan.phase(GETS, new int[] {0, 0, expected});
        wrong(plan, older, "stale");
        wrong(plan, plan.stranger(0, 77_777, 50), "stale");
        wrong(plan, other, "other_key");
        wrong(plan, Arrays.copyOf(other, 30), "other_key");
        wrong(plan, Arrays.copyOf(text, 49), "truncated");
        wrong(plan, Arrays.copyOf(older, 39), "truncated");
        wrong(plan, Arrays.copyOf(text, 7), "truncated");
        wrong(plan, new byte[0], "truncated");
        wrong(plan, damaged, "damaged");
        wrong(plan, forged, "damaged");
        wrong(plan, Arrays.copyOf(text, 51), "damaged");
        wrong(plan, new byte[7], "damaged");
        TestPlan shorter = new TestPlan("a");
        byte[] first = shorter.text(shorter.value(0, 12));
        int second = shorter.value(0, 12);
        shorter.phase(GETS, new int[] {0, 0, second});
        wrong(shorter, first, "stale");
        wrong(shorter, Arrays.copyOf(shorter.text(second), 5), "truncated");
        wrong(shorter, new byte[12], "damaged");
    }

    /** That a value is wrong in one way and in no other, and is told with what was asked for. */
    private static void wrong(TestPlan plan, byte[] held, String way) throws Exception {
        MapCache cache = new MapCache();
        cache.entries.put(Key.of("a".getBytes()), held);
        Map<String, Object> found = plan.found(cache, "get");
        for (String each : List.of("damaged", "other_key", "stale", "truncated")) {
            Check.equal(found.get(each), each.equals(way) ? 1 : 0, each + " where it is " + way);
        }
        Map<String, Object> example = Map.of(
                "key", 0, "value", 2, "length", held.length, "begins", java.util.HexFormat.of().formatHex(held));
        Check.equal(found.get("wrong_examples").toString(), new java.util.TreeMap<>(Map.of(way, order(example))).toString(), way);
    }

    private static Map<String, Object> order(Map<String, Object> example) {
        Map<String, Object> ordered = new java.util.LinkedHashMap<>();
        for (String name : List.of("key", "value", "length", "begins")) {
            ordered.put(name, example.get(name));
        }
        return ordered;
    }

    private static void gone() throws Exception {
        for (String name : List.of("get", "get_many")) {
            TestPlan plan = new TestPlan("a", "b");
            Map<String, Object> options = Map.of("operations", List.of(name), "multiget", name.equals("get") ? 1 : 2);
            plan.phase(options, new int[] {0, 0, Plan.NOTHING}, new int[] {0, 1, 0});
            Map<String, Object> found = plan.found(new MapCache(), name);
            Check.equal(
                    List.of(found.get("misses"), found.get("planned_misses"), found.get("succeeded"), found.get("bytes")),
                    List.of(2, 1, 1, 0),
                    "misses, planned, succeeded, bytes");
            Check.equal(((List<?>) found.get("latencies")).size(), 1, "latencies");
        }
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
