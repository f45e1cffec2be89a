#include "deploy/run/log_tail.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace ssd {
namespace {

constexpr int64_t kMaxBytes = 64 << 10;

}  // namespace

std::vector<std::string> LastLines(const std::string& path, int max_lines) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const int64_t size = file.tellg();
  std::string text(std::min(size, kMaxBytes), '\0');
  file.seekg(size - static_cast<int64_t>(text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(file.gcount());
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return {};
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (static_cast<int>(lines.size()) > max_lines) lines.erase(lines.begin(), lines.end() - max_lines);
  return lines;
}

bool SaysListening(const std::string& path) {
  constexpr int kMaxLines = 100;  // it is among the first
  for (const std::string& line : LastLines(path, kMaxLines)) {
    if (absl::StrContains(line, "listening shard=")) return true;
  }
  return false;
}

std::string EndingMessage(const std::vector<std::string>& lines) {
  constexpr absl::string_view kMark = "exit code=";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const size_t mark = line->rfind(kMark.data(), std::string::npos, kMark.size());
    if (mark == std::string::npos) continue;
    const size_t space = line->find(' ', mark + kMark.size());
    return space == std::string::npos ? "" : line->substr(space + 1);
  }
  return "";
}

}  // namespace ssd
