package larder;

/**
 * The measured loop: the floor of the language. It allocates nothing, and reads the clock once an operation, for the
 * end of an operation is the start of the next.
 */
final class Loop {
    private final Cache cache;
    private final Block block;
    private final Failures failures;
    private final Values values;
    private final long ttlMillis;

    Loop(Cache cache, Block block, Failures failures) {
        this.cache = cache;
        this.block = block;
        this.failures = failures;
        values = block.plan.values;
        ttlMillis = block.plan.ttlMillis;
    }

    /**
     * Works through the block from an operation on, until all operations are done or it is later than {@code until}.
     * Returns the first operation left. An exception of the cache is the error of its operation, and the next operation
     * follows; too many of them end in a failure.
     */
    int run(int from, long until) throws Failure {
        if (block.multiget > 1) {
            return requests(from, until);
        }
        int count = block.count;
        for (int n = from; n < count; n++) {
            if (step(n) - until > 0) {
                return n + 1;
            }
        }
        return count;
    }

    /** Does requests of many keys; the operations between them are done one by one. */
    private int requests(int from, long until) throws Failure {
        int n = from;
        while (n < block.count) {
            int to = block.requestTo[n];
            long now = block.kind[n] == Operations.GET ? request(n, to) : step(n);
            n = to + 1;
            if (now - until > 0) {
                break;
            }
        }
        return n;
    }

    /** Does one operation, and returns its end time. */
    private long step(int n) throws Failure {
        return switch (block.kind[n]) {
            case Operations.GET -> get(n);
            case Operations.SET -> set(n);
            case Operations.GET_OR_SET -> getOrSet(n);
            default -> change(n);
        };
    }

    private long get(int n) throws Failure {
        byte[] got;
        try {
            got = cache.get(block.key[n]);
        } catch (Exception | OutOfMemoryError e) {
            return failed(n, n, Block.ERROR, e);
        }
        long now = System.nanoTime();
        block.end[n] = now;
        if (got == null) {
            block.outcome[n] = Block.MISS;
        } else {
            compare(n, got);
        }
        return now;
    }

    private long set(int n) throws Failure {
        try {
            cache.set(block.key[n], block.stored[n], ttlMillis);
        } catch (Exception | OutOfMemoryError e) {
            return failed(n, n, Block.ERROR, e);
        }
        long now = System.nanoTime();
        block.end[n] = now;
        return now;
    }

    private long getOrSet(int n) throws Failure {
        byte[] got = null;
        byte onFailure = Block.ERROR;
        try {
            Cache client = cache.operation();
            try {
                got = client.get(block.key[n]);
                if (got == null) {
                    onFailure = Block.UNFILLED;
                    client.set(block.under[n], block.stored[n], ttlMillis);
                }
            } finally {
                cache.release(client);
            }
        } catch (Exception | OutOfMemoryError e) {
            return failed(n, n, onFailure, e);
        }
        long now = System.nanoTime();
        block.end[n] = now;
        if (got == null) {
            block.outcome[n] = Block.FILLED;
        } else {
            compare(n, got);
        }
        return now;
    }

    /** Deletes or touches. */
    private long change(int n) throws Failure {
        boolean wasThere;
        try {
            wasThere = block.kind[n] == Operations.DELETE
                    ? cache.delete(block.key[n])
                    : cache.touch(block.key[n], ttlMillis);
        } catch (Exception | OutOfMemoryError e) {
            return failed(n, n, Block.ERROR, e);
        }
        long now = System.nanoTime();
        block.end[n] = now;
        if (!wasThere) {
            block.outcome[n] = Block.MISS;
        }
        return now;
    }

    private long request(int from, int to) throws Failure {
        byte[][] found;
        try {
            found = block.requests[from].send();
        } catch (Exception | OutOfMemoryError e) {
            return failed(from, to, Block.ERROR, e);
        }
        long now = System.nanoTime();
        for (int n = from; n <= to; n++) {
            block.end[n] = now;
            byte[] got = found[n - from];
            if (got == null) {
                block.outcome[n] = Block.MISS;
            } else {
                compare(n, got);
            }
        }
        return now;
    }

    private void compare(int n, byte[] got) {
        if (!values.isValue(block.right[n], got)) {
            block.other(n, got);
        }
    }

    private long failed(int from, int to, byte outcome, Throwable caught) throws Failure {
        long now = System.nanoTime();
        for (int n = from; n <= to; n++) {
            block.end[n] = now;
            block.outcome[n] = outcome;
        }
        failures.add(from, to, Failure.of(caught));
        return now;
    }
}
