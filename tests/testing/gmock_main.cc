#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/logging.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  ssd::SetMinLogSeverity(ssd::LogSeverity::kError);  // what tests expect to go wrong is no news
  return RUN_ALL_TESTS();
}
