# frozen_string_literal: true

require_relative "support"

# A failure is reported in one line and is no miss.
class FailuresTest < Case
  def test_a_library_that_is_missing_is_reported_with_its_remedy
    hidden = folder
    File.write("#{hidden}/dalli.rb", "raise LoadError, 'cannot load such file -- dalli'\n")
    opened = guest("dalli", environment: { "RUBYLIB" => hidden }).opened
    assert_equal({ "unavailable" => "the Ruby library dalli is not installed: ./setup.sh --with ruby" }, opened)
    assert_match(/\Aunknown cache: apcu; known: null, hash, /, guest("apcu").opened["unavailable"])
  end

  def test_text_that_a_library_prints_does_not_get_into_the_answers
    noisy = folder
    File.write("#{noisy}/dalli.rb", "puts 'hello'\nraise 'no library'\n")
    guest = guest("dalli", environment: { "RUBYLIB" => noisy })
    assert_equal({ "unavailable" => "no library" }, guest.opened)
    assert_equal("hello\n", File.read("#{guest.folder}/stderr"))
  end

  def test_a_full_file_system_is_an_error_in_the_words_of_the_system
    need_library("active_support")
    mount = folder
    mounted = system("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount, err: File::NULL)
    need(mounted || Process.uid != 0, "a file system could not be mounted")
    return unless mounted

    @ends << -> { system("umount", mount) }
    guest = guest("filestore", folder: mount)
    assert_equal(true, guest.set("old", "x" * 400_000)["stored"])
    answer = guest.set("old", "y" * 900_000)
    assert_equal("full", answer["kind"])
    assert_match(/No space left on device/, answer["error"])
    assert_equal("x" * 400_000, guest.get("old"))
    guest.end
  end

  def test_a_file_that_cannot_be_read_is_an_error_and_no_miss
    need_library("active_support")
    files = folder
    guest = guest("filestore", folder: files)
    guest.set("key", "x")
    path = Dir["#{files}/*/*/key"].first
    FileUtils.rm(path)
    Dir.mkdir(path)
    assert_equal("io", guest.ask("get 3", "key")["kind"])
    assert_nil(guest.get("none"), "the next miss is a miss")
  end

  def test_a_client_for_every_operation_opens_one_connection_for_each
    need_library("dalli")
    made = plan(%w[only other])
    value = made.value(0, 50)
    made.phase([[:set, 0, value]] * 20)
    made.phase([[:get_or_set, 0, value]] * 20)
    made.phase([[:get_or_set, 1, value, 0]] * 20)
    servers = [memcached.address]
    opened = lambda do |options|
      guest("dalli", servers: servers, options: options).run(made).map { |ran| ran[0]["connections"] }
    end
    assert_equal([20, 20, 20], opened.call(connect: "operation"), "one connection for a miss and its fill")
    assert_equal([0, 0, 0], opened.call({}))
  end

  def test_a_server_that_is_gone_is_no_cache_that_misses
    need_library("dalli")
    [1, 2].product(%w[session operation]).each do |number, connect|
      servers = Array.new(number) { memcached }
      guest = guest("dalli", servers: servers.map(&:address), options: { connect: connect })
      made = plan(Array.new(40) { |n| "gone-#{n}" })
      values = Array.new(40) { |n| made.value(n, 50) }
      of = ->(kind) { values.each_with_index.map { |value, n| [kind, n, value] } }
      made.phase(of.call(:set))
      made.phase(of.call(:get), multiget: 10)
      made.phase(of.call(:get))
      made.phase(of.call(:set))
      guest.ask("load #{made.write}")
      assert_equal({ "ran" => 0 }, guest.ask("run 0"))
      servers.first.kill
      [%w[get_many 1], %w[get 2], %w[set 3]].each do |name, phase|
        assert_equal({ "ran" => phase.to_i }, guest.ask("run #{phase}"), "#{name} of #{number} by #{connect}")
        found = made.result(phase.to_i)[0]["operations"][name]
        assert_equal(0, found["misses"], "#{name} of #{number} by #{connect}")
        assert_operator(found["errors"], :>, 5)
        assert_equal(40, found["errors"] + found["succeeded"])
        assert_equal({ "io" => found["errors"] }, found["errors_by_kind"])
      end
    end
  end

  def test_a_server_that_hangs_is_a_failure_by_time
    need_library("dalli")
    server = memcached
    guest = guest("dalli", servers: [server.address], options: { socket_timeout: 0.2 })
    guest.set("key", "x")
    server.pause
    answer = guest.ask("get 3", "key")
    assert_equal("timeout", answer["kind"])
    assert_match(/\ANo server available: 127\.0\.0\.1:\d+ failed .*Timeout::Error: IO timeout/, answer["error"])
  end
end
