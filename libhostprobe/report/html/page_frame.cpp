// page_frame.cpp: see page_frame.h.
#include "page_frame.h"

#include <fmt/format.h>

#include "assets.h"
#include "embedded_document.h"
#include "member.h"

namespace hostprobe::analysis {
namespace {

std::string policy() {
  return fmt::format(
      "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
      kPageStyleHash, kPageScriptHash);
}

}  // namespace

void begin_page(const std::string& title, std::initializer_list<SectionLink> sections, Markup& page) {
  page.markup(kPageBegin).open("html", {{"lang", "en"}}).open("head");
  page.empty("meta", {{"charset", "utf-8"}}).markup("\n");
  page.empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy()}}).markup("\n");
  page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}).markup("\n");
  page.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}}).markup("\n");
  page.element("title", title).markup("\n");
  page.open("style").markup(kPageStyle).close();
  page.close().open("body").element("a", "To the findings", {{"class", "skip"}, {"href", "#main"}});
  page.open("nav", {{"aria-label", "Sections"}}).open("ul");
  for (const SectionLink& section : sections)
    page.open("li").element("a", section.title, {{"href", std::string("#") + section.id}}).close();
  // Where scripts run, what they offer stands here.
  page.close().empty("div", {{"id", "tools"}}).markup("</div>").close().open("main", {{"id", "main"}});
}

void end_page(const JsonValue& document, Markup& page) {
  page.close();  // main
  page.open("footer").open("p").text(fmt::format("Made by hostprobe {} ({}). ", text_in(document, "hostprobe.version"),
                                                 text_in(document, "hostprobe.commit")));
  page.text("Everything in this page is made of the JSON document in it; nothing is fetched.").close().close();
  add_document(document, page);
  page.open("script").markup(kPageScript).close();
  page.close().close();  // body, html
}

}  // namespace hostprobe::analysis
