#include "common/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/io/safetensors_header.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are copied between file and memory as they are");

constexpr size_t kLengthBytes = 8;  // of the header's length
// The larger type first, so that all values are aligned.
constexpr SafetensorsType kWriteOrder[] = {SafetensorsType::kI64, SafetensorsType::kF32};
constexpr size_t kAlignmentBytes = 8;  // of the first value

struct TypeInfo {
  SafetensorsType type;
  absl::string_view name;
  uint64_t bytes;
};
constexpr TypeInfo kTypes[] = {
    {SafetensorsType::kF64, "F64", 8},   {SafetensorsType::kF32, "F32", 4}, {SafetensorsType::kF16, "F16", 2},
    {SafetensorsType::kBF16, "BF16", 2}, {SafetensorsType::kI64, "I64", 8}, {SafetensorsType::kI32, "I32", 4},
    {SafetensorsType::kI16, "I16", 2},   {SafetensorsType::kI8, "I8", 1},   {SafetensorsType::kU8, "U8", 1},
    {SafetensorsType::kBool, "BOOL", 1},
};

const TypeInfo& InfoOf(SafetensorsType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [type](const TypeInfo& i) { return i.type == type; });
}

// Nothing where the product is beyond 64 bits.
std::optional<uint64_t> Product(uint64_t first, std::span<const uint64_t> factors) {
  for (const uint64_t factor : factors) {
    if (__builtin_mul_overflow(first, factor, &first)) return std::nullopt;
  }
  return first;
}

// One entry of the header, checked, with its part of `values`. `next` is where the one before it ended.
absl::StatusOr<SafetensorsTensor> CheckEntry(SafetensorsEntry entry, absl::string_view values,
                                             uint64_t next) {
  const auto error = [&entry](const auto&... what) {
    return absl::DataLossError(absl::StrCat("tensor ", QuoteUntrusted(entry.name), ": ", what...));
  };
  const TypeInfo* const info = std::find_if(std::begin(kTypes), std::end(kTypes),
                                            [&](const TypeInfo& i) { return i.name == entry.type; });
  if (info == std::end(kTypes)) return error("unknown dtype ", QuoteUntrusted(entry.type));
  if (entry.begin > entry.end || entry.end > values.size()) {
    return error("data_offsets [", entry.begin, ", ", entry.end, "], want a range within the ", values.size(),
                 " bytes of values");
  }
  if (entry.begin != next) {
    return error(entry.begin < next ? "overlaps the tensor before it: " : "leaves a hole before it: ",
                 "data_offsets begin at ", entry.begin, ", want ", next);
  }
  SafetensorsTensor tensor;
  for (const uint64_t dimension : entry.shape) {
    if (dimension > static_cast<uint64_t>(INT64_MAX))
      return error("dimension ", dimension, " is beyond 2^63 - 1");
    tensor.shape.push_back(static_cast<int64_t>(dimension));
  }
  const std::optional<uint64_t> want = Product(info->bytes, entry.shape);
  if (!want.has_value())
    return error("the size of ", DescribeTensor(info->type, tensor.shape), " is beyond 64 bits");
  if (*want != entry.end - entry.begin) {
    return error("data_offsets span ", entry.end - entry.begin, " bytes, but ",
                 DescribeTensor(info->type, tensor.shape), " has ", *want);
  }
  tensor.name = std::move(entry.name);
  tensor.type = info->type;
  tensor.bytes = values.substr(entry.begin, *want);
  return tensor;
}

absl::StatusOr<Safetensors> Parse(absl::string_view content) {
  if (content.size() < kLengthBytes) {
    return absl::DataLossError(
        absl::StrCat("the file has ", content.size(), " bytes, want at least ", kLengthBytes));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, content.data(), kLengthBytes);
  content.remove_prefix(kLengthBytes);
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("a header of ", header_bytes, " bytes, want at most ", kMaxSafetensorsHeaderBytes));
  }
  if (header_bytes > content.size()) {
    return absl::DataLossError(absl::StrCat("a header of ", header_bytes, " bytes, but the file has only ",
                                            content.size(), " after its length"));
  }
  ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(content.substr(0, header_bytes)));
  const absl::string_view values = content.substr(header_bytes);

  // JSON objects have no order. An empty tensor sorts before the one that begins where it lies.
  std::sort(header.entries.begin(), header.entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  Safetensors result{.metadata = std::move(header.metadata), .tensors = {}, .content = nullptr};
  result.tensors.reserve(header.entries.size());
  uint64_t next = 0;
  for (SafetensorsEntry& entry : header.entries) {
    const uint64_t end = entry.end;
    ASSIGN_OR_RETURN(SafetensorsTensor tensor, CheckEntry(std::move(entry), values, next));
    result.tensors.push_back(std::move(tensor));
    next = end;
  }
  if (next != values.size()) {
    return absl::DataLossError(
        absl::StrCat("the file has ", values.size(), " bytes of values, its tensors ", next));
  }
  return result;
}

template <typename T>
absl::Status Copy(const SafetensorsTensor& tensor, SafetensorsType type, std::span<T> values) {
  if (tensor.type != type || tensor.bytes.size() != values.size_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", QuoteUntrusted(tensor.name), ": ",
                                                   DescribeTensor(tensor.type, tensor.shape), ", want ",
                                                   values.size(), " values of ", SafetensorsTypeName(type)));
  }
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return absl::OkStatus();
}

