// A run of two shards and two workers as real processes, small enough to start in a moment.
#ifndef SSD_TESTS_INTEGRATION_ENDS_CLUSTER_H_
#define SSD_TESTS_INTEGRATION_ENDS_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/run/temporary_directory.h"
#include "tests/testing/process.h"

namespace ssd {

// The path of one of the built programs.
std::string Program(const std::string& name);

// The experiment that all these tests change: resnet8 on a few generated pictures, a step of which takes some
// 20 ms, without addresses.
std::string SmallExperiment();

class EndsCluster {
 public:
  enum class Transport { kUnix, kTcp };

  // `settings`: "optimizer.lr=0.2", as --set takes them; they come after the small experiment's own.
  explicit EndsCluster(std::vector<std::string> settings, Transport transport = Transport::kUnix);

  // Starts one process; `wrapper` comes before the program's own command line.
  testing::Process& StartShard(int shard, testing::Process::Start start = testing::Process::Start::kRunning,
                               const std::vector<std::string>& wrapper = {});
  testing::Process& StartWorker(int worker, testing::Process::Start start = testing::Process::Start::kRunning,
                                const std::vector<std::string>& wrapper = {});
  // The worker with settings that the other processes do not have.
  testing::Process& StartOddWorker(int worker, const std::vector<std::string>& settings);

  // All four, in the order shard 0, shard 1, worker 0, worker 1.
  void StartAll();

  const std::string& path() const { return directory_.path(); }
  std::string config_path() const { return directory_.File("experiment.yaml"); }
  std::string run_dir() const { return directory_.File("run"); }
  const std::vector<std::string>& settings() const { return settings_; }  // the addresses among them
  const std::vector<std::string>& addresses() const { return addresses_; }

  // Everything that was printed, for the message of a test that fails.
  std::string Outputs() const;

 private:
  testing::Process& Start(const std::string& program, const std::string& flag, const std::string& kind,
                          int index, testing::Process::Start start, const std::vector<std::string>& wrapper,
                          const std::vector<std::string>& settings);

  TemporaryDirectory directory_;  // outlives the processes
  std::vector<std::string> addresses_;
  std::vector<std::string> settings_;
  std::vector<std::unique_ptr<testing::Process>> processes_;
};

}  // namespace ssd

#endif  // SSD_TESTS_INTEGRATION_ENDS_CLUSTER_H_
