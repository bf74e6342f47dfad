package larder;

/**
 * The numbers of one key's values, found by the first bytes of each value, which are unique. Of equal short values: the
 * newest. A hot key has thousands of values, and the clock runs during the look-up.
 */
final class Numbers {
    private final Values values;
    /** Open addressing; 0 is a free place. */
    private final int[] places;

    Numbers(Values values, int newest) {
        this.values = values;
        int count = 0;
        for (int number = newest; number != 0; number = values.previous(number)) {
            count++;
        }
        places = new int[Math.max(2, Integer.highestOneBit(count) << 2)];
        for (int number = newest; number != 0; number = values.previous(number)) {
            add(number);
        }
    }

    /** The number of the value that begins as this one; 0 where there is no such value. */
    int find(byte[] got) {
        int place = Values.hashOfHeader(got) & places.length - 1;
        while (places[place] != 0 && !values.hasHeaderOf(places[place], got)) {
            place = place + 1 & places.length - 1;
        }
        return places[place];
    }

    private void add(int number) {
        byte[] value = null;
        int place = values.hashOfHeader(number) & places.length - 1;
        while (places[place] != 0) {
            if (value == null) {
                value = values.compose(number);
            }
            if (values.hasHeaderOf(places[place], value)) {
                return;
            }
            place = place + 1 & places.length - 1;
        }
        places[place] = number;
    }
}
