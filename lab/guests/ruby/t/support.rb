# frozen_string_literal: true

# A guest as Larder starts it, small plans as Larder writes them, and servers to speak to.

require "fileutils"
require "json"
require "minitest/autorun"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "records"

# Values of plans begin in these first bytes of the pool.
SPAN = 131_072
PROGRAM = File.expand_path("../guest.rb", __dir__)
KINDS = { get: 0, set: 1, get_or_set: 2, delete: 3, touch: 4 }.freeze

# Folders, guests and servers that end with the test.
class Case < Minitest::Test
  def setup
    @ends = []
  end

  def teardown
    @ends.reverse_each(&:call)
  end

  # Leaves a test out, or fails it where no test may be left out.
  def need(condition, reason)
    return if condition

    flunk(reason) if ENV["LARDER_REQUIRE"] == "all"
    puts "# skip #{reason}"
    skip(reason)
  end

  def need_library(name)
    there = system(RbConfig.ruby, "-e", "require '#{name}'", out: File::NULL, err: File::NULL)
    need(there, "the Ruby library #{name} is not installed: ./setup.sh --with ruby")
  end

  def folder
    folder = Dir.mktmpdir("larder-guest-")
    @ends << -> { FileUtils.rm_rf(folder) }
    folder
  end

  # Starts the program for a cache. `order` replaces fields of open.json.
  def guest(cache, environment: {}, **order)
    guest = TestGuest.new(folder, cache, order, environment)
    @ends << -> { guest.kill }
    guest
  end

  # A memcached of the test's own, on a free port or on this one.
  def memcached(port = nil)
    need(system("which", "memcached", out: File::NULL), "memcached is not installed: apt-get install memcached")
    server = TestServer.new(port || TCPServer.open("127.0.0.1", 0) { |free| free.addr[1] })
    @ends << -> { server.kill }
    server
  end

  def plan(keys, **plan) = TestPlan.new(folder, keys, plan)
end

# A running guest.
class TestGuest
  attr_reader :folder, :opened

  def initialize(folder, cache, order, environment)
    @folder = folder
    Dir.mkdir("#{folder}/files")
    open = {
      protocol: 3, cache: cache, options: {}, folder: "#{folder}/files", servers: [], tiers: [], room_bytes: 8 << 20,
      largest_bytes: 32_768, fresh: true, **order,
    }
    File.write("#{folder}/open.json", JSON.generate(open))
    input, @input = IO.pipe
    @output, output = IO.pipe
    @pid = spawn(environment, RbConfig.ruby, PROGRAM, folder, in: input, out: output, err: "#{folder}/stderr")
    [input, output].each(&:close)
    [@input, @output].each(&:binmode)
    @opened = answer
  end

  def answer
    line = @output.gets
    line ? JSON.parse(line) : {}
  end

  # The answer to a command, without the `alive` lines before it. The records of a phase are received meanwhile.
  def ask(command, rest = "")
    name, of = command.split(" ", 2)
    @plan_folder = of if name == "load"
    receivers = name == "run" ? TestRecords.receive(@plan_folder, of) : []
    @input.write("#{command}\n".b << rest.b)
    @input.flush
    answer = self.answer
    answer = self.answer while answer.key?("alive")
    # A phase that was given up has no end.
    receivers.each(&answer.key?("ran") ? :join : :kill)
    answer
  end

  def set(key, value, ttl = "-") = ask("set #{key.bytesize} #{value.bytesize} #{ttl}", key.b << value.b)

  def get(key)
    length = ask("get #{key.bytesize}", key).fetch("found")
    length && @output.read(length)
  end

  # Loads a plan and runs its phases; returns the results of the processes, by phase.
  def run(plan)
    loaded = ask("load #{plan.write}")
    raise "the plan was not loaded: #{loaded}" unless loaded["loaded"]

    plan.phases.each_index.map do |phase|
      ran = ask("run #{phase}")
      raise "phase #{phase}: #{ran}" unless ran["ran"] == phase

      plan.result(phase)
    end
  end

  # Ends the guest; returns its exit code.
  def end
    @input.write("end\n")
    @input.close
    _, status = Process.wait2(@pid)
    @pid = nil
    status.exitstatus
  end

  def kill
    return unless @pid

    Process.kill("KILL", @pid)
    Process.wait(@pid)
    @pid = nil
  end
end

# A plan in the making: `value` adds values, and `phase` adds operations.
class TestPlan
  attr_reader :phases

  def initialize(folder, keys, plan)
    @folder = folder
    @keys = keys
    @plan = { processes: 1, ttl_s: nil, replays: false, **plan }
    @phases = []
    @newest = {}
    @pool = Array.new(240_000) { |n| (n * 7919 + n / 256) % 251 }.pack("C*") * 6
    @values = []
    @operations = []
  end

  # Adds a value under the key of this index, and returns its number.
  def value(key, length)
    number = @values.length + 1
    # A guest only needs headers that differ. Larder composes others, and alone reads them.
    header = [key, number, length, 0, 0, 0]
    @values << [number * 7919 % SPAN, length, @newest[key] || 0, *header].pack("V9")
    @newest[key] = number
  end

  # Adds a phase of operations [kind, key, value, stored under] for each process.
  def phase(*shares, **options)
    places = shares.map do |share|
      place = [@operations.length, share.length]
      share.each do |kind, key, value = 0, under = key|
        @operations << [KINDS.fetch(kind), key, value, under]
      end
      place
    end
    phase = { measured: true, time_limit_s: nil, multiget: 1, again: false }
    @phases << { **phase, **options, shares: places }
  end

  def write
    keys = @keys.each_with_index.map { |key, n| [@newest[n] || 0, key.bytesize].pack("V2") << key.b }
    File.binwrite("#{@folder}/pool.bin", @pool)
    File.binwrite("#{@folder}/keys.bin", keys.join)
    File.binwrite("#{@folder}/values.bin", @values.join)
    File.binwrite("#{@folder}/ops.bin", @operations.flatten.pack("V*"))
    whole = { **@plan, pool: "#{@folder}/pool.bin", phases: @phases }
    File.write("#{@folder}/plan.json", JSON.generate(whole))
    TestRecords.make_pipes(@folder, @plan[:processes])
    @folder
  end

  # What the processes did in a phase.
  def result(number)
    phase = @phases[number]
    names = KINDS.keys.map(&:to_s)
    names[0] = "get_many" if phase[:multiget] > 1
    phase[:shares].each_with_index.map do |(first, count), process|
      steps = @operations[first, count].map { |kind,| names[kind] }
      TestRecords.counts("#{@folder}/received-#{number}-#{process}", steps)
    end
  end
end

# A memcached that runs as long as the test.
class TestServer
  attr_reader :port

  def initialize(port)
    @port = port
    @pid = spawn("memcached", "-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", port.to_s)
    500.times do
      TCPSocket.new("127.0.0.1", port).close
      return
    rescue Errno::ECONNREFUSED
      sleep 0.01
    end
  end

  def address = "127.0.0.1:#{@port}"

  # Lets the server hang, and returns when all its threads stand still: it answers no request from then on.
  def pause
    Process.kill("STOP", @pid)
    Dir["/proc/#{@pid}/task/*/stat"].each { |thread| sleep 0.001 until File.read(thread).include?(") T") }
  end

  def kill
    return unless @pid

    Process.kill("KILL", @pid)
    Process.wait(@pid)
    @pid = nil
  end
end

# These counts of one kind of operation.
def counts(of, *names) = of.values_at(*names.map(&:to_s))
