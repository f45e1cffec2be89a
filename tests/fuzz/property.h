// What the fuzzers ask of the code under test. A property that does not hold aborts with its text, which a fuzzer
// reports as it does a crash, whatever the build type.
#ifndef SSD_TESTS_FUZZ_PROPERTY_H_
#define SSD_TESTS_FUZZ_PROPERTY_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/logging.h"

#define SSD_PROPERTY(condition) \
  (condition) ? (void)0 : ::ssd::LogVoidify() & LOG(FATAL) << "does not hold: " #condition " "

namespace ssd {

inline absl::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace ssd

// A fuzzer's functions; see https://llvm.org/docs/LibFuzzer.html. The first one is for who needs it.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // SSD_TESTS_FUZZ_PROPERTY_H_
