// RETURN_IF_ERROR and ASSIGN_OR_RETURN, under the names that a later Abseil ships.
#ifndef SSD_COMMON_STATUS_MACROS_H_
#define SSD_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RETURN_IF_ERROR(expression)                                 \
  do {                                                              \
    if (absl::Status ssd_status_ = (expression); !ssd_status_.ok()) \
      return ssd_status_;                                           \
  } while (false)

#define SSD_STATUS_CONCAT_INNER(a, b) a##b
#define SSD_STATUS_CONCAT(a, b) SSD_STATUS_CONCAT_INNER(a, b)
#define ASSIGN_OR_RETURN(lhs, expression) \
  SSD_ASSIGN_OR_RETURN(SSD_STATUS_CONCAT(ssd_status_or_, __LINE__), lhs, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): `temporary` and `lhs` are or have declarations, which take no parentheses.
#define SSD_ASSIGN_OR_RETURN(temporary, lhs, expression) \
  auto temporary = (expression);                         \
  if (!temporary.ok()) return temporary.status();        \
  lhs = *std::move(temporary)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // SSD_COMMON_STATUS_MACROS_H_
