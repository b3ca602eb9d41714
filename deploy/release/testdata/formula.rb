# frozen_string_literal: true

# Installs a formula as Homebrew does, with the part of its language that junction.rb uses:
#
#   ruby formula.rb FORMULA OS ARCH           prints the address and the sum of the archive
#   ruby formula.rb FORMULA OS ARCH ARCHIVE PREFIX   installs ARCHIVE below PREFIX, and runs the test
require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

OS, ARCH = ARGV[1, 2]
PREFIX = Pathname(ARGV[4] || "/nowhere")

# A folder that a formula installs into.
class Pathname
  def install(name)
    mkpath
    FileUtils.cp name, self, preserve: true
  end
end

# The base of all formulas.
class Formula
  class << self
    attr_reader :values, :tests

    %i[desc homepage url version sha256 license].each do |name|
      define_method(name) { |value| ((@values ||= {})[name] ||= []) << value }
    end

    { macos: OS == "darwin", linux: OS == "linux", arm: ARCH == "arm64", intel: ARCH == "amd64" }.each do |name, here|
      define_method("on_#{name}") { |&block| block.call if here }
    end

    def test(&block) = (@tests ||= []) << block
  end

  def bin = PREFIX / "bin"
  def version = self.class.values[:version].first

  def generate_completions_from_executable(program, *arguments)
    %w[bash zsh fish].each do |shell|
      folder = PREFIX / "completions"
      folder.mkpath
      (folder / shell).write shell_output([program, *arguments, shell].join(" "))
    end
  end

  def shell_output(command)
    text, status = Open3.capture2(command)
    raise "#{command} ends with #{status}" unless status.success?

    text
  end

  def assert_match(expected, actual)
    raise "#{actual} lacks #{expected}" unless actual.include?(expected)
  end
end

load ARGV[0]
values = Junction.values
values.each { |name, all| raise "#{name} stands #{all.size} times" unless all.one? }
puts values[:url].first, values[:sha256].first
exit if ARGV.size < 5

raise "the sum differs" unless Digest::SHA256.file(ARGV[3]).hexdigest == values[:sha256].first

formula = Junction.new
Dir.mktmpdir do |folder|
  system("tar", "-xf", ARGV[3], "-C", folder, exception: true)
  Dir.chdir(folder) { formula.install }
end
raise "there is no test" unless Junction.tests&.one?

formula.instance_eval(&Junction.tests.first)
