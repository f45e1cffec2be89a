// The counter-based generator of tests/fixtures: numbers in [-1, 1) that any language reproduces.
//
// Number i of the sequence called `name`: z = (fnv1a64(name) + i) * 0x9E3779B97F4A7C15 mod 2^64, splitmix64's mixer,
// and the top 53 bits / 2^52 - 1.
#ifndef SSD_TESTS_TESTING_DETERMINISTIC_H_
#define SSD_TESTS_TESTING_DETERMINISTIC_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ssd::testing {

inline std::vector<double> Deterministic(const std::string& name, int64_t count) {
  uint64_t hash = 0xCBF29CE484222325;  // 64-bit FNV-1a
  for (unsigned char byte : name) hash = (hash ^ byte) * 0x100000001B3;
  std::vector<double> numbers(count);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t z = (hash + static_cast<uint64_t>(i)) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    numbers[i] = static_cast<double>(z >> 11) / 4503599627370496.0 - 1.0;
  }
  return numbers;
}

}  // namespace ssd::testing

#endif  // SSD_TESTS_TESTING_DETERMINISTIC_H_
