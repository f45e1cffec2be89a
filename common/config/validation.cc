#include "common/config/validation.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/resnet_plan.h"
#include "common/config/text_check.h"
#include "common/config/value.h"

namespace ssd {
namespace {

constexpr size_t kMaxSocketPath = 107;            // sockaddr_un.sun_path, less its final zero
constexpr size_t kMaxNameBytes = 100;             // it names a folder
constexpr int64_t kSmallestAutoBlock = 16 << 10;  // bytes; server.block_size: auto

constexpr int64_t kImageChannels = 3;  // of all data sets
constexpr int64_t kClasses = 10;
constexpr int64_t kMaxParameters = int64_t{1} << 31;  // 8 GiB; no worker could hold ten copies of more

class Validator {
 public:
  Validator(const LoadedExperiment& loaded, ErrorList* errors)
      : loaded_(loaded), experiment_(loaded.proto), errors_(errors) {}

  void Run() {
    if (Usable("name")) CheckName();
    if (Usable("optimizer.nesterov") && Usable("optimizer.momentum")) CheckNesterov();
    if (Usable("optimizer.schedule.kind") && Usable("optimizer.schedule.milestones")) CheckMilestones();
    if (Usable("cluster.addresses")) CheckAddresses();
    if (Usable("model.weights_strict") && Usable("model.weights")) CheckWeightsStrict();
    const bool model_is_known = Usable("model.name") && Usable("model.block") && Usable("model.layers") &&
                                Usable("model.width") && Usable("model.stem");
    if (!model_is_known || !CheckModel()) return;
    if (Usable("cluster.servers") && Usable("server.block_size")) CheckServers();
  }

 private:
  bool Usable(const std::string& option) const { return !errors_->HasErrorFor(option); }

  const std::string& PlaceOfOption(const std::string& path) const { return loaded_.origins.at(path).place; }

  void Refuse(const std::string& path, const std::string& message) {
    errors_->AddFor(path, PlaceOfOption(path), absl::StrCat(path, message));
  }