SafetensorsType TypeOf(const SafetensorsSource& source) {
  const bool integers = std::holds_alternative<std::span<const int64_t>>(source.values);
  return integers ? SafetensorsType::kI64 : SafetensorsType::kF32;
}

// The header, its offsets dealt out in kWriteOrder.
absl::StatusOr<SafetensorsHeader> MakeHeader(std::span<const SafetensorsSource> sources,
                                             const SafetensorsMetadata& metadata) {
  SafetensorsHeader header{.metadata = metadata, .entries = {}};
  header.entries.reserve(sources.size());
  std::set<absl::string_view> names;
  for (const SafetensorsSource& source : sources) {
    if (source.name == "__metadata__" || !names.insert(source.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", QuoteUntrusted(source.name), ": the name is taken, want one of its own"));
    }
    SafetensorsEntry& entry = header.entries.emplace_back();
    entry.name = source.name;
    entry.type = std::string(SafetensorsTypeName(TypeOf(source)));
    entry.shape.assign(source.shape.begin(), source.shape.end());
  }
  uint64_t next = 0;
  for (const SafetensorsType type : kWriteOrder) {
    for (size_t i = 0; i < sources.size(); ++i) {
      if (TypeOf(sources[i]) != type) continue;
      SafetensorsEntry& entry = header.entries[i];
      const bool negative =
          std::any_of(sources[i].shape.begin(), sources[i].shape.end(), [](int64_t d) { return d < 0; });
      const std::optional<uint64_t> bytes = Product(InfoOf(type).bytes, entry.shape);
      entry.begin = next;
      if (negative || !bytes.has_value() || __builtin_add_overflow(next, *bytes, &next)) {
        return absl::InvalidArgumentError(absl::StrCat("tensor ", QuoteUntrusted(entry.name),
                                                       ": cannot write ",
                                                       DescribeTensor(type, sources[i].shape)));
      }
      entry.end = next;
    }
  }
  return header;
}

// The bytes of a tensor's values. They last as long as the values do.
absl::string_view BytesOf(const SafetensorsSource& source) {
  const auto bytes = [](auto values) {
    return absl::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  };
  if (const auto* const integers = std::get_if<std::span<const int64_t>>(&source.values))
    return bytes(*integers);
  if (const auto* const floats = std::get_if<std::span<const float>>(&source.values)) return bytes(*floats);
  return bytes(std::get<SafetensorsSource::MakeFloats>(source.values)());
}

}  // namespace

absl::string_view SafetensorsTypeName(SafetensorsType type) { return InfoOf(type).name; }

std::string DescribeTensor(SafetensorsType type, std::span<const int64_t> shape) {
  constexpr size_t kShown = 16;
  return absl::StrCat(SafetensorsTypeName(type), " of shape [",
                      absl::StrJoin(shape.first(std::min(shape.size(), kShown)), ", "),
                      shape.size() > kShown ? ", ..." : "", "]");
}

absl::Status SafetensorsTensor::CopyTo(std::span<float> values) const {
  return Copy(*this, SafetensorsType::kF32, values);
}

absl::Status SafetensorsTensor::CopyTo(std::span<int64_t> values) const {
  return Copy(*this, SafetensorsType::kI64, values);
}

absl::StatusOr<Safetensors> ParseSafetensors(absl::string_view content, absl::string_view name) {
  absl::StatusOr<Safetensors> parsed = Parse(content);
  if (parsed.ok()) return parsed;
  return absl::Status(parsed.status().code(), absl::StrCat(name, ": ", parsed.status().message()));
}

absl::StatusOr<Safetensors> ReadSafetensors(Disk& disk, const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, disk.ReadFile(path));
  const auto content = std::make_shared<const std::string>(std::move(bytes));
  ASSIGN_OR_RETURN(Safetensors parsed, ParseSafetensors(*content, path));
  parsed.content = content;
  return parsed;
}

absl::Status WriteSafetensors(Disk& disk, const std::string& path, std::span<const SafetensorsSource> tensors,
                              const SafetensorsMetadata& metadata) {
  const auto invalid = [&path](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what...));
  };
  const absl::StatusOr<SafetensorsHeader> header = MakeHeader(tensors, metadata);
  if (!header.ok()) return invalid(header.status().message());
  absl::StatusOr<std::string> json = FormatSafetensorsHeader(*header);
  if (!json.ok()) return invalid(json.status().message());
  json->append((kAlignmentBytes - json->size() % kAlignmentBytes) % kAlignmentBytes, ' ');
  const uint64_t header_bytes = json->size();
  if (header_bytes > kMaxSafetensorsHeaderBytes) {
    return invalid("a header of ", header_bytes, " bytes, want at most ", kMaxSafetensorsHeaderBytes);
  }

  return disk.WriteWhole(path, [&](WritableFile& file) -> absl::Status {
    RETURN_IF_ERROR(file.Append({reinterpret_cast<const char*>(&header_bytes), kLengthBytes}));
    RETURN_IF_ERROR(file.Append(*json));
    for (const SafetensorsType type : kWriteOrder) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (TypeOf(tensors[i]) != type) continue;
        const absl::string_view bytes = BytesOf(tensors[i]);
        const uint64_t want = header->entries[i].end - header->entries[i].begin;
        if (bytes.size() != want) {
          return invalid("tensor ", QuoteUntrusted(tensors[i].name), ": got ", bytes.size(),
                         " bytes of values, ", DescribeTensor(type, tensors[i].shape), " has ", want);
        }
        RETURN_IF_ERROR(file.Append(bytes));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace ssd
