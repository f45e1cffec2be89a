#include "deploy/run/page/html_table.h"

#include "absl/strings/str_cat.h"
#include "deploy/run/page/figure_text.h"

namespace ssd {

std::string RenderTable(const HtmlTable& table) {
  std::string html = absl::StrCat("<table><caption>", MarkupText(table.caption), "</caption>\n<thead><tr>");
  for (const std::string& column : table.columns)
    absl::StrAppend(&html, "<th scope=\"col\">", MarkupText(column), "</th>");
  absl::StrAppend(&html, "</tr></thead>\n<tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    absl::StrAppend(&html, "<tr>");
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == 0) {
        absl::StrAppend(&html, "<th scope=\"row\">", row[i], "</th>");
      } else {
        // The label is what a card shows before the value.
        absl::StrAppend(&html, "<td data-label=\"", MarkupText(table.columns[i]), "\">", row[i], "</td>");
      }
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  return absl::StrCat(html, "</tbody></table>\n");
}

}  // namespace ssd
