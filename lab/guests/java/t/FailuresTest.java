package larder;

import java.util.Arrays;
import java.util.Map;

/** Failures are counted by their kind, and end a phase where there is nothing else. */
final class FailuresTest {
    private FailuresTest() {}

    public static void main(String[] arguments) {
        Check.that("a hundred failures in a row are enough", () -> {
            Failure failure = gaveUp(1, 100);
            Check.equal(failure.text(), "gave up after 100 failures in a row: no answer", "text");
            Check.equal(failure.kind(), "timeout", "kind");
        });
        Check.that("ninety-nine failures before each success are never enough", () -> {
            TestRecords found = plan(1, 1000).run(new Failing(100));
            Check.equal(found.count(Block.ERROR), 990, "errors");
            Check.equal(found.count(Block.MISS), 10, "misses");
            Check.equal(found.errorsByKind(), "{timeout=990}", "kinds");
            Check.equal(TestRecords.words(found.notes.get(0)), "timeout\nno answer", "the first error");
            Check.equal(TestRecords.words(found.notes.get(1)), "timeout", "the next error");
        });
        Check.that("a request of many keys is one failure", () -> {
            Failure failure = gaveUp(7, 699);
            Check.is(failure != null && failure.text().startsWith("gave up after 100"), "700 keys are 100 requests");
        });
        Check.end();
    }

    /** A cache whose gets fail except for one of {@code every}. */
    private static final class Failing extends MapCache {
        private final int every;
        private int asked;

        Failing(int every) {
            this.every = every;
        }

        @Override
        byte[] get(Key key) throws Exception {
            if (++asked % every == 0) {
                return null;
            }
            throw new Failure("timeout", "no answer");
        }
    }

    private static TestPlan plan(int multiget, int count) {
        TestPlan plan = new TestPlan("a");
        int value = plan.value(0, 40);
        int[][] gets = new int[count][];
        Arrays.fill(gets, new int[] {0, 0, value});
        return plan.phase(Map.of("multiget", multiget), gets);
    }

    private static Failure gaveUp(int multiget, int count) throws Exception {
        try {
            plan(multiget, count + multiget).run(new Failing(Integer.MAX_VALUE));
            return null;
        } catch (Failure failure) {
            return failure;
        }
    }
}
