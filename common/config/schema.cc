#include "common/config/schema.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ssd {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<Need> ParseNeeds(const FieldDescriptor& field) {
  std::vector<Need> needs;
  for (const std::string& text : field.options().GetExtension(v1::rules).needs()) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    needs.push_back({.option = parts.first, .values = absl::StrSplit(parts.second, '|')});
  }
  return needs;
}

void CollectKeys(const Descriptor& descriptor, const std::string& section, std::vector<Key>* keys) {
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    keys->push_back({.section = section, .field = &field});
    if (IsSection(field)) CollectKeys(*field.message_type(), keys->back().path(), keys);
  }
}

// `outer` holds the sections and the needs that all options of `descriptor` share.
void CollectOptions(const Descriptor& descriptor, const Option& outer, std::vector<Option>* options) {
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    Option option = outer;
    option.path = outer.path.empty() ? field.name() : outer.path + "." + field.name();
    for (Need& need : ParseNeeds(field)) option.needs.push_back(std::move(need));
    if (IsSection(field)) {
      option.sections.push_back(&field);
      CollectOptions(*field.message_type(), option, options);
    } else {
      option.field = &field;
      options->push_back(std::move(option));
    }
  }
}

}  // namespace

const Message& Option::Parent(const v1::Experiment& experiment) const {
  const Message* message = &experiment;
  for (const FieldDescriptor* section : sections) {
    message = &message->GetReflection()->GetMessage(*message, section);
  }
  return *message;
}

Message* Option::MutableParent(v1::Experiment* experiment) const {
  Message* message = experiment;
  for (const FieldDescriptor* section : sections) {
    message = message->GetReflection()->MutableMessage(message, section);
  }
  return message;
}

std::string KeyPath(const std::string& section, const std::string& key) {
  return section.empty() ? key : absl::StrCat(section, ".", key);
}

bool IsTrainingTime(const FieldDescriptor& field) {
  return field.message_type() == v1::TrainingTime::descriptor();
}

bool IsSection(const FieldDescriptor& field) {
  return field.type() == FieldDescriptor::TYPE_MESSAGE && !IsTrainingTime(field);
}

const std::vector<Option>& Options() {
  static const std::vector<Option>& options = *[] {
    auto* const collected = new std::vector<Option>;
    CollectOptions(*v1::Experiment::descriptor(), Option(), collected);
    return collected;
  }();
  return options;
}

const Option* FindOption(const std::string& path) {
  for (const Option& option : Options()) {
    if (option.path == path) return &option;
  }
  return nullptr;
}

const std::vector<Key>& Keys() {
  static const std::vector<Key>& keys = *[] {
    auto* const collected = new std::vector<Key>;
    CollectKeys(*v1::Experiment::descriptor(), "", collected);
    return collected;
  }();
  return keys;
}

std::vector<std::string> EnumNames(const EnumDescriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    if (descriptor.value(i)->number() != 0) names.push_back(descriptor.value(i)->name());
  }
  return names;
}

std::string Need::Alternatives(absl::string_view quote) const {
  std::string text = values.front();
  for (size_t i = 1; i < values.size(); ++i) {
    absl::StrAppend(&text, quote, i + 1 == values.size() ? " or " : ", ", quote, values[i]);
  }
  return text;
}

}  // namespace ssd
