#include "common/io/event_file.h"

#include <unistd.h>

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/io/crc32c.h"
#include "common/status_macros.h"

namespace ssd {
namespace {

// Tags of protobuf's wire format: field number << 3 | type.
constexpr char kWallTime = 1 << 3 | 1;
constexpr char kStep = 2 << 3 | 0;
constexpr char kFileVersion = 3 << 3 | 2;
constexpr char kSummary = 5 << 3 | 2;
constexpr char kValue = 1 << 3 | 2;
constexpr char kTag = 1 << 3 | 2;
constexpr char kSimpleValue = 2 << 3 | 5;

template <typename Unsigned>
void AppendFixed(std::string* out, Unsigned value) {
  for (size_t i = 0; i < sizeof value; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendBytes(std::string* out, char tag, absl::string_view bytes) {
  out->push_back(tag);
  AppendVarint(out, bytes.size());
  absl::StrAppend(out, bytes);
}

std::string EventAt(absl::Time time) {
  std::string event(1, kWallTime);
  AppendFixed(&event, std::bit_cast<uint64_t>(absl::ToDoubleSeconds(time - absl::UnixEpoch())));
  return event;
}

std::string Summary(std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    AppendBytes(&value, kTag, scalar.tag);
    value.push_back(kSimpleValue);
    AppendFixed(&value, std::bit_cast<uint32_t>(static_cast<float>(scalar.value)));
    AppendBytes(&summary, kValue, value);
  }
  return summary;
}

std::string Record(absl::string_view data) {
  std::string record;
  AppendFixed(&record, uint64_t{data.size()});
  AppendFixed(&record, MaskedCrc32c(Crc32c(record)));
  absl::StrAppend(&record, data);
  AppendFixed(&record, MaskedCrc32c(Crc32c(data)));
  return record;
}

}  // namespace

EventSource EventSource::ThisProcess() {
  EventSource source{.pid = ::getpid()};
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0 && host[0] != '\0') source.host = host;
  return source;
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Create(Disk& disk, const std::string& directory,
                                                             const EventSource& source, absl::Time now) {
  RETURN_IF_ERROR(disk.MakeDirectories(directory));
  for (int n = 0;; ++n) {
    absl::StatusOr<std::unique_ptr<WritableFile>> file =
        disk.CreateNew(absl::StrFormat("%s/events.out.tfevents.%010d.%s.%d.%d", directory,
                                       absl::ToUnixSeconds(now), source.host, source.pid, n));
    if (absl::IsAlreadyExists(file.status())) continue;
    RETURN_IF_ERROR(file.status());
    std::string header = EventAt(now);
    AppendBytes(&header, kFileVersion, "brain.Event:2");
    RETURN_IF_ERROR((*file)->Append(Record(header)));
    return std::unique_ptr<EventFile>(new EventFile(*std::move(file)));
  }
}

absl::Status EventFile::Append(absl::Time time, int64_t step, std::span<const Scalar> scalars) {
  std::string event = EventAt(time);
  event.push_back(kStep);
  AppendVarint(&event, static_cast<uint64_t>(step));
  AppendBytes(&event, kSummary, Summary(scalars));
  return file_->Append(Record(event));
}

}  // namespace ssd
