#include "node_test.h"

#include <cstring>

// A picture of 100 rows, 320 bytes each in 512.
class Textures : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    OK(cuMemAlloc(&memory_, kBytes));
    picture_.resType = CU_RESOURCE_TYPE_PITCH2D;
    picture_.res.pitch2D = {memory_, CU_AD_FORMAT_UNSIGNED_INT8, 1, 320, 100, 512};
    line_.resType = CU_RESOURCE_TYPE_LINEAR;
    line_.res.linear = {memory_, CU_AD_FORMAT_FLOAT, 4, 4096};
    sampling_.filterMode = CU_TR_FILTER_MODE_LINEAR;
    sampling_.flags = CU_TRSF_READ_AS_INTEGER;
  }
  CUresult create(const CUDA_RESOURCE_DESC& resource) {
    return cuTexObjectCreate(&made_, &resource, &sampling_, nullptr);
  }

  static constexpr size_t kBytes = 512 * 100;
  CUdeviceptr memory_ = 0;
  CUDA_RESOURCE_DESC picture_ = {}, line_ = {};
  CUDA_TEXTURE_DESC sampling_ = {};
  CUtexObject made_ = 0;
};

TEST_F(Textures, TellWhatTheyWereMadeOf) {
  for (const CUDA_RESOURCE_DESC& resource : {picture_, line_}) {
    OK(create(resource));
    EXPECT_NE(made_, 0u);
    CUDA_RESOURCE_DESC told = {};
    OK(cuTexObjectGetResourceDesc(&told, made_));
    EXPECT_EQ(memcmp(&told, &resource, sizeof told), 0);
    CUDA_TEXTURE_DESC how = {};
    OK(cuTexObjectGetTextureDesc(&how, made_));
    EXPECT_EQ(how.filterMode, CU_TR_FILTER_MODE_LINEAR);
    EXPECT_EQ(how.flags, static_cast<unsigned>(CU_TRSF_READ_AS_INTEGER));
    CUDA_RESOURCE_VIEW_DESC view;
    EXPECT_EQ(cuTexObjectGetResourceViewDesc(&view, made_), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexObjectDestroy(made_));
  }
}

TEST_F(Textures, AreUnknownOnceDestroyed) {
  OK(create(picture_));
  OK(cuTexObjectDestroy(made_));
  EXPECT_EQ(cuTexObjectDestroy(made_), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC told;
  EXPECT_EQ(cuTexObjectGetResourceDesc(&told, made_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectDestroy(0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, LieInMemoryThatIsThere) {
  picture_.res.pitch2D.height = 101;
  EXPECT_EQ(create(picture_), CUDA_ERROR_INVALID_VALUE);
  picture_.res.pitch2D.height = 99;
  picture_.res.pitch2D.devPtr += 512;
  EXPECT_EQ(create(picture_), CUDA_SUCCESS);
  picture_.res.pitch2D.devPtr += 1;
  EXPECT_EQ(create(picture_), CUDA_ERROR_INVALID_VALUE);
  line_.res.linear.sizeInBytes = kBytes;
  EXPECT_EQ(create(line_), CUDA_SUCCESS);
  line_.res.linear.sizeInBytes = kBytes * 2;
  EXPECT_EQ(create(line_), CUDA_ERROR_INVALID_VALUE);
  line_.res.linear.devPtr = 512;
  EXPECT_EQ(create(line_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, RefuseWhatIsNoPicture) {
  const CUDA_RESOURCE_DESC good = picture_;
  auto refused = [this](CUDA_RESOURCE_DESC resource) { return create(resource) == CUDA_ERROR_INVALID_VALUE; };
  auto changed = [good](auto change) {
    CUDA_RESOURCE_DESC resource = good;
    change(resource.res.pitch2D);
    return resource;
  };
  EXPECT_TRUE(refused(changed([](auto& p) { p.numChannels = 3; })));
  EXPECT_TRUE(refused(changed([](auto& p) { p.format = static_cast<CUarray_format>(77); })));
  EXPECT_TRUE(refused(changed([](auto& p) { p.width = 513; })));
  EXPECT_TRUE(refused(changed([](auto& p) { p.width = 0; })));
  EXPECT_TRUE(refused(changed([](auto& p) { p.height = 0; })));
  EXPECT_TRUE(refused(changed([](auto& p) { p.pitchInBytes = 500; })));
  picture_.flags = 1;
  EXPECT_TRUE(refused(picture_));
  CUDA_RESOURCE_VIEW_DESC view = {};
  EXPECT_EQ(cuTexObjectCreate(&made_, &good, &sampling_, &view), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectCreate(nullptr, &good, &sampling_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectCreate(&made_, nullptr, &sampling_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectCreate(&made_, &good, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Textures, OverArraysAreNotSupported) {
  line_.resType = CU_RESOURCE_TYPE_ARRAY;
  EXPECT_EQ(create(line_), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Textures, NeedAContext) {
  CUcontext popped;
  OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(create(picture_), CUDA_ERROR_INVALID_CONTEXT);
  OK(cuCtxPushCurrent(popped));
}
