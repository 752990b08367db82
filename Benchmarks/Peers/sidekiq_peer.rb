# Sidekiq for Benchmarks/compare. `sidekiq -r` loads the jobs from this file; `ruby` runs it as the producer:
#
#   fill N      put N no-ops into the queue, 1,000 a call
#   bulk N      as fill, timed
#   single N    one by one, each awaited, timed
#   together N  as single, from 64 threads, timed
#   pick-up N   N jobs, each into an idle queue, that report how long they waited
#
# The output is the time in seconds, without the connection setup. `pick-up` prints a line of milliseconds for each job.
require "sidekiq"

THREADS = 64
PATIENCE = 60
SERVER = { url: "unix://#{ENV.fetch("PEER_SOCKET")}", driver: :hiredis }.freeze
Sidekiq.configure_server { |config| config.redis = SERVER }
Sidekiq.configure_client { |config| config.redis = SERVER.merge(size: THREADS) }
# A log line for each job would cost more than the job, and so would the check for arguments that JSON cannot represent.
Sidekiq.logger.level = Logger::WARN
Sidekiq.strict_args!(false)

def nanoseconds
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

class Noop
  include Sidekiq::Worker
  def perform(number, text); end
end

class Stamp
  include Sidekiq::Worker
  def perform(begun)
    waited = nanoseconds - begun
    Sidekiq.redis { |redis| redis.rpush("waited", waited) }
  end
end

TEXT = "x" * 60

def fill(count)
  count.times.each_slice(1000) { |part| Sidekiq::Client.push_bulk("class" => Noop, "args" => part.map { |i| [i, TEXT] }) }
end

def single(count)
  count.times { |i| Noop.perform_async(i, TEXT) }
end

def together(count)
  THREADS.times.map { Thread.new { single(count / THREADS) } }.each(&:join)
end

# Times the work after a tenth of it, untimed, has opened connections and compiled code.
def seconds(count)
  yield count / 10
  begun = nanoseconds
  yield count
  (nanoseconds - begun) / 1e9
end

# Sleeps long enough for the worker to be idle again, and never in step with it.
def become_idle
  sleep(0.002 + rand * 0.003)
end

def pick_up(count)
  count.times do
    # Sluice's measurement has a PING in between as well.
    become_idle
    Sidekiq.redis(&:ping)
    become_idle
    Stamp.perform_async(nanoseconds)
    # The producer is silent while the job is on its way.
    become_idle
    _, waited = Sidekiq.redis { |redis| redis.blpop("waited", timeout: PATIENCE) }
    abort "no worker has run a job for #{PATIENCE} s" unless waited
    puts waited.to_i / 1e6
  end
end

if $PROGRAM_NAME == __FILE__
  count = Integer(ARGV[1])
  case ARGV[0]
  when "fill" then fill(count)
  when "pick-up" then pick_up(count)
  when "bulk" then puts seconds(count) { |part| fill(part) }
  when "single" then puts seconds(count) { |part| single(part) }
  when "together" then puts seconds(count) { |part| together(part) }
  end
end
