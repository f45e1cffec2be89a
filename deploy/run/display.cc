#include "deploy/run/display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ssd {
namespace {

constexpr int kFullBar = 10;  // cells
constexpr int kShortBar = 4;
constexpr char kClearLine[] = "\r\x1b[K";
constexpr char kRed[] = "\x1b[31m";
constexpr char kBold[] = "\x1b[1m";
constexpr char kPlain[] = "\x1b[0m";

// A part of the line, with the blank before it; none where the number is not known.
std::string Part(double value, const absl::FormatSpec<double>& format) {
  return std::isfinite(value) ? absl::StrFormat(format, value) : "";
}

int64_t StepOf(const Progress& progress) { return progress.train.has_value() ? progress.train->step : 0; }

// Steps a second; 0 where it is not known.
double Rate(const Progress& progress) {
  if (!progress.start.has_value() || progress.start->global_batch <= 0) return 0;
  return progress.samples_per_second / static_cast<double>(progress.start->global_batch);
}

absl::Duration TimeLeft(const Progress& progress) {
  const double rate = Rate(progress);
  if (rate <= 0) return absl::InfiniteDuration();
  return absl::Seconds(static_cast<double>(progress.start->steps - StepOf(progress)) / rate);
}

std::string RenderEpoch(const Progress& progress) {
  const StartRecord& start = *progress.start;
  if (!(start.steps_per_epoch > 0)) return "";
  // An epoch ends with the first step that passes its border: 10 epochs of 390.625 steps are 3907 steps, not
  // 11 epochs.
  const auto total =
      std::max<int64_t>(1, std::ceil(static_cast<double>(start.steps - 1) / start.steps_per_epoch));
  const auto current =
      static_cast<int64_t>(static_cast<double>(StepOf(progress)) / start.steps_per_epoch) + 1;
  return absl::StrCat("epoch ", std::min(total, current), "/", total, " ");
}

std::string RenderCells(double fraction, int cells) {
  if (cells == 0) return " ";
  const int full = std::clamp(static_cast<int>(fraction * cells), 0, cells);
  return absl::StrCat("|", std::string(full, '#'), std::string(cells - full, ' '), "| ");
}

std::string RenderTimes(const Progress& progress) {
  const double rate = Rate(progress);
  const std::string speed = rate <= 0  ? ""
                            : rate < 1 ? absl::StrFormat(", %.1f s/it", 1 / rate)
                                       : absl::StrFormat(", %.1f it/s", rate);
  return absl::StrCat(" [", RenderDuration(progress.elapsed), "<", RenderDuration(TimeLeft(progress)), speed,
                      "]");
}

void WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // whoever read it is gone; that is no reason to end a run
    text.remove_prefix(n);
  }
}

