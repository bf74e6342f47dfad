package larder;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The blocks of a record, and the notes in them. */
final class RecordsTest {
    private static final int LARGE = 1 << 20;

    private RecordsTest() {}

    public static void main(String[] arguments) {
        Check.that("a value of the key is noted by its number, and any other by its bytes", () -> {
            TestPlan plan = new TestPlan("a", "b");
            int older = plan.value(0, 40);
            int newer = plan.value(0, 40);
            plan.phase(Map.of(), gets(0, newer, 2));
            byte[] value = plan.read().values.compose(older);
            byte[] strange = Arrays.copyOf(value, 39);
            TestRecords found = plan.run(new Answering(List.of(value, strange)));
            Check.equal(found.count(Block.OTHER), 2, "other values");
            Check.equal(numbers(found), "[[0, 1, 1, 0], [1, 2, 39, 39]]", "operation, kind, number, bytes");
            Check.is(Arrays.equals(found.notes.get(1).bytes(), strange), "its bytes");
        });
        Check.that("a block has 16 MiB of other values, and the beginning of the values after these", () -> {
            TestPlan plan = new TestPlan("a");
            plan.phase(Map.of(), gets(0, plan.value(0, 40), 18));
            TestRecords found = plan.run(new Answering(List.of(new byte[LARGE])));
            List<Block.Note> last = found.notes.subList(15, 18);
            Check.equal(last.stream().map(note -> note.bytes().length).toList(), "[1048576, 64, 64]", "bytes");
            Check.equal(last.stream().map(Block.Note::number).distinct().toList(), "[1048576]", "lengths");
        });
        Check.that("a block has at most 4,096 operations, and begins anew where these come again", () -> {
            TestPlan plan = new TestPlan("a");
            plan.phase(Map.of("again", true, "time_limit_s", 0.2), gets(0, plan.value(0, 40), 5000));
            TestRecords found = plan.run(new MapCache());
            Check.equal(found.blocks.subList(0, 4), "[4096, 904, 4096, 904]", "operations");
        });
        Check.end();
    }

    private static int[][] gets(int key, int value, int count) {
        int[][] gets = new int[count][];
        Arrays.fill(gets, new int[] {Operations.GET, key, value});
        return gets;
    }

    private static List<List<Integer>> numbers(TestRecords found) {
        return found.notes.stream()
                .map(note -> List.of(note.operation(), note.kind(), note.number(), note.bytes().length))
                .toList();
    }

    /** A cache whose gets have these answers, the last of them again and again. */
    private static final class Answering extends MapCache {
        private final List<byte[]> answers;
        private int asked;

        Answering(List<byte[]> answers) {
            this.answers = answers;
        }

        @Override
        byte[] get(Key key) {
            return answers.get(Math.min(asked++, answers.size() - 1));
        }
    }
}
