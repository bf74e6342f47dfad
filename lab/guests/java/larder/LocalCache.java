package larder;

/** A cache in the memory of this virtual machine. All threads use the one object, as in a usual program. */
abstract class LocalCache extends Cache {
    /** Gets one by one: such a cache saves no way by a request of many keys. */
    @Override
    Request request(Key[] keys, int from, int to) {
        byte[][] found = new byte[to - from + 1][];
        return () -> {
            for (int n = from; n <= to; n++) {
                found[n - from] = get(keys[n]);
            }
            return found;
        };
    }

    @Override
    Cache another() {
        return this;
    }

    /** The bytes of an entry besides the overhead that a cache has for each. */
    static long bytesOf(String name, byte[] value) {
        return (long) name.length() + value.length;
    }

    /** The refusal of a value that would fill the cache, or a part of it, alone and more. */
    static Failure tooLarge(Key key, byte[] value, long most) {
        long bytes = key.bytes().length + (long) value.length;
        return new Failure("too_large", "key and value have " + bytes + " bytes, and the cache takes " + most);
    }
}
