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
            int place = placeOf(values.head(number));
            places[place] = places[place] == 0 ? number : places[place];
        }
    }

    /** The number of this value; 0 where it is none of the key's. */
    int find(byte[] got) {
        int number = places[placeOf(got)];
        return values.isValue(number, got) ? number : 0;
    }

    /** The place of the value that begins as this one, or the free place for it. */
    private int placeOf(byte[] value) {
        int place = Values.hashOfHead(value) & places.length - 1;
        while (places[place] != 0 && !values.hasHead(places[place], value)) {
            place = place + 1 & places.length - 1;
        }
        return place;
    }
}
