package larder;

import java.util.BitSet;

/**
 * Whether a value that is not the expected one is right all the same, because somebody else stored a newer one, or a
 * truncated one, or plainly wrong. Only what differs comes here.
 */
final class Judge {
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
        int wanted = block.length[n];
        block.length[n] = got.length;
        if (!plan.replays && isRight(block, n, got)) {
            return Block.RIGHT;
        }
        boolean isShort = block.right[n] != 0 && got.length < wanted;
        return isShort && plan.values.begins(block.right[n], got) ? Block.TRUNCATED : Block.WRONG;
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
