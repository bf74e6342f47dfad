# frozen_string_literal: true

require_relative "support"

# The examples of the documentation run, and have the results that stand beside them.
class DocsTest < Minitest::Test
  # Runs the lines of the Ruby examples of a page; the number of results that were compared.
  def run_examples(page, in_place_of = {})
    page = File.read(File.expand_path(page, __dir__))
    examples = page.scan(/^```ruby\n(.*?)^```/m).flatten.grep(/# => /)
    context = Object.new.instance_eval { binding }
    in_place_of.each { |text, other| examples.each { |example| example.gsub!(text, other) } }
    examples.join.each_line.count do |line|
      code, result = line.split(/\s+# => /)
      found = context.eval(code)
      result && assert_equal(result.strip, found.inspect, code)
    end
  end

  def test_the_example_of_the_readme_runs
    assert_operator run_examples("../README.md"), :>=, 7
  end

  def test_the_example_of_the_page_runs
    Dir.mktmpdir do |folder|
      Servers.memcached do |address|
        changes = { "/run/shop/cache" => "#{folder}/cache", "h1,h2" => address }
        assert_operator run_examples("../../../docs/ruby.md", changes), :>=, 5
      end
    end
  end
end
