// The JSON Schema (draft 2020-12) of experiment files, made from the schema: what editors and validators know
// of a file before any program reads it.
//
// It judges one file by itself, in the data model of YAML 1.2, and says what the loader says as far as such a
// schema can; tests/python/schema_test.py holds the two against each other. It refuses nothing that the loader
// takes from a file alone, and is looser in these things:
//   - how a value is written: 4.0 and 0x4 are 4 to it, and "10ep" is 10ep with its quotes;
//   - the range of a value with a unit: whether it is above 0 it knows, but not that 200h is too long;
//   - what options must fit each other beyond `needs` (common/config/validation.h).
// YAML 1.1 readers such as PyYAML take 1e-4 for text, so that form of a number is allowed as text too.
//
// A pure function.
#ifndef SSD_COMMON_CONFIG_JSON_SCHEMA_H_
#define SSD_COMMON_CONFIG_JSON_SCHEMA_H_

#include <string>

namespace ssd {

// The schema as JSON, with a line feed at its end.
std::string ExperimentJsonSchema();

}  // namespace ssd

#endif  // SSD_COMMON_CONFIG_JSON_SCHEMA_H_
