// What the conformance tests share: the devices, and the way to and from their memory.
#ifndef SSD_TESTS_MODELS_DEVICE_CONFORMANCE_H_
#define SSD_TESTS_MODELS_DEVICE_CONFORMANCE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/cpu/device.h"
#include "tests/testing/deterministic.h"

namespace ssd {

struct DeviceRow {
  std::string name;
  std::unique_ptr<Device> (*make)();

  friend void PrintTo(const DeviceRow& row, std::ostream* out) { *out << row.name; }
};

// Values in [-1, 1) that differ from name to name.
inline std::vector<float> Values(const std::string& name, int64_t count) {
  const std::vector<double> numbers = testing::Deterministic(name, count);
  return {numbers.begin(), numbers.end()};
}

class DeviceConformanceTest : public ::testing::TestWithParam<DeviceRow> {
 protected:
  DeviceConformanceTest() : device_(GetParam().make()) { device_->Enter(); }

  // An array on the device that holds `values`.
  float* Put(const std::vector<float>& values) {
    arrays_.push_back(device_->memory().Allocate(static_cast<int64_t>(values.size())));
    device_->memory().Upload(values, arrays_.back()->data());
    return arrays_.back()->data();
  }
  // An array whose old content must not show in a result.
  float* Garbage(int64_t size) { return Put(std::vector<float>(size, 1e30f)); }

  // Until the next call.
  const int32_t* PutLabels(const std::vector<int32_t>& labels) {
    return device_->Load({.labels = labels}).labels;
  }

  std::vector<float> Get(const float* from, int64_t size) {
    std::vector<float> values(size);
    device_->memory().Download(from, values);
    return values;
  }

  // Within `tolerance` of the reference's root mean square.
  void ExpectNear(const float* actual, const std::vector<double>& expected, double tolerance = 1e-5) {
    const std::vector<float> values = Get(actual, static_cast<int64_t>(expected.size()));
    double squares = 0;
    for (const double value : expected) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], tolerance * std::max(rms, 1e-3))
          << "at " << i << " of " << expected.size();
    }
  }

  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<DeviceArray>> arrays_;
};

// Another device is one more row.
inline auto AllDevices() {
  return ::testing::Values(DeviceRow{"Cpu", [] { return MakeCpuDevice(/*threads=*/1); }},
                           DeviceRow{"CpuTwoThreads", [] { return MakeCpuDevice(/*threads=*/2); }});
}

inline std::string NameOfRow(const ::testing::TestParamInfo<DeviceRow>& info) { return info.param.name; }

}  // namespace ssd

#endif  // SSD_TESTS_MODELS_DEVICE_CONFORMANCE_H_