  void CheckName() {
    const std::string& name = experiment_.name();
    bool fits = !name.empty() && name.size() <= kMaxNameBytes && name[0] != '.';
    for (unsigned char c : name) fits = fits && (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.');
    if (fits) return;
    Refuse("name", absl::StrCat(": got ", Shown(name), ", want 1 to ", kMaxNameBytes,
                                " letters, digits, -, _ and ., not starting with a ."));
  }

  void CheckNesterov() {
    if (!experiment_.optimizer().nesterov() || experiment_.optimizer().momentum() > 0) return;
    Refuse("optimizer.nesterov", " has no effect with optimizer.momentum: 0");
  }

  void CheckMilestones() {
    const v1::Schedule& schedule = experiment_.optimizer().schedule();
    if (schedule.kind() == v1::Schedule::step && schedule.milestones().empty()) {
      Refuse("optimizer.schedule.kind", ": step needs optimizer.schedule.milestones, such as [80ep, 120ep]");
    }
    for (int i = 1; i < schedule.milestones_size(); ++i) {
      const v1::TrainingTime& before = schedule.milestones(i - 1);
      const v1::TrainingTime& here = schedule.milestones(i);
      const std::string path = absl::StrCat("optimizer.schedule.milestones[", i, "]");
      if (before.unit_case() != here.unit_case()) {
        Refuse(path, ": milestones are all in ep or all in it, so that their order is known");
      } else if (here.has_epochs() ? here.epochs() <= before.epochs()
                                   : here.iterations() <= before.iterations()) {
        Refuse(path, ": milestones must rise");
      }
    }
  }

  void CheckWeightsStrict() {
    if (experiment_.model().weights_strict() || !experiment_.model().weights().empty()) return;
    Refuse("model.weights_strict", ": false has no effect without model.weights");
  }

  // Whether the model is one that can be made.
  bool CheckModel() {
    const v1::Model& model = experiment_.model();
    const ResNetSpec spec = MakeResNetSpec(model);
    if (spec.layers.empty()) {
      Refuse("model.name", ": custom needs model.layers, such as [2, 2, 2, 2]");
      return false;
    }
    if (const absl::Status fits = CheckResNet(spec); !fits.ok()) {
      Refuse("model.layers", absl::StrCat(": ", std::string(fits.message())));
      return false;
    }
    const int64_t parameters = CountParameters(spec, kImageChannels, kClasses);
    if (parameters <= kMaxParameters) return true;
    Refuse("model.layers", absl::StrCat(": a model of ", parameters, " parameters, want at most ",
                                        kMaxParameters, "; lower model.width or model.layers"));
    return false;
  }

  void CheckServers() {
    const int64_t bytes = 4 * CountParameters(MakeResNetSpec(experiment_.model()), kImageChannels, kClasses);
    const int64_t block =
        experiment_.server().has_block_size() ? experiment_.server().block_size() : kSmallestAutoBlock;
    const int64_t blocks = (bytes + block - 1) / block;
    const int64_t servers = experiment_.cluster().servers();
    if (servers <= blocks) return;
    // The default number of servers fits every published model, so whoever is to blame gave a value.
    const std::string option = loaded_.origins.at("cluster.servers").given()     ? "cluster.servers"
                               : loaded_.origins.at("server.block_size").given() ? "server.block_size"
                                                                                 : "model.layers";
    Refuse(option, absl::StrCat(": ", servers, " servers are too many: ",
                                v1::Model::Name_Name(experiment_.model().name()), " has ", blocks,
                                " blocks of ", block, " bytes, and some servers would hold none"));
  }

  void CheckAddresses() {
    const v1::Cluster& cluster = experiment_.cluster();
    if (cluster.addresses().empty()) return;
    std::map<std::string, int> first;
    for (int i = 0; i < cluster.addresses_size(); ++i) {
      const std::string path = absl::StrCat("cluster.addresses[", i, "]");
      const absl::Status valid = ValidateAddress(cluster.addresses(i));
      const auto [same, is_new] = first.emplace(cluster.addresses(i), i);
      if (!valid.ok()) {
        Refuse(path, absl::StrCat(": ", std::string(valid.message())));
      } else if (!is_new) {
        Refuse(path, absl::StrCat(": cluster.addresses[", same->second, "] is ", Shown(cluster.addresses(i)),
                                  " too"));
      }
    }
    if (Usable("cluster.servers") && cluster.addresses_size() != cluster.servers()) {
      Refuse("cluster.addresses",
             absl::StrCat(": got ", cluster.addresses_size(), " addresses, want one for each of the ",
                          cluster.servers(), " servers (cluster.servers), or none"));
    }
  }

  const LoadedExperiment& loaded_;
  const v1::Experiment& experiment_;
  ErrorList* const errors_;
};

absl::Status ValidateSocketPath(absl::string_view path) {
  if (!absl::StartsWith(path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", Shown(absl::StrCat("unix:", path)), ", want an absolute path: unix:/path"));
  }
  if (path.size() > kMaxSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path ", Shown(path), " is ", path.size(),
                                                   " bytes long; the system allows ", kMaxSocketPath));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return ValidateSocketPath(absl::string_view(address).substr(5));
  const size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  bool host_fits = !host.empty();
  for (unsigned char c : bracketed ? host.substr(1, host.size() - 2) : host) {
    host_fits = host_fits && (absl::ascii_isalnum(c) || c == '.' || c == '-' ||
                              (bracketed ? c == ':' || c == '%' : c == '_'));
  }
  bool port_fits = !port.empty() && port.size() <= 5;
  int number = 0;
  for (unsigned char c : port) {
    port_fits = port_fits && absl::ascii_isdigit(c);
    if (port_fits) number = 10 * number + (c - '0');
  }
  if (host_fits && port_fits && number >= 1 && number <= 65535) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("got ", Shown(address), ", want host:port, with a port from 1 to 65535, or unix:/path"));
}

void ValidateExperiment(const LoadedExperiment& loaded, ErrorList* errors) {
  Validator(loaded, errors).Run();
}

}  // namespace ssd
