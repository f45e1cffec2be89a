// IsOk, IsOkAndHolds and StatusIs, under the names that a later Abseil ships.
#ifndef SSD_TESTS_TESTING_STATUS_MATCHERS_H_
#define SSD_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ssd::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P(IsOkAndHolds, matcher, "is OK and holds a value that matches") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(matcher, *arg, result_listener);
}

MATCHER_P2(StatusIs, code, message, "has the code and a message that match") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(StatusOf(arg).message()), result_listener);
}

}  // namespace ssd::testing

#define EXPECT_OK(expression) EXPECT_THAT(expression, ::ssd::testing::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT(expression, ::ssd::testing::IsOk())

#endif  // SSD_TESTS_TESTING_STATUS_MATCHERS_H_
