// column.cpp: see column.h.
#include "column.h"

#include <new>

namespace hostprobe::tables {
namespace {

constexpr std::size_t kAlignment = 64;  // what Arrow recommends

Buffer make_buffer(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

// What an array points to.
struct Owned {
  Buffer validity, values;
  std::shared_ptr<const Texts> texts;
  const void* buffers[3] = {};
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

void release(ArrowArray* array) {
  auto* owned = static_cast<Owned*>(array->private_data);
  for (const auto& child : owned->children)
    if (child->release != nullptr) child->release(child.get());
  if (owned->dictionary != nullptr && owned->dictionary->release != nullptr)
    owned->dictionary->release(owned->dictionary.get());
  delete owned;
  array->release = nullptr;
}

void publish_owned(std::unique_ptr<Owned> owned, std::int64_t rows, std::int64_t nulls, std::int64_t buffers,
                   ArrowArray* out) {
  for (const auto& child : owned->children) owned->pointers.push_back(child.get());
  *out = ArrowArray{.length = rows,
                    .null_count = nulls,
                    .offset = 0,
                    .n_buffers = buffers,
                    .n_children = static_cast<std::int64_t>(owned->pointers.size()),
                    .buffers = owned->buffers,
                    .children = owned->pointers.empty() ? nullptr : owned->pointers.data(),
                    .dictionary = owned->dictionary.get(),
                    .release = release,
                    .private_data = nullptr};
  out->private_data = owned.release();
}

void publish_texts(std::shared_ptr<const Texts> texts, Buffer validity, std::int64_t nulls, ArrowArray* out) {
  auto owned = std::make_unique<Owned>();
  owned->validity = std::move(validity);
  owned->texts = std::move(texts);
  owned->buffers[0] = owned->validity.get();
  owned->buffers[1] = owned->texts->ends.data();
  owned->buffers[2] = owned->texts->bytes.data();
  const std::int64_t count = owned->texts->count();
  publish_owned(std::move(owned), count, nulls, 3, out);
}

std::size_t width_of(Type type) {
  switch (type) {
    case Type::kInt32:
    case Type::kUint32:
    case Type::kWord:
      return 4;
    case Type::kInt64:
    case Type::kUint64:
    case Type::kReal:
      return 8;
    case Type::kBool:
    case Type::kText:
      return 0;
  }
  return 0;
}

}  // namespace

void Texts::add(std::string_view text) {
  constexpr std::size_t kMost = INT32_MAX;
  if (text.size() > kMost - bytes.size()) throw std::length_error("texts of more than 2 GiB in one batch");
  bytes += text;
  ends.push_back(static_cast<std::int32_t>(bytes.size()));
}

Column::Column(const ColumnName& name) : type_(name.type), width_(width_of(name.type)) {}

void Column::begin() {
  if (values_ != nullptr) return;
  const std::size_t bytes = type_ == Type::kBool ? kBatchRows / 8 : kBatchRows * width_;
  values_ = make_buffer(bytes);
  if (type_ == Type::kBool) std::memset(values_.get(), 0, bytes);
}

void Column::make_validity() {
  validity_ = make_buffer(kBatchRows / 8);
  std::memset(validity_.get(), 0xff, kBatchRows / 8);
}

void Column::add_zero() {
  if (type_ == Type::kText)
    texts_.add({});
  else if (type_ != Type::kBool)
    std::memset(&values_[rows_ * width_], 0, width_);
  next_row();
}

void Column::add_text(std::string_view text) {
  if (type_ == Type::kWord) {
    const std::int32_t number = number_of_word(text);
    return number == kNoWord ? add_null() : store(std::int64_t{number});
  }
  texts_.add(text);
  next_row();
}

std::int32_t Column::number_of_word(std::string_view text) {
  if (text.empty()) return kNoWord;
  const auto [found, fresh] = numbers_.try_emplace(std::string(text), static_cast<std::int32_t>(words_.count()));
  if (fresh) words_.add(text);
  return found->second;
}

void Column::publish(ArrowArray* out) {
  const auto rows = static_cast<std::int64_t>(rows_);
  const std::int64_t nulls = nulls_;
  rows_ = 0;
  nulls_ = 0;
  if (type_ == Type::kText) {
    publish_texts(std::make_shared<const Texts>(std::exchange(texts_, {})), std::move(validity_), nulls, out);
    return;
  }
  auto owned = std::make_unique<Owned>();
  owned->validity = std::move(validity_);
  owned->values = std::move(values_);
  owned->buffers[0] = owned->validity.get();
  owned->buffers[1] = owned->values.get();
  if (type_ == Type::kWord) {
    if (published_words_ == nullptr || published_words_->count() != words_.count())
      published_words_ = std::make_shared<const Texts>(words_);
    owned->dictionary = std::make_unique<ArrowArray>();
    publish_texts(published_words_, nullptr, 0, owned->dictionary.get());
  }
  publish_owned(std::move(owned), rows, nulls, 2, out);
}

void publish_batch(std::vector<Column>& columns, std::int64_t rows, ArrowArray* out) {
  auto owned = std::make_unique<Owned>();
  for (Column& column : columns) {
    owned->children.push_back(std::make_unique<ArrowArray>());
    column.publish(owned->children.back().get());
  }
  publish_owned(std::move(owned), rows, 0, 1, out);
}

}  // namespace hostprobe::tables
