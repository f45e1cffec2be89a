// What a run looks like while it runs: one progress bar on a terminal, plain lines elsewhere.
#ifndef SSD_DEPLOY_RUN_DISPLAY_H_
#define SSD_DEPLOY_RUN_DISPLAY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "deploy/run/metrics_tail.h"

namespace ssd {

// What is known of a run so far: the sum of the records, a value.
struct Progress {
  std::optional<StartRecord> start;
  std::optional<TrainRecord> train;  // the last one
  std::optional<TestRecord> test;    // the last one
  double samples_per_second = 0;     // smoothed over the records, for the time that is left
  absl::Duration elapsed;            // since the run started

  void Add(const MetricsRecord& record);
};

// epoch 3/10  62%|######    | 2421/3910 [08:11<04:59, 4.9 it/s] loss 1.284 acc 0.536 test 0.561 ...
// ... 620 samples/s wait 3%
//
// in at most `width` columns. Where they do not fit, first the bar shrinks, then wait, samples/s, test, acc,
// the bar and the time go, in this order; a line that is still too long is cut. Pure functions, all of these.
std::string RenderBar(const Progress& progress, int width);
// step 2421/3910 epoch 2.42 loss 1.284 acc 0.536 lr 0.1 620 samples/s wait 3% left 04:59
std::string RenderTrainLine(const Progress& progress);
// test: epoch 2.00 (step 782) accuracy 56.10% (5610 of 10000) loss 1.213
std::string RenderTestLine(const TestRecord& record);
// 08:11, or 1:08:11 from an hour on; --:-- where it is not known (infinite).
std::string RenderDuration(absl::Duration duration);

// Writes lines and, on a terminal, keeps the bar below them. Not thread-safe.
class Display {
 public:
  struct Options {
    int output_fd = 1;    // results and the banner
    int progress_fd = 2;  // the bar or the training lines, and errors
    bool bar = false;     // progress_fd is a terminal that can redraw a line
    bool colour = false;  // of errors and results
  };
  // For standard output and error as they are: no bar unless standard error is a terminal and TERM is not
  // dumb; no colour with NO_COLOR (any value that is not empty).
  static Options OptionsFromEnvironment();

  explicit Display(const Options& options) : options_(options) {}
  // Leaves the cursor on a line of its own.
  ~Display() { ClearBar(); }

  // Shows the record: a training record as the bar or a line, a test result as a line.
  void Show(const MetricsRecord& record, absl::Duration elapsed);
  // Brings the bar's clock and the terminal's width up to date.
  void Refresh(absl::Duration elapsed);
  void Line(absl::string_view text);   // to output_fd
  void Error(absl::string_view text);  // to progress_fd
  void ClearBar();

  const Progress& progress() const { return progress_; }

 private:
  void DrawBar();

  const Options options_;
  Progress progress_;
  std::string drawn_;  // the bar on the screen; empty: none
};

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_DISPLAY_H_
