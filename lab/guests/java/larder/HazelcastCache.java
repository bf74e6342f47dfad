package larder;

import com.hazelcast.config.Config;
import com.hazelcast.config.EvictionConfig;
import com.hazelcast.config.EvictionPolicy;
import com.hazelcast.config.InMemoryFormat;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.MapConfig;
import com.hazelcast.config.MaxSizePolicy;
import com.hazelcast.config.NearCacheConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.instance.BuildInfoProvider;
import com.hazelcast.map.IMap;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * A Hazelcast map whose members live in this virtual machine: one member, or several that share the entries over
 * connections of the loopback. The threads ask the first member. They hand each operation to a thread of the member
 * that has the key, and get a copy of the value.
 */
final class HazelcastCache extends LocalCache {
    private static final String NAME = "larder";
    private static final String LOOPBACK = "127.0.0.1";
    private static final long MIB = 1 << 20;

    private final List<HazelcastInstance> members;
    private final boolean isNear;
    private final int nearEntries;
    private final int backups;
    private final long partitions;
    /** The size of each member's part of the map, in whole MiB. */
    private final int sizeMib;
    private final IMap<String, byte[]> map;

    private HazelcastCache(Order order) throws Exception {
        int count = (int) order.number("members", 1);
        isNear = order.isOn("near");
        nearEntries = (int) order.number("near_entries", EvictionConfig.DEFAULT_MAX_ENTRY_COUNT);
        backups = (int) order.number("backups", 0);
        partitions = order.number("partitions", 271);
        // Each copy of an entry counts on its member. Rounded down, so that the cache holds no more than was asked.
        long ofMember = order.number("size", 0) * Math.min(backups + 1, count) / count;
        sizeMib = (int) Math.max(1, Math.min(ofMember / MIB, Integer.MAX_VALUE));
        members = start(count);
        map = members.get(0).getMap(NAME);
    }

    static Cache open(Order order) throws Exception {
        return new HazelcastCache(order);
    }

    /** Starts the members on free ports. The name of their cluster is random, so that no other program joins it. */
    private List<HazelcastInstance> start(int count) throws Exception {
        String cluster = NAME + "-" + UUID.randomUUID();
        int[] ports = freePorts(count);
        List<HazelcastInstance> started = new ArrayList<>();
        for (int port : ports) {
            started.add(Hazelcast.newHazelcastInstance(configuration(cluster, port, ports)));
        }
        int joined = started.get(0).getCluster().getMembers().size();
        if (joined != count) {
            throw new Failure("io", "the cluster has " + joined + " members, not " + count);
        }
        return started;
    }

