package larder;

import java.util.BitSet;

/**
 * Decides whether an unexpected value is right because another thread stored a newer value, and otherwise in which way
 * it is wrong. The judge sees only values that differ from the expected one.
 */
final class Judge {
    /** A value without a header that is at least this long hardly ever equals another value by chance. */
    private static final int TELLING_BYTES = 8;

    private final Plan plan;
    private final BitSet uncertain;

    Judge(Plan plan) {
        this(plan, new BitSet());
    }

    private Judge(Plan plan, BitSet uncertain) {
        this.plan = plan;
        this.uncertain = uncertain;
    }

    /** A change of this key was not acknowledged, so it may have any of its values. */
    void distrust(int key) {
        uncertain.set(key);
    }

    /** A judge with the same knowledge, for another thread. */
    Judge another() {
        return new Judge(plan, (BitSet) uncertain.clone());
    }

    /** Adds the knowledge of another judge. */
    void learnFrom(Judge other) {
        uncertain.or(other.uncertain);
    }

    /** The outcome of operation {@code n} of the block, which got {@code got} instead of the expected value. */
    byte verdict(Block block, int n, byte[] got) {
        block.length[n] = got.length;
        if (!plan.replays && isRight(block, n, got)) {
            return Block.RIGHT;
        }
        byte outcome = plan.replays ? Block.DAMAGED : wrong(block.keyIndex[n], block.right[n], got);
        block.noteWrong(n, outcome, got);
        return outcome;
    }

    /** In which way {@code got} is wrong; {@code right} is the number of the right value, or 0 without one. */
    private byte wrong(int key, int right, byte[] got) {
        if (got.length < Header.BYTES) {
            return wrongWithoutHeader(key, right, got);
        }
        Header.Read read = plan.values.origin.readIntact(got);
        if (read == null) {
            return Block.DAMAGED;
        }
        if (read.tag() != plan.values.origin.tagOf(key)) {
            return Block.OTHER_KEY;
        }
        return Integer.compareUnsigned(got.length, read.length()) < 0 ? Block.TRUNCATED : Block.STALE;
    }

    /**
     * Where the key's values are shorter than a header, their bytes alone tell them apart. Otherwise a truncated value
     * begins as the tag of its key does.
     */
    private byte wrongWithoutHeader(int key, int right, byte[] got) {
        int newest = plan.newest[key];
        boolean isCut;
        if (newest != 0 && plan.values.length(newest) < Header.BYTES) {
            if (got.length >= TELLING_BYTES && plan.numbersOf(key).find(got) != 0) {
                return Block.STALE;
            }
            isCut = right != 0 && got.length < plan.values.length(right) && plan.values.begins(right, got);
        } else {
            isCut = plan.values.origin.begins(key, got);
        }
        return isCut ? Block.TRUNCATED : Block.DAMAGED;
    }

    /**
     * Whether {@code got} is one of the key's values from the oldest right one to the newest. Its first bytes give the
     * number of the one value to compare it with. Where the key must be absent, no number is large enough.
     */
    private boolean isRight(Block block, int n, byte[] got) {
        int key = block.keyIndex[n];
        int number = plan.numbersOf(key).find(got);
        if (number == 0) {
            return false;
        }
        // The value of a fill under another key says nothing about the values of this key.
        boolean isNew = Integer.compareUnsigned(number, block.value[n]) >= 0 || block.underIndex[n] != key;
        return (isNew || uncertain.get(key)) && plan.values.isValue(number, got);
    }
}
