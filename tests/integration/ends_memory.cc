#include "tests/integration/ends_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ssd {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};

std::optional<int64_t> ReadPeak(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    absl::string_view rest = line;
    int64_t kib = 0;
    if (absl::ConsumePrefix(&rest, "VmHWM:") && absl::ConsumeSuffix(&rest, "kB") &&
        absl::SimpleAtoi(rest, &kib)) {
      return kib << 10;
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t PeakBytes(const testing::Process& process) {
  const std::optional<int64_t> peak = ReadPeak(process.pid());
  EXPECT_TRUE(peak.has_value()) << process.name() << " has ended";
  return peak.value_or(0);
}

PeakWatch::PeakWatch(const testing::Process& process) {
  thread_ = std::thread([this, pid = process.pid(), onlooker = testing::Onlooker(process.pid())] {
    do {
      if (const std::optional<int64_t> peak = ReadPeak(pid); peak.has_value()) bytes_ = *peak;
    } while (!onlooker.SeesTheEnd(kBetweenLooks));
  });
}

PeakWatch::~PeakWatch() {
  if (thread_.joinable()) thread_.join();
}

int64_t PeakWatch::Bytes() {
  thread_.join();
  return bytes_;
}

NoQuarantine::NoQuarantine() {
  const char* const set = std::getenv("ASAN_OPTIONS");
  if (set != nullptr) before_ = set;
  const std::string options = absl::StrCat(before_, before_.empty() ? "" : ":", "quarantine_size_mb=1");
  ::setenv("ASAN_OPTIONS", options.c_str(), /*overwrite=*/1);
}

NoQuarantine::~NoQuarantine() { ::setenv("ASAN_OPTIONS", before_.c_str(), /*overwrite=*/1); }

}  // namespace ssd