    private static int[] freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        int[] ports = new int[count];
        try {
            for (int n = 0; n < count; n++) {
                sockets.add(new ServerSocket(0, 1, InetAddress.getByName(LOOPBACK)));
                ports[n] = sockets.get(n).getLocalPort();
            }
        } finally {
            for (ServerSocket socket : sockets) {
                socket.close();
            }
        }
        return ports;
    }

    /** A member that looks for no other programs, reports to nobody, and is reached from this machine only. */
    private Config configuration(String cluster, int port, int[] ports) {
        Config config = new Config(cluster + "-" + port)
                .setClusterName(cluster)
                .setProperty("hazelcast.partition.count", Long.toString(partitions))
                .setProperty("hazelcast.phone.home.enabled", "false")
                .setProperty("hazelcast.logging.type", "none")
                .setProperty("hazelcast.socket.bind.any", "false");
        config.getJetConfig().setEnabled(false);
        config.getMetricsConfig().setEnabled(false);
        NetworkConfig network = config.getNetworkConfig().setPort(port).setPortAutoIncrement(false);
        network.getInterfaces().setEnabled(true).addInterface(LOOPBACK);
        JoinConfig join = network.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        if (ports.length > 1) {
            join.getTcpIpConfig().setEnabled(true);
            for (int other : ports) {
                join.getTcpIpConfig().addMember(LOOPBACK + ":" + other);
            }
        }
        return config.addMapConfig(mapConfiguration());
    }

    private MapConfig mapConfiguration() {
        MapConfig configuration = new MapConfig(NAME).setBackupCount(backups).setInMemoryFormat(InMemoryFormat.BINARY);
        configuration.getEvictionConfig()
                .setEvictionPolicy(EvictionPolicy.LRU)
                .setMaxSizePolicy(MaxSizePolicy.USED_HEAP_SIZE)
                .setSize(sizeMib);
        if (isNear) {
            NearCacheConfig near = new NearCacheConfig()
                    .setCacheLocalEntries(true)
                    .setInMemoryFormat(InMemoryFormat.OBJECT);
            near.getEvictionConfig().setSize(nearEntries);
            configuration.setNearCacheConfig(near);
        }
        return configuration;
    }

    /** A near cache answers entries beyond their TTL. */
    @Override
    boolean hasTtl() {
        return !isNear;
    }

    @Override
    String title() {
        return "Hazelcast " + BuildInfoProvider.getBuildInfo().getVersion();
    }

    @Override
    Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("backups", Integer.toString(Math.min(backups, members.size() - 1)));
        settings.put("eviction", "the least recently used of 15 sampled entries of the partition");
        settings.put("expiry", isNear ? "none" : "each entry its own, in whole seconds");
        settings.put("in_memory_format", InMemoryFormat.BINARY.name());
        settings.put("max_used_heap", sizeMib + " MiB in each member");
        settings.put("capacity_bytes", Long.toString(capacity()));
        settings.put("members", Integer.toString(members.size()));
        settings.put("partitions", Long.toString(partitions));
        settings.put("near", isNear ? nearEntries + " entries of each member, LRU" : "off");
        return settings;
    }

    /** The bytes of different entries that all members hold. */
    private long capacity() {
        return sizeMib * MIB * members.size() / Math.min(backups + 1, members.size());
    }

    @Override
    byte[] get(Key key) {
        return map.get(key.asName());
    }

    @Override
    void set(Key key, byte[] value, long ttlMillis) throws Failure {
        if (ttlMillis == FOREVER) {
            map.set(key.asName(), value);
        } else {
            hasNoNearCache();
            map.set(key.asName(), value, ttlMillis, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    boolean delete(Key key) {
        // As remove(), but without a copy of the value in the answer.
        return map.tryRemove(key.asName(), 1, TimeUnit.SECONDS);
    }

    @Override
    boolean touch(Key key, long ttlMillis) throws Failure {
        String name = key.asName();
        if (ttlMillis != FOREVER) {
            hasNoNearCache();
        }
        // It is false too where an entry without a TTL is to have none.
        return map.setTtl(name, ttlMillis, TimeUnit.MILLISECONDS) || map.containsKey(name);
    }

    private void hasNoNearCache() throws Failure {
        if (isNear) {
            throw new Failure("other", "a near cache answers entries beyond their TTL; leave out `near`, or the TTL");
        }
    }

    @Override
    Request request(Key[] keys, int from, int to) {
        String[] names = new String[to - from + 1];
        Set<String> different = new LinkedHashSet<>();
        for (int n = from; n <= to; n++) {
            names[n - from] = keys[n].asName();
            different.add(names[n - from]);
        }
        byte[][] found = new byte[names.length][];
        return () -> {
            Map<String, byte[]> values = new HashMap<>(map.getAll(different));
            for (int n = 0; n < names.length; n++) {
                found[n] = values.get(names[n]);
            }
            return found;
        };
    }

    @Override
    long evictions() {
        long sum = 0;
        for (HazelcastInstance member : members) {
            sum += member.getMap(NAME).getLocalMapStats().getEvictionCount();
        }
        return sum;
    }

    @Override
    void close() {
        members.forEach(member -> member.getLifecycleService().terminate());
    }
}
