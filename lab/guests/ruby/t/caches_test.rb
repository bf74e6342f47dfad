# frozen_string_literal: true

require_relative "support"

# The settings of opened caches, and what is special about each.
class CachesTest < Case
  def test_the_options_of_the_user_are_the_options_of_the_cache
    need_library("active_support")
    settings = guest("memorystore", options: { size: 1 << 20, max_prune_time: 0.5 }).opened["settings"]
    assert_equal(["1048576", "0.5 s"], counts(settings, :size, :max_prune_time))
    settings = guest("filestore", options: { compression: true, compress_threshold: 100 }).opened["settings"]
    assert_equal("on, from 100 bytes on", settings["compression"])
    need_library("dalli")
    options = { raw: false, compression: true, socket_timeout: 0.5, down_retry_delay: 2 }
    settings = guest("dalli", servers: [memcached.address], options: options).opened["settings"]
    told = counts(settings, :raw, :compression, :socket_timeout, :down_retry_delay)
    assert_equal(["off", "on, from 4096 bytes on", "0.5 s", "2 s"], told)
  end

  def test_entries_that_the_memory_store_drops_are_counted_as_evictions
    need_library("active_support")
    guest = guest("memorystore", options: { size: 1 << 20 })
    made = plan(Array.new(100) { |n| "key-#{n}" })
    values = Array.new(100) { |n| made.value(n, 60_000) }
    made.phase(values.each_with_index.map { |value, n| [:set, n, value] })
    made.phase(values.each_with_index.map { |value, n| [:get, n, value] })
    assert_equal({ "loaded" => true, "evictions" => 0 }, guest.ask("load #{made.write}"))
    evictions = guest.ask("run 0")["evictions"]
    assert_equal({ "ran" => 1, "evictions" => 0 }, guest.ask("run 1"))
    get = made.result(1)[0]["operations"]["get"]
    assert_operator(get["hits"], :>, 10)
    assert_equal(evictions, get["misses"])
  end

  def test_a_value_that_the_memory_store_drops_at_once_is_not_stored
    need_library("active_support")
    guest = guest("memorystore", options: { size: 1 << 20 })
    assert_equal(true, guest.set("small", "x")["stored"])
    refused = guest.set("large", "x" * 1_200_000)
    assert_match(/\Akey and value of 1200005 bytes are larger than largest_entry, 786192 bytes\z/, refused["why"])
    assert_match(/cannot renew a time to live\z/, guest.ask("touch 5 9", "small")["error"])
  end

  def test_another_process_finds_the_files_that_the_first_one_stored
    need_library("active_support")
    files = folder
    first = guest("filestore", folder: files)
    first.set("kept", "x" * 50_000)
    assert_equal(0, first.end)
    assert_equal("x" * 50_000, guest("filestore", folder: files, fresh: false).get("kept"))
    assert_nil(guest("filestore", folder: files).get("kept"), "or begins empty")
  end

  def test_tiers_are_counted_and_a_nearer_one_never_has_an_older_value
    need_library("active_support")
    tiers = [{ cache: "memorystore", options: { size: 1 << 20 } }, { cache: "filestore", folder: folder, options: {} }]
    made = plan(%w[grows stays])
    small, stays, large = made.value(0, 100), made.value(1, 100), made.value(0, 1_200_000)
    made.phase([[:set, 0, small], [:set, 1, stays], [:set, 0, large]])
    made.phase([[:get, 0, large], [:get, 1, stays], [:get, 1, stays]])
    (sets,), (gets,) = guest("tiered", tiers: tiers).run(made)
    assert_equal(3, sets["operations"]["set"]["succeeded"])
    assert_equal(3, gets["operations"]["get"]["hits"])
    told = ->(of) { of["tiers"].map { |tier| counts(tier, :name, :hits, :misses, :fills, :refused) } }
    assert_equal([["memorystore", 0, 0, 0, 1], ["filestore", 0, 0, 0, 0]], told.call(sets))
    # The large value empties the nearer tier at each fill.
    assert_equal([["memorystore", 1, 2, 1, 1], ["filestore", 2, 0, 0, 0]], told.call(gets))
  end

  def test_a_fill_has_the_shortest_ttl_of_all_sets
    need_library("active_support")
    files = folder
    tiers = [{ cache: "hash", options: {} }, { cache: "filestore", folder: files, options: {} }]
    guest("filestore", folder: files).then { |first| [first.set("key", "x", "60"), first.end] }
    guest = guest("tiered", tiers: tiers, fresh: false)
    guest.ask("load #{plan(%w[key], ttl_s: 0.3).write}")
    assert_equal("x", guest.get("key"))
    FileUtils.rm_rf(Dir["#{files}/*"])
    assert_equal("x", guest.get("key"), "the nearer tier has it")
    sleep 0.4
    assert_nil(guest.get("key"), "and not for ever")
  end
end
