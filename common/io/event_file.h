// Writes a TensorBoard event file: numbers with a name, a step and a time.
//
// A file is a row of records, each
//
//   u64 length | u32 masked CRC of the 8 bytes of length | data | u32 masked CRC of data   (little-endian)
//
// with data an Event, a protobuf message; the first one carries only wall_time and file_version
// "brain.Event:2":
//
//   1 double wall_time (seconds since 1970); 2 int64 step; 3 string file_version; 5 Summary summary
//   Summary: 1 repeated Value;   Value: 1 string tag; 2 float simple_value
//
// Source: TensorFlow's event.proto, summary.proto and record_writer.
#ifndef SSD_COMMON_IO_EVENT_FILE_H_
#define SSD_COMMON_IO_EVENT_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/io/disk.h"

namespace ssd {

struct Scalar {
  std::string tag;  // "train/loss": TensorBoard groups by what is before the slash
  double value = 0;
};

// Who writes, for the file's name.
struct EventSource {
  std::string host = "localhost";
  int64_t pid = 0;

  static EventSource ThisProcess();
};

// Not thread-safe. TensorBoard wants one writer a folder.
class EventFile {
 public:
  // Makes `directory` where it is missing, and in it the file
  //   events.out.tfevents.<now in seconds, ten digits>.<host>.<pid>.<n>
  // with the first n from 0 on that is free: no file is written over. Fails as the disk does.
  static absl::StatusOr<std::unique_ptr<EventFile>> Create(Disk& disk, const std::string& directory,
                                                           const EventSource& source, absl::Time now);

  // Appends one event with all of `scalars`; a reader sees it at once. Values are kept as float. Fails as the
  // disk does.
  absl::Status Append(absl::Time time, int64_t step, std::span<const Scalar> scalars);

 private:
  explicit EventFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  const std::unique_ptr<WritableFile> file_;
};

}  // namespace ssd

#endif  // SSD_COMMON_IO_EVENT_FILE_H_
