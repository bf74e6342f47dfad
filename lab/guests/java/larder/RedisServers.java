package larder;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The servers of Redis' clients: their addresses, and what the clients have to say to them. Several are a cluster. */
record RedisServers(List<Address> addresses, int database, String user, String password) {
    /** A node, by the name or number of its host. */
    record Address(String host, int port) {}

    static RedisServers of(Order order) throws Failure {
        Map<String, String> access = order.access();
        if ("on".equals(access.get("tls"))) {
            throw new Failure("other", "this guest takes no TLS; leave out `tls`");
        }
        List<Address> addresses = new ArrayList<>();
        for (String server : order.servers()) {
            if (server.startsWith("/")) {
                throw new Failure("other", "this guest uses no Unix socket; leave out `socket`");
            }
            int colon = server.lastIndexOf(':');
            String host = server.substring(0, colon).replaceAll("^\\[|]$", "");
            addresses.add(new Address(host, Integer.parseInt(server.substring(colon + 1))));
        }
        if (addresses.size() > 1 && access.get("via") != null) {
            throw new Failure("other", "a client of a cluster passes a relay by; leave out `via` or `nodes`");
        }
        int database = Integer.parseInt(access.getOrDefault("db", "0"));
        return new RedisServers(addresses, database, access.get("user"), access.get("password"));
    }

    boolean isCluster() {
        return addresses.size() > 1;
    }

    /** The settings that both clients tell. */
    Map<String, String> settings(Order order, long timeoutMillis) {
        Map<String, String> settings = new TreeMap<>();
        settings.put("connect", order.text("connect", "session"));
        settings.put("servers", String.join(", ", order.servers()));
        settings.put("timeout", timeoutMillis + " ms");
        return settings;
    }

    /** The failure of an answer or a connection: a full server says so, and a lost connection has no other words. */
    static Failure explained(RuntimeException caught, boolean isLost) {
        Failure failure = Failure.of(caught);
        if (!failure.kind().equals("other")) {
            return failure;
        }
        if (failure.text().startsWith("OOM ")) {
            return new Failure("full", failure.text());
        }
        return isLost ? new Failure("io", failure.text()) : failure;
    }
}
