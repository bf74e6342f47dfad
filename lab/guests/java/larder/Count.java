package larder;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Adds the loop's notes on a finished block to the tally of each operation. */
final class Count {
    private static final List<String> NAMES = List.of("get", "set", "get_or_set", "delete", "touch");

    private final Map<String, Tally> tallies = new LinkedHashMap<>();
    private final Tally[] tallyOf = new Tally[NAMES.size()];
    private String firstError;

    /** With {@code multiget} above 1 a get is a request of that many keys. */
    Count(List<String> operations, int multiget) {
        for (byte kind = 0; kind < tallyOf.length; kind++) {
            String name = kind == Operations.GET && multiget > 1 ? "get_many" : NAMES.get(kind);
            if (operations.contains(name)) {
                tallyOf[kind] = new Tally(kind == Operations.GET || kind == Operations.GET_OR_SET);
                tallies.put(name, tallyOf[kind]);
            }
        }
    }

    void add(Block block) {
        new TreeMap<>(block.errors).forEach((n, failure) -> {
            firstError = firstError == null ? failure.text() : firstError;
            tallyOf[block.kind[n]].addError(failure);
        });
        block.settleMisses();
        block.wrong.forEach((kind, wrong) -> tallyOf[kind].addWrong(block, wrong));
        for (Block.Segment segment : block.segments) {
            addSegment(block, segment);
        }
    }

    private void addSegment(Block block, Block.Segment segment) {
        long origin = segment.began() - segment.elapsed();
        long then = segment.began();
        int n = segment.from();
        while (n <= segment.to()) {
            Tally tally = tallyOf[block.kind[n]];
            boolean isRequest = block.kind[n] == Operations.GET && block.multiget > 1;
            int to = isRequest ? block.requestTo[n] : n;
            long end = block.end[to];
            if (isRequest) {
                tally.addRequest(block, n, to, end - origin, end - then);
            } else {
                tally.add(block, n, end - origin, end - then);
            }
            then = end;
            n = to + 1;
        }
    }

    /** The counts of each operation, for the result of the phase. */
    Map<String, Object> over(long wall) {
        Map<String, Object> found = new LinkedHashMap<>();
        tallies.forEach((name, tally) -> found.put(name, tally.over(wall)));
        return found;
    }

    String firstError() {
        return firstError;
    }
}
