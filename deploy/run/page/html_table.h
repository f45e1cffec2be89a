// A table that becomes a list of cards where the screen is narrow.
#ifndef SSD_DEPLOY_RUN_PAGE_HTML_TABLE_H_
#define SSD_DEPLOY_RUN_PAGE_HTML_TABLE_H_

#include <string>
#include <vector>

namespace ssd {

struct HtmlTable {
  std::string caption;               // plain text
  std::vector<std::string> columns;  // plain text
  // Markup, a cell for each column; the first one heads its row.
  std::vector<std::vector<std::string>> rows;
};

// A pure function.
std::string RenderTable(const HtmlTable& table);

}  // namespace ssd

#endif  // SSD_DEPLOY_RUN_PAGE_HTML_TABLE_H_
