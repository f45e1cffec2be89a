#include "common/config/unknown_key.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/schema.h"
#include "common/config/text_check.h"
#include "common/suggestion.h"

namespace ssd {
namespace {

// What other trainers, and the paper, call our options.
struct Synonym {
  const char* word;
  const char* option;
};
constexpr Synonym kSynonyms[] = {
    {"learning_rate", "optimizer.lr"},
    {"base_lr", "optimizer.lr"},
    {"eta", "optimizer.lr"},
    {"mu", "optimizer.momentum"},
    {"wd", "optimizer.weight_decay"},
    {"l2", "optimizer.weight_decay"},
    {"lambda", "optimizer.weight_decay"},
    {"lr_schedule", "optimizer.schedule.kind"},
    {"scheduler", "optimizer.schedule.kind"},
    {"lr_decay", "optimizer.schedule.gamma"},
    {"lr_warmup", "optimizer.schedule.lr_ramp"},
    {"ramp", "optimizer.schedule.lr_ramp"},
    {"epochs", "training.duration"},
    {"num_epochs", "training.duration"},
    {"max_epochs", "training.duration"},
    {"steps", "training.duration"},
    {"max_steps", "training.duration"},
    {"iterations", "training.duration"},
    {"batch", "training.batch_size"},
    {"bs", "training.batch_size"},
    {"minibatch", "training.batch_size"},
    {"arch", "model.name"},
    {"architecture", "model.name"},
    {"network", "model.name"},
    {"data_dir", "data.path"},
    {"root", "data.path"},
    {"augmentation", "data.augment"},
    {"num_workers", "cluster.workers"},
    {"world_size", "cluster.workers"},
    {"num_servers", "cluster.servers"},
    {"shards", "cluster.servers"},
    {"num_threads", "cluster.threads"},
    {"hosts", "cluster.addresses"},
    {"algorithm", "sync.policy"},
    {"mode", "sync.policy"},
    {"delay", "sync.k"},
    {"period", "sync.k"},
    {"pull_interval", "sync.k"},
    {"warmup_steps", "sync.warmup"},
    {"warmup_epochs", "sync.warmup"},
    {"overlap", "sync.pull_overlap"},
    {"local_lr", "sync.local_lr_scale"},
    {"local_update", "sync.local.update"},
    {"block_bytes", "server.block_size"},
    {"eval_every", "evaluation.every"},
    {"interval", "evaluation.every"},
    {"output_dir", "output.directory"},
    {"log_every", "output.report_every"},
    {"random_seed", "seed"},
};

// How to name the option at `path` to someone who is in `section`.
std::string Suggested(const std::string& path, const std::string& section, bool in_file) {
  const size_t dot = path.rfind('.');
  const bool is_sibling = section == (dot == std::string::npos ? "" : path.substr(0, dot));
  return in_file && is_sibling && !section.empty() ? path.substr(dot + 1) : path;
}

std::string Advice(const std::string& section, const std::string& key, bool in_file) {
  std::vector<std::string> siblings, elsewhere;
  for (const Key& known : Keys()) {
    if (known.section == section) siblings.push_back(known.field->name());
    if (known.field->name() == key) elsewhere.push_back(known.section);
    if (in_file && absl::StrContains(key, '.') && known.path() == key) {
      return absl::StrCat("in a file it is the key \"", known.field->name(), "\" in section \"",
                          known.section, "\"");
    }
  }
  if (elsewhere.size() == 1 && elsewhere[0].empty()) return "that key is at the top level";
  if (elsewhere.size() == 1 && !in_file)
    return absl::StrCat("did you mean \"", elsewhere[0], ".", key, "\"?");
  if (!elsewhere.empty()) {
    for (std::string& name : elsewhere)
      name = name.empty() ? "the top level" : absl::StrCat("section \"", name, "\"");
    return absl::StrCat("that key is in ", absl::StrJoin(elsewhere, " and in "));
  }

  // What may have been meant, and which option that is. The section's own keys stand first: they win among
  // equally near ones.
  std::vector<std::string> words, paths;
  for (const Key& known : Keys()) {
    if (known.section != section) continue;
    words.push_back(known.field->name());
    paths.push_back(known.path());
  }
  for (const Synonym& synonym : kSynonyms) {
    words.emplace_back(synonym.word);
    paths.emplace_back(synonym.option);
  }
  for (const Key& known : Keys()) {
    words.push_back(known.path());
    paths.push_back(known.path());
  }
  if (const std::optional<std::string> nearest = Nearest(key, words)) {
    const std::string& path = paths[std::find(words.begin(), words.end(), *nearest) - words.begin()];
    return absl::StrCat("did you mean \"", Suggested(path, section, in_file), "\"?");
  }
  return absl::StrCat(section.empty() ? "the top level" : absl::StrCat("section \"", section, "\""), " has ",
                      absl::StrJoin(siblings, ", "));
}

}  // namespace

std::string UnknownKeyMessage(const std::string& section, const std::string& key, bool in_file) {
  const std::string path = KeyPath(section, key);
  return absl::StrCat("unknown key ", Shown(path), "; ", Advice(section, key, in_file));
}

}  // namespace ssd
