package larder;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Several threads share a phase; time ends one; what was noted adds up. */
final class ThreadsTest {
    private static final int COUNT = 3_000;

    private ThreadsTest() {}

    public static void main(String[] arguments) {
        Check.that("three threads do what one would, and one without work is no reason", () -> {
            List<Map<String, Object>> ran = sets(3, COUNT);
            Check.equal(ran.stream().mapToLong(one -> of(one, "ops")).sum(), COUNT, "operations of all");
            for (Map<String, Object> one : ran) {
                addsUp(one);
            }
            List<Map<String, Object>> few = sets(4, 3);
            Check.equal(of(few.get(3), "ops"), 0, "operations of the fourth");
            Check.equal(few.get(3).get("start_ns"), 0, "its start");
            Check.equal(few.get(3).get("cpu_user_ns"), 0, "its processor time");
        });
        Check.that("latencies, time line and busy time of a thread add up", () -> addsUp(sets(1, COUNT).get(0)));
        Check.that("time ends a phase, and until then the operations come again", () -> {
            TestPlan plan = new TestPlan("a");
            int value = plan.value(0, 100);
            plan.replays = true;
            plan.phase(Map.of("operations", List.of("set")), new int[] {1, 0, value});
            int[][] gets = new int[COUNT][];
            Arrays.fill(gets, new int[] {0, 0, value});
            plan.phase(Map.of("operations", List.of("get"), "time_limit_s", 0.2, "again", true), gets);
            long began = System.nanoTime();
            Map<String, Object> ran = plan.run(new NullCache()).get(0);
            Check.is((long) ran.get("wall_ns") >= 200_000_000, "it lasts as long");
            Check.is(System.nanoTime() - began < 20_000_000_000L, "and ends");
            Check.is(of(ran, "hits") > COUNT && of(ran, "hits") == of(ran, "ops"), "all are right");
        });
        Check.that("what warms up leaves nothing behind", () -> {
            TestPlan plan = new TestPlan("a", "b");
            plan.phase(
                    Map.of("operations", List.of("get", "get_or_set")), new int[] {2, 0, plan.value(0, 100)});
            MapCache cache = new MapCache();
            WarmUp.run(cache, plan.read());
            Check.equal(cache.entries.size(), 0, "entries");
        });
        Check.end();
    }

    private static List<Map<String, Object>> sets(int processes, int count) throws Exception {
        TestPlan plan = new TestPlan("a");
        plan.processes = processes;
        int[][] sets = new int[count][];
        for (int n = 0; n < count; n++) {
            sets[n] = new int[] {1, 0, plan.value(0, 100)};
        }
        return plan.phase(Map.of("operations", List.of("set")), sets).run(new MapCache());
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> only(Map<String, Object> ran) {
        return ((Map<String, Map<String, Object>>) ran.get("operations")).values().iterator().next();
    }

    private static long of(Map<String, Object> ran, String name) {
        return (long) only(ran).get(name);
    }

    @SuppressWarnings("unchecked")
    private static void addsUp(Map<String, Object> ran) {
        long ops = of(ran, "ops");
        long times = 0;
        long nanos = 0;
        for (List<Long> pair : (List<List<Long>>) only(ran).get("latencies")) {
            Check.is(pair.get(0) < 1000 || pair.get(0) % 10 == 0, pair + " has three digits");
            times += pair.get(1);
            nanos += pair.get(0) * pair.get(1);
        }
        long busy = of(ran, "busy_ns");
        Check.equal(times, ops, "latencies");
        Check.is(Math.abs(nanos - busy) <= busy / 50 + ops, nanos + " ns of latencies, " + busy + " ns busy");
        Check.is(busy <= (long) ran.get("wall_ns"), "busy no longer than it lasted");
        var timeline = (Map<String, Object>) only(ran).get("timeline");
        long inSlots = ((List<Long>) timeline.get("ops")).stream().mapToLong(slot -> slot).sum();
        Check.equal(inSlots, ops, "operations in slots");
        Check.equal(Long.bitCount((long) timeline.get("slot_ns")), 1, "bits of a slot's length");
    }
}
