#include "common/config/yaml_loader.h"

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config/schema.h"
#include "common/config/text_check.h"
#include "common/config/unknown_key.h"
#include "common/config/value.h"
#include "common/config/yaml_tree.h"
#include "common/logging.h"

namespace ssd {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string ElementPath(const Option& option, size_t index) {
  return absl::StrCat(option.path, "[", index, "]");
}

// What a node is, for a message.
std::string Seen(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "no value";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "keys and values";
    case YamlNode::Kind::kScalar:
      return Shown(node.text);
  }
  return "";
}

// Writes one layer's settings.
class LayerWriter {
 public:
  // `name`: the file's; empty for --set, whose place is `setting`.
  LayerWriter(std::string name, std::string setting, int layer, LoadedExperiment* loaded, ErrorList* errors)
      : name_(std::move(name)),
        setting_(std::move(setting)),
        layer_(layer),
        loaded_(loaded),
        errors_(errors) {}

  // Sets what `node` holds in the section of the given path ("" is the top level).
  void WriteSection(const std::string& section, const Descriptor& descriptor, const YamlNode& node) {
    std::map<std::string, int> lines;  // where each key was seen first
    for (const auto& [key, value] : node.entries) {
      const auto [first, is_new] = lines.emplace(key.text, key.line);
      if (!is_new) {
        errors_->Add(Place(key), absl::StrCat("duplicate key ", Shown(KeyPath(section, key.text)), "; line ",
                                              first->second, " has it already"));
        continue;
      }
      const FieldDescriptor* const field = descriptor.FindFieldByName(key.text);
      if (field == nullptr) {
        errors_->Add(Place(key), UnknownKeyMessage(section, key.text, /*in_file=*/true));
      } else if (!IsSection(*field)) {
        WriteOption(*FindOption(KeyPath(section, key.text)), key, value);
      } else if (value.kind == YamlNode::Kind::kMap) {
        WriteSection(KeyPath(section, key.text), *field->message_type(), value);
      } else if (value.kind != YamlNode::Kind::kNull) {  // a section may be empty
        errors_->Add(Place(value),
                     absl::StrCat(KeyPath(section, key.text), ": got ", Seen(value),
                                  ", want a section: keys of its own, indented below, such as \"",
                                  field->message_type()->field(0)->name(), "\""));
      }
    }
  }

  // `key` is where the option was named.
  void WriteOption(const Option& option, const YamlNode& key, const YamlNode& value) {
    const bool is_list = option.field->is_repeated();
    const YamlNode& place = value.kind == YamlNode::Kind::kNull ? key : value;  // "nothing" has no place
    if (is_list && value.kind == YamlNode::Kind::kSequence) {
      WriteList(option, value);
    } else if (!is_list && value.kind == YamlNode::Kind::kScalar) {
      const absl::Status parsed =
          ParseValue(option, value.text, value.quoted, option.MutableParent(&loaded_->proto));
      if (!parsed.ok()) Refuse(option, option.path, place, std::string(parsed.message()));
    } else {
      const bool is_text = !is_list && option.field->type() == FieldDescriptor::TYPE_STRING;
      Refuse(option, option.path, place,
             absl::StrCat("got ", Seen(value), ", want ",
                          is_list ? "a list in brackets, [a, b], of elements that are each " : "",
                          WantedValue(option),
                          is_text && value.kind == YamlNode::Kind::kNull ? "; an empty one is \"\"" : ""));
    }
    loaded_->origins[option.path] = OriginAt(key);
  }

  void Refuse(const Option& option, const std::string& what, const YamlNode& node,
              const std::string& message) {
    errors_->AddFor(option.path, Place(node), absl::StrCat(what, ": ", message));
  }

  std::string Place(const YamlNode& node) const { return name_.empty() ? setting_ : PlaceOf(name_, node); }

