// markup.cpp: see markup.h.
#include "markup.h"

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kNameColumns = 160;

// Readers of pages copy names, so the whole one is at hand up to here; the document in the page has all of it.
constexpr std::size_t kTitleColumns = 600;

void add_html_escaped(std::string_view text, std::string& out) {
  for (const char character : text) {
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += character;
    }
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  add_html_escaped(printable(text), out);
  return out;
}

void Markup::begin(std::string_view tag, Attributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const Attribute& one : attributes) {
    out_ += ' ';
    out_ += one.name;
    out_ += "=\"";
    out_ += html_escaped(one.value);
    out_ += '"';
  }
  out_ += '>';
}

Markup& Markup::open(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::close() {
  out_ += "</" + open_.back() + ">";
  // A line each, so that a page can be read and compared as text.
  if (open_.back() != "td" && open_.back() != "th" && open_.back() != "span" && open_.back() != "a") out_ += '\n';
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  out_ += html_escaped(text);
  return *this;
}

Markup& Markup::name(std::string_view name) {
  const std::string shown = shortened(name, kNameColumns);
  if (shown == name)
    begin("bdi", {});
  else
    begin("bdi", {{"title", shortened(name, kTitleColumns)}});
  out_ += html_escaped(shown) + "</bdi>";
  return *this;
}

Markup& Markup::markup(std::string_view markup) {
  out_ += markup;
  return *this;
}

Markup& Markup::element(std::string_view tag, std::string_view text, Attributes attributes) {
  begin(tag, attributes);
  out_ += html_escaped(text);
  out_ += "</";
  out_ += tag;
  out_ += '>';
  return *this;
}

Markup& Markup::empty(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  return *this;
}

std::string Markup::take() {
  while (!open_.empty()) close();
  return std::move(out_);
}

}  // namespace hostprobe::analysis
