// schema.cpp: see schema.h.
#include "schema.h"

#include <memory>

namespace hostprobe::tables {
namespace {

// What a schema points to. Each node releases its own; a parent releases those of its children that nobody has taken.
struct Node {
  std::string format, name, metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

void release(ArrowSchema* schema) {
  auto* node = static_cast<Node*>(schema->private_data);
  for (const auto& child : node->children)
    if (child->release != nullptr) child->release(child.get());
  if (node->dictionary != nullptr && node->dictionary->release != nullptr)
    node->dictionary->release(node->dictionary.get());
  delete node;
  schema->release = nullptr;
}

void publish(std::unique_ptr<Node> node, std::int64_t flags, ArrowSchema* out) {
  for (const auto& child : node->children) node->pointers.push_back(child.get());
  *out = ArrowSchema{.format = node->format.c_str(),
                     .name = node->name.c_str(),
                     .metadata = node->metadata.empty() ? nullptr : node->metadata.data(),
                     .flags = flags,
                     .n_children = static_cast<std::int64_t>(node->pointers.size()),
                     .children = node->pointers.empty() ? nullptr : node->pointers.data(),
                     .dictionary = node->dictionary.get(),
                     .release = release,
                     .private_data = nullptr};
  out->private_data = node.release();
}

//  | pairs : i32 | length : i32 | key | length : i32 | value | …
std::string packed(const Metadata& metadata) {
  std::string bytes;
  const auto put = [&bytes](std::size_t number) {
    const auto value = static_cast<std::int32_t>(number);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  if (metadata.empty()) return bytes;
  put(metadata.size());
  for (const auto& [key, value] : metadata)
    for (const std::string& text : {key, value}) {
      put(text.size());
      bytes += text;
    }
  return bytes;
}

const char* format_of(Type type) {
  switch (type) {
    case Type::kInt32:
    case Type::kWord:
      return "i";
    case Type::kUint32:
      return "I";
    case Type::kInt64:
      return "l";
    case Type::kUint64:
      return "L";
    case Type::kReal:
      return "g";
    case Type::kBool:
      return "b";
    case Type::kText:
      return "u";
  }
  return "n";
}

void make_column(const ColumnName& column, ArrowSchema* out) {
  auto node = std::make_unique<Node>();
  node->format = format_of(column.type);
  node->name = column.name;
  if (column.type == Type::kWord) {
    auto text = std::make_unique<Node>();
    text->format = "u";
    node->dictionary = std::make_unique<ArrowSchema>();
    publish(std::move(text), ARROW_FLAG_NULLABLE, node->dictionary.get());
  }
  publish(std::move(node), column.nullable ? ARROW_FLAG_NULLABLE : 0, out);
}

}  // namespace

void make_schema(const TableName& table, const std::vector<std::size_t>& columns, const Metadata& metadata,
                 ArrowSchema* out) {
  auto node = std::make_unique<Node>();
  node->format = "+s";
  node->metadata = packed(metadata);
  for (const std::size_t column : columns) {
    node->children.push_back(std::make_unique<ArrowSchema>());
    make_column(table.columns[column], node->children.back().get());
  }
  publish(std::move(node), 0, out);
}

}  // namespace hostprobe::tables