int TerminalWidth(int fd) {
  struct winsize size = {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

void Progress::Add(const MetricsRecord& record) {
  if (const auto* started = std::get_if<StartRecord>(&record)) start = *started;
  if (const auto* tested = std::get_if<TestRecord>(&record)) test = *tested;
  if (const auto* trained = std::get_if<TrainRecord>(&record)) {
    train = *trained;
    const double speed = trained->samples_per_second;
    if (std::isfinite(speed))
      samples_per_second = samples_per_second == 0 ? speed : 0.7 * samples_per_second + 0.3 * speed;
  }
}

std::string RenderDuration(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return "--:--";
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration));
  if (seconds < 3600) return absl::StrFormat("%02d:%02d", seconds / 60, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string RenderBar(const Progress& progress, int width) {
  if (!progress.start.has_value()) {
    return absl::StrCat("starting [", RenderDuration(progress.elapsed), "]").substr(0, width);
  }
  const int64_t steps = std::max<int64_t>(1, progress.start->steps);
  const double fraction = static_cast<double>(StepOf(progress)) / static_cast<double>(steps);
  const TrainRecord train = progress.train.value_or(
      TrainRecord{.loss = NAN, .accuracy = NAN, .samples_per_second = NAN, .wait_fraction = NAN});
  const std::string head = absl::StrCat(RenderEpoch(progress), absl::StrFormat("%3.0f%%", 100 * fraction));
  const std::string count = absl::StrCat(StepOf(progress), "/", steps);
  // In the order in which they are shown; those that go first have the highest number.
  struct Optional {
    int priority;
    std::string text;
  };
  const std::vector<Optional> parts = {
      {1, RenderTimes(progress)},
      {0, Part(train.loss, absl::FormatSpec<double>(" loss %.3f"))},
      {3, Part(train.accuracy, absl::FormatSpec<double>(" acc %.3f"))},
      {4, progress.test.has_value() ? Part(progress.test->accuracy, absl::FormatSpec<double>(" test %.3f"))
                                    : ""},
      {5, Part(train.samples_per_second, absl::FormatSpec<double>(" %.0f samples/s"))},
      {6, Part(100 * train.wait_fraction, absl::FormatSpec<double>(" wait %.0f%%"))}};
  const auto render = [&](int cells, int max_priority) {
    std::string line = absl::StrCat(head, RenderCells(fraction, cells), count);
    for (const Optional& part : parts) {
      if (part.priority <= max_priority) absl::StrAppend(&line, part.text);
    }
    return line;
  };
  const auto fits = [&](const std::string& line) { return static_cast<int>(line.size()) <= width; };
  for (int cells = kFullBar; cells >= kShortBar; --cells) {
    if (std::string line = render(cells, 6); fits(line)) return line;
  }
  for (int max_priority = 5; max_priority >= 0; --max_priority) {
    // The bar itself goes at priority 2.
    if (std::string line = render(max_priority >= 2 ? kShortBar : 0, max_priority); fits(line)) return line;
  }
  return render(0, 0).substr(0, std::max(0, width));
}

std::string RenderTrainLine(const Progress& progress) {
  if (!progress.train.has_value()) return "";
  const TrainRecord& train = *progress.train;
  std::string line = absl::StrCat("step ", train.step);
  if (progress.start.has_value()) absl::StrAppend(&line, "/", progress.start->steps);
  absl::StrAppend(&line, Part(train.epoch, absl::FormatSpec<double>(" epoch %.2f")),
                  Part(train.loss, absl::FormatSpec<double>(" loss %.3f")),
                  Part(train.accuracy, absl::FormatSpec<double>(" acc %.3f")),
                  Part(train.learning_rate, absl::FormatSpec<double>(" lr %.4g")),
                  Part(train.samples_per_second, absl::FormatSpec<double>(" %.0f samples/s")),
                  Part(100 * train.wait_fraction, absl::FormatSpec<double>(" wait %.0f%%")), " left ",
                  RenderDuration(TimeLeft(progress)));
  return line;
}

std::string RenderTestLine(const TestRecord& record) {
  return absl::StrCat(
      "test:", Part(record.epoch, absl::FormatSpec<double>(" epoch %.2f")), " (step ", record.step, ")",
      Part(100 * record.accuracy, absl::FormatSpec<double>(" accuracy %.2f%%")), " (", record.correct, " of ",
      record.total, ")", Part(record.loss, absl::FormatSpec<double>(" loss %.3f")));
}

Display::Options Display::OptionsFromEnvironment() {
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || term[0] == '\0' || absl::string_view(term) == "dumb";
  const char* no_colour = std::getenv("NO_COLOR");
  Options options;
  options.bar = !dumb && ::isatty(options.progress_fd) == 1;
  // Lines for both descriptors share the colour: where results go to a file, nothing is coloured.
  options.colour =
      options.bar && ::isatty(options.output_fd) == 1 && (no_colour == nullptr || no_colour[0] == '\0');
  return options;
}

void Display::Show(const MetricsRecord& record, absl::Duration elapsed) {
  progress_.Add(record);
  progress_.elapsed = elapsed;
  if (const auto* test = std::get_if<TestRecord>(&record)) {
    const std::string line = RenderTestLine(*test);
    Line(options_.colour ? absl::StrCat(kBold, line, kPlain) : line);
  } else if (std::holds_alternative<TrainRecord>(record) && !options_.bar) {
    WriteAll(options_.progress_fd, RenderTrainLine(progress_) + "\n");
  }
  if (options_.bar) DrawBar();
}

void Display::Refresh(absl::Duration elapsed) {
  progress_.elapsed = elapsed;
  if (options_.bar) DrawBar();
}

void Display::Line(absl::string_view text) {
  ClearBar();
  WriteAll(options_.output_fd, absl::StrCat(text, "\n"));
}

void Display::Error(absl::string_view text) {
  ClearBar();
  WriteAll(options_.progress_fd,
           options_.colour ? absl::StrCat(kRed, text, kPlain, "\n") : absl::StrCat(text, "\n"));
}

void Display::ClearBar() {
  if (drawn_.empty()) return;
  WriteAll(options_.progress_fd, kClearLine);
  drawn_.clear();
}

void Display::DrawBar() {
  // One column stays free: a terminal that wraps at its last column would scroll.
  std::string bar = RenderBar(progress_, TerminalWidth(options_.progress_fd) - 1);
  if (bar == drawn_) return;
  WriteAll(options_.progress_fd, absl::StrCat(kClearLine, bar));
  drawn_ = std::move(bar);
}

}  // namespace ssd
