#include "deploy/run/metrics_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/time/time.h"

namespace ssd {
namespace {

double Real(const nlohmann::json& object, const char* key) {
  const auto field = object.find(key);
  if (field == object.end() || !field->is_number()) return std::numeric_limits<double>::quiet_NaN();
  return field->get<double>();
}

int64_t Integer(const nlohmann::json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number_integer() ? field->get<int64_t>() : 0;
}

double Time(const nlohmann::json& object) {
  const auto field = object.find("ts");
  absl::Time time;
  std::string error;
  if (field == object.end() || !field->is_string() ||
      !absl::ParseTime("%Y-%m-%dT%H:%M:%E*S%Ez", field->get<std::string>(), &time, &error))
    return std::numeric_limits<double>::quiet_NaN();
  return absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

StepTimes Times(const nlohmann::json& object) {
  const auto field = object.find("time");
  const nlohmann::json times = field == object.end() ? nlohmann::json() : *field;
  return {.data = Real(times, "data"),
          .compute = Real(times, "compute"),
          .local_update = Real(times, "local_update"),
          .push = Real(times, "push"),
          .wait = Real(times, "wait")};
}

std::optional<MetricsRecord> Parse(const std::string& line) {
  const auto object = nlohmann::json::parse(line, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  const auto split = object.find("split");
  if (split == object.end() || !split->is_string()) return std::nullopt;
  if (*split == "start") {
    return StartRecord{.time = Time(object),
                       .steps = Integer(object, "steps"),
                       .steps_per_epoch = Real(object, "steps_per_epoch"),
                       .global_batch = Integer(object, "global_batch")};
  }
  if (*split == "train") {
    return TrainRecord{.time = Time(object),
                       .elapsed = Real(object, "elapsed"),
                       .step = Integer(object, "step"),
                       .epoch = Real(object, "epoch"),
                       .loss = Real(object, "loss"),
                       .accuracy = Real(object, "accuracy"),
                       .learning_rate = Real(object, "lr"),
                       .samples = Integer(object, "samples"),
                       .samples_per_second = Real(object, "samples_per_second"),
                       .wait_fraction = Real(object, "wait_fraction"),
                       .bytes_pushed = Real(object, "bytes_pushed"),
                       .bytes_pulled = Real(object, "bytes_pulled"),
                       .step_times = Times(object)};
  }
  if (*split == "test") {
    return TestRecord{.time = Time(object),
                      .elapsed = Real(object, "elapsed"),
                      .step = Integer(object, "step"),
                      .epoch = Real(object, "epoch"),
                      .loss = Real(object, "loss"),
                      .accuracy = Real(object, "accuracy"),
                      .correct = Integer(object, "correct"),
                      .total = Integer(object, "total"),
                      .bytes_pushed = Real(object, "bytes_pushed"),
                      .bytes_pulled = Real(object, "bytes_pulled")};
  }
  return std::nullopt;
}

}  // namespace

std::vector<MetricsRecord> MetricsTail::Poll() {
  std::vector<MetricsRecord> records;
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return records;
  char chunk[16 << 10];
  for (;;) {
    const ssize_t n = ::pread(fd, chunk, sizeof chunk, offset_);
    if (n <= 0) break;
    offset_ += n;
    partial_.append(chunk, n);
  }
  ::close(fd);
  size_t begin = 0;
  for (size_t end; (end = partial_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (auto record = Parse(partial_.substr(begin, end - begin))) records.push_back(*record);
  }
  partial_.erase(0, begin);
  return records;
}

}  // namespace ssd