 private:
  // A list replaces the one of the layer below.
  void WriteList(const Option& option, const YamlNode& list) {
    Message* const parent = option.MutableParent(&loaded_->proto);
    const int before = parent->GetReflection()->FieldSize(*parent, option.field);
    for (int i = 0; i < before; ++i) loaded_->origins.erase(ElementPath(option, i));
    parent->GetReflection()->ClearField(parent, option.field);
    for (size_t i = 0; i < list.elements.size(); ++i) {
      const YamlNode& element = list.elements[i];
      const std::string path = ElementPath(option, i);
      if (element.kind != YamlNode::Kind::kScalar) {
        Refuse(option, path, element, absl::StrCat("got ", Seen(element), ", want ", WantedValue(option)));
        continue;
      }
      const absl::Status parsed = ParseValue(option, element.text, element.quoted, parent);
      if (!parsed.ok()) Refuse(option, path, element, std::string(parsed.message()));
      loaded_->origins[path] = OriginAt(element);
    }
  }

  Origin OriginAt(const YamlNode& node) const {
    return {.layer = layer_,
            .label = name_.empty() ? "--set" : absl::StrCat(name_, ":", node.line),
            .place = Place(node)};
  }

  const std::string name_;
  const std::string setting_;
  const int layer_;
  LoadedExperiment* const loaded_;
  ErrorList* const errors_;
};

// Why no option has this path.
std::string UnknownPathMessage(const std::string& path) {
  const Descriptor* descriptor = v1::Experiment::descriptor();
  std::string section;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    if (descriptor == nullptr) return absl::StrCat(section, " is a value and has no key ", Shown(part));
    const FieldDescriptor* const field = descriptor->FindFieldByName(part);
    if (field == nullptr) return UnknownKeyMessage(section, part, /*in_file=*/false);
    section = KeyPath(section, part);
    descriptor = IsSection(*field) ? field->message_type() : nullptr;
  }
  return absl::StrCat(section, " is a section; set one of its keys, such as ", section, ".",
                      descriptor->field(0)->name());
}

// The value of a setting of a list; none where it is no YAML.
std::optional<YamlNode> ParseListSetting(const std::string& text) {
  ErrorList
      ignored;  // its places would be those of the setting's text, which is short enough to be shown whole
  std::optional<YamlNode> node = ParseYaml("", text, &ignored);
  return ignored.empty() ? std::move(node) : std::nullopt;
}

}  // namespace

LoadedExperiment DefaultExperiment() {
  LoadedExperiment loaded;
  for (const Option& option : Options()) {
    loaded.origins[option.path] = Origin();
    Message* const parent = option.MutableParent(&loaded.proto);
    if (!option.field->is_repeated()) {
      CHECK_OK(ParseValue(option, option.rules().default_(), /*quoted=*/false, parent));
    }
  }
  return loaded;
}

void ApplyYaml(const std::string& name, const std::string& text, int layer, LoadedExperiment* loaded,
               ErrorList* errors) {
  const std::optional<YamlNode> root = ParseYaml(name, text, errors);
  if (!root.has_value()) return;
  LayerWriter writer(name, "", layer, loaded, errors);
  if (root->kind == YamlNode::Kind::kMap) {
    writer.WriteSection("", *v1::Experiment::descriptor(), *root);
  } else if (root->kind != YamlNode::Kind::kNull) {
    errors->Add(
        PlaceOf(name, *root),
        absl::StrCat("got ", Seen(*root), ", want an experiment: lines like \"seed: 1\" and sections"));
  }
}

void ApplyOverride(const std::string& setting, int layer, LoadedExperiment* loaded, ErrorList* errors) {
  const std::string place = absl::StrCat("--set ", Escaped(setting));
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    errors->Add(place, "want KEY=VALUE, such as optimizer.lr=0.2");
    return;
  }
  const std::string path = setting.substr(0, equals);
  const Option* const option = FindOption(path);
  if (option == nullptr) {
    errors->Add(place, UnknownPathMessage(path));
    return;
  }
  LayerWriter writer("", place, layer, loaded, errors);
  YamlNode value;
  value.kind = YamlNode::Kind::kScalar;
  value.text = setting.substr(equals + 1);
  if (option->field->is_repeated()) value = ParseListSetting(value.text).value_or(value);
  writer.WriteOption(*option, value, value);
}

}  // namespace ssd
