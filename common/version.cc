#include "common/version.h"

#include "absl/strings/str_cat.h"

namespace ssd {

// CMake passes what its find_package() calls saw.
std::string ProgramVersion() { return SSD_VERSION; }

std::vector<std::pair<std::string, std::string>> LibraryVersions() {
  return {{"gRPC", SSD_GRPC_VERSION},
          {"protobuf", SSD_PROTOBUF_VERSION},
          {"Abseil", SSD_ABSL_VERSION},
          {"oneDNN", SSD_DNNL_VERSION},
          {"yaml-cpp", SSD_YAML_VERSION},
          {"nlohmann-json", SSD_JSON_VERSION},
          {"CUDA", "none"},
          {"cuDNN", "none"}};
}

std::string VersionText(absl::string_view program) {
  std::string text = absl::StrCat(program, " ", ProgramVersion(), "\n");
  for (const auto& [name, version] : LibraryVersions())
    absl::StrAppend(&text, "  ", name, " ", version, "\n");
  return text;
}

}  // namespace ssd
