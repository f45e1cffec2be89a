// The options of an experiment file, read off the descriptors of proto/ssd/v1/experiment.proto.
//
// Thread-safe: everything here is constant.
#ifndef SSD_COMMON_CONFIG_SCHEMA_H_
#define SSD_COMMON_CONFIG_SCHEMA_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ssd/v1/experiment.pb.h"

namespace ssd {

// That an option has an effect only while another has one of these values.
struct Need {
  std::string option;               // "sync.policy"
  std::vector<std::string> values;  // {"ssd_sgd"}

  // "a, b or c", with a quote (if any) around each value but before the first and after the last.
  std::string Alternatives(absl::string_view quote = "") const;
};

// One value that a file may set.
struct Option {
  std::string path;                                                // "optimizer.schedule.kind"
  std::vector<const google::protobuf::FieldDescriptor*> sections;  // from the root: optimizer, schedule
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::vector<Need> needs;  // its own and its sections'

  const v1::FieldRules& rules() const { return field->options().GetExtension(v1::rules); }

  // The message that holds the field.
  const google::protobuf::Message& Parent(const v1::Experiment& experiment) const;
  google::protobuf::Message* MutableParent(v1::Experiment* experiment) const;
};

// Whether the field is a section of its own rather than a value. (A TrainingTime is a message, but a value to
// people.)
bool IsSection(const google::protobuf::FieldDescriptor& field);
bool IsTrainingTime(const google::protobuf::FieldDescriptor& field);

// Every option, in the schema's order.
const std::vector<Option>& Options();

// Null where there is no such option.
const Option* FindOption(const std::string& path);

// "section.key"; `section` "" is the top level.
std::string KeyPath(const std::string& section, const std::string& key);

// A key of any section, and the section that it stands in: "" is the top level.
struct Key {
  std::string section;
  const google::protobuf::FieldDescriptor* field;

  std::string path() const { return KeyPath(section, field->name()); }
};

// Every key, those of sections included, in the schema's order.
const std::vector<Key>& Keys();

// The names an enumeration's option may have; the zero value, which means "not set", is none.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& descriptor);

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_SCHEMA_H_
