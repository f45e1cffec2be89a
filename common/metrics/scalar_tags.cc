#include "common/metrics/scalar_tags.h"

namespace ssd {
namespace {

constexpr ScalarTag kScalarTags[] = {
    {"train", "/loss", "train/loss"},
    {"train", "/accuracy", "train/accuracy"},
    {"train", "/lr", "train/lr"},
    {"train", "/epoch", "train/epoch"},
    {"train", "/lead", "train/lead"},
    {"train", "/samples_per_second", "throughput/samples_per_sec"},
    {"train", "/bytes_pushed", "throughput/bytes_pushed"},
    {"train", "/bytes_pulled", "throughput/bytes_pulled"},
    {"train", "/wait_fraction", "time/wait_fraction"},
    {"train", "/time/data", "time/data"},
    {"train", "/time/compute", "time/compute"},
    {"train", "/time/local_update", "time/local_update"},
    {"train", "/time/push", "time/push"},
    {"train", "/time/wait", "time/wait"},
    {"test", "/accuracy", "eval/top1"},
    {"test", "/loss", "eval/loss"},
};

}  // namespace

std::span<const ScalarTag> ScalarTags() { return kScalarTags; }

std::vector<Scalar> ScalarsOf(const nlohmann::ordered_json& line) {
  std::vector<Scalar> scalars;
  const auto split = line.find("split");
  if (split == line.end()) return scalars;
  for (const ScalarTag& scalar : kScalarTags) {
    if (*split != scalar.split) continue;
    const nlohmann::ordered_json::json_pointer field(scalar.field);
    if (!line.contains(field) || !line[field].is_number()) continue;
    scalars.push_back({scalar.tag, line[field].get<double>()});
  }
  return scalars;
}

}  // namespace ssd
