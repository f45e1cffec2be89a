#include "common/io/safetensors_header.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace ssd {
namespace {

using Json = nlohmann::json;

// Builds the header from the parser's events. A tree of the document would lose duplicate keys and could be
// made as deep and as large as the sender likes; this refuses what does not belong where it comes.
//
//   state       what may come                                  leads to
//   kStart      {                                              kTop
//   kTop        key "__metadata__", {                          kMetadata
//               key (a tensor's name), {                       kTensor
//               }                                              kEnd
//   kMetadata   key, string                                    kMetadata
//               }                                              kTop
//   kTensor     key "dtype", string                            kTensor
//               key "shape" | "data_offsets", [                kShape | kOffsets
//               }, once all three keys were there              kTop
//   kShape      unsigned                                       kShape
//               ]                                              kTensor
//   kOffsets    unsigned, at most two                          kOffsets
//               ], after two                                   kTensor
class HeaderBuilder final : public Json::json_sax_t {
 public:
  absl::Status error() const { return error_; }
  SafetensorsHeader TakeHeader() { return std::move(header_); }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool value) override { return Unexpected(value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) override { return Unexpected(absl::StrCat(value)); }
  bool number_float(Json::number_float_t, const std::string& text) override {
    return Unexpected(absl::StrCat("the number ", QuoteUntrusted(text)));
  }
  bool binary(Json::binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(Json::number_unsigned_t value) override {
    if (state_ == State::kShape) {
      entry().shape.push_back(value);
    } else if (state_ == State::kOffsets && num_offsets_ < 2) {
      (num_offsets_++ == 0 ? entry().begin : entry().end) = value;
    } else {
      return Unexpected(absl::StrCat(value));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (state_ == State::kMetadata) {
      header_.metadata[key_] = value;
    } else if (state_ == State::kTensor && key_ == "dtype") {
      entry().type = value;
    } else {
      return Unexpected(absl::StrCat("the string ", QuoteUntrusted(value)));
    }
    return true;
  }

  bool key(std::string& value) override {
    const bool inside = state_ != State::kTop;
    if (!(inside ? inner_keys_ : outer_keys_).insert(value).second) {
      return Fail(absl::StrCat(Where(), "the key ", QuoteUntrusted(value), " occurs twice"));
    }
    if (state_ == State::kTensor && value != "dtype" && value != "shape" && value != "data_offsets") {
      return Fail(absl::StrCat(Where(), "unknown key ", QuoteUntrusted(value)));
    }
    key_ = value;
    return true;
  }

  bool start_object(size_t) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTop) {
      inner_keys_.clear();
      state_ = key_ == "__metadata__" ? State::kMetadata : State::kTensor;
      if (state_ == State::kTensor) header_.entries.emplace_back().name = key_;
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTensor) {
      for (const char* wanted : {"dtype", "shape", "data_offsets"}) {
        if (inner_keys_.count(wanted) == 0) return Fail(absl::StrCat(Where(), "no \"", wanted, "\""));
      }
    }
    state_ = state_ == State::kTop ? State::kEnd : State::kTop;
    return true;
  }

  bool start_array(size_t) override {
    if (state_ == State::kTensor && key_ == "shape") {
      state_ = State::kShape;
    } else if (state_ == State::kTensor && key_ == "data_offsets") {
      state_ = State::kOffsets;
      num_offsets_ = 0;
    } else {
      return Unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    if (state_ == State::kOffsets && num_offsets_ != 2) {
      return Fail(absl::StrCat(Where(), "data_offsets has ", num_offsets_, " numbers, want 2"));
    }
    state_ = State::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return Fail(absl::StrCat("not JSON at byte ", position, " of the header"));
  }

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  SafetensorsEntry& entry() { return header_.entries.back(); }

  std::string Where() const {
    switch (state_) {
      case State::kStart:
      case State::kTop:
      case State::kEnd:
        return "header: ";
      case State::kMetadata:
        return "__metadata__: ";
      case State::kTensor:
      case State::kShape:
      case State::kOffsets:
        return absl::StrCat("tensor ", QuoteUntrusted(header_.entries.back().name), ": ");
    }
    return "";
  }

  std::string Wanted() const {
    switch (state_) {
      case State::kStart:
      case State::kTop:
        return "an object";
      case State::kMetadata:
        return "a string";
      case State::kTensor:
        return key_ == "dtype" ? "a string" : "an array of integers";
      case State::kShape:
        return "an integer of 0 to 2^64 - 1";
      case State::kOffsets:
        return "two integers of 0 to 2^64 - 1";
      case State::kEnd:
        return "the end";
    }
    return "";
  }

  bool Unexpected(absl::string_view seen) {
    const std::string at = key_.empty() ? "" : absl::StrCat(QuoteUntrusted(key_), " is ");
    return Fail(absl::StrCat(Where(), at, seen, ", want ", Wanted()));
  }

  bool Fail(const std::string& message) {
    error_ = absl::DataLossError(message);
    return false;
  }

  State state_ = State::kStart;
  std::string key_;                   // the last one read
  std::set<std::string> outer_keys_;  // of the header
  std::set<std::string> inner_keys_;  // of the object inside it that is being read
  int num_offsets_ = 0;
  SafetensorsHeader header_;
  absl::Status error_;
};

// `text` as a JSON string.
absl::StatusOr<std::string> JsonString(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    return absl::InvalidArgumentError(absl::StrCat(QuoteUntrusted(text), " is not UTF-8"));
  }
}

}  // namespace

std::string QuoteUntrusted(absl::string_view text) {
  constexpr size_t kShown = 120;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kShown)), text.size() > kShown ? "..." : "",
                      "\"");
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json) {
  // The parser would skip a byte order mark, and take a zero byte for the end.
  if (json.empty() || json.front() != '{') return absl::DataLossError("the header does not begin with '{'");
  if (const size_t zero = json.find('\0'); zero != absl::string_view::npos) {
    return absl::DataLossError(absl::StrCat("a zero byte at byte ", zero, " of the header"));
  }
  HeaderBuilder builder;
  const bool parsed = Json::sax_parse(json.begin(), json.end(), &builder);
  if (!builder.error().ok()) return builder.error();
  if (!parsed) return absl::DataLossError("the header is not JSON");
  return builder.TakeHeader();
}

absl::StatusOr<std::string> FormatSafetensorsHeader(const SafetensorsHeader& header) {
  std::vector<std::string> members;
  members.reserve(header.entries.size() + 1);
  if (!header.metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : header.metadata) {
      ASSIGN_OR_RETURN(const std::string quoted_key, JsonString(key));
      ASSIGN_OR_RETURN(const std::string quoted_value, JsonString(value));
      pairs.push_back(absl::StrCat(quoted_key, ":", quoted_value));
    }
    members.push_back(absl::StrCat("\"__metadata__\":{", absl::StrJoin(pairs, ","), "}"));
  }
  for (const SafetensorsEntry& entry : header.entries) {
    ASSIGN_OR_RETURN(const std::string name, JsonString(entry.name));
    members.push_back(absl::StrCat(name, ":{\"dtype\":\"", entry.type, "\",\"shape\":[",
                                   absl::StrJoin(entry.shape, ","), "],\"data_offsets\":[", entry.begin, ",",
                                   entry.end, "]}"));
  }
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

}  // namespace ssd
