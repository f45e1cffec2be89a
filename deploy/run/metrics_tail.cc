#include "deploy/run/metrics_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

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

std::optional<MetricsRecord> Parse(const std::string& line) {
  const auto object = nlohmann::json::parse(line, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  const auto split = object.find("split");
  if (split == object.end() || !split->is_string()) return std::nullopt;
  if (*split == "start") {
    return StartRecord{.steps = Integer(object, "steps"),
                       .steps_per_epoch = Real(object, "steps_per_epoch"),
                       .global_batch = Integer(object, "global_batch")};
  }
  if (*split == "train") {
    return TrainRecord{.step = Integer(object, "step"),
                       .epoch = Real(object, "epoch"),
                       .loss = Real(object, "loss"),
                       .accuracy = Real(object, "accuracy"),
                       .learning_rate = Real(object, "lr"),
                       .samples_per_second = Real(object, "samples_per_second"),
                       .wait_fraction = Real(object, "wait_fraction")};
  }
  if (*split == "test") {
    return TestRecord{.step = Integer(object, "step"),
                      .epoch = Real(object, "epoch"),
                      .loss = Real(object, "loss"),
                      .accuracy = Real(object, "accuracy"),
                      .correct = Integer(object, "correct"),
                      .total = Integer(object, "total")};
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
