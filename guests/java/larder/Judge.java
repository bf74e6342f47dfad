package larder;

import java.util.BitSet;

/**
 * Whether a value that is not the expected one is right all the same, because somebody else stored a newer one; and if not, in
 * which way it is wrong. Only what differs comes here.
 */
final class Judge {
    /** A value without a header is hardly ever another one of this length by chance. */
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

    /** What should have been stored under this key was not acknowledged, so every value of its may be there. */
    void distrust(int key) {
        uncertain.set(key);
    }

    /** One that knows what this one knows, for another thread. */
    Judge another() {
        return new Judge(plan, (BitSet) uncertain.clone());
    }

    /** Knows from now on what the other has learned. */
    void learnFrom(Judge other) {
        uncertain.or(other.uncertain);
    }

    /** What an operation of the block got instead of what it wanted. */
    byte verdict(Block block, int n, byte[] got) {
        block.length[n] = got.length;
        if (!plan.replays && isRight(block, n, got)) {
            return Block.RIGHT;
        }
        byte outcome = plan.replays ? Block.DAMAGED : wrong(block.keyIndex[n], block.right[n], got);
        block.noteWrong(n, outcome, got);
        return outcome;
    }

    /** In which way what was got under a key is wrong, where the value of this number would have been right; 0 where none. */
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
     * A value of a key whose values are that short is told by its bytes alone. Otherwise it is what is left of a longer one, which
     * begins with the tag of its key.
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
     * Whether it is one of the values from the key's newest to the oldest that is right. Its number is looked up by its
     * first bytes, and it is compared with that one alone. Where nothing may be there no number is large enough.
     */
    private boolean isRight(Block block, int n, byte[] got) {
        int key = block.keyIndex[n];
        int number = plan.numbersOf(key).find(got);
        if (number == 0) {
            return false;
        }
        // What a miss would have stored under another key says nothing of this one's.
        boolean isNew = Integer.compareUnsigned(number, block.value[n]) >= 0 || block.underIndex[n] != key;
        return (isNew || uncertain.get(key)) && plan.values.isValue(number, got);
    }
}
