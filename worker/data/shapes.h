// A generated data set, so that the framework can be tried where nothing may be downloaded: 32 x 32 RGB
// pictures of one shape each, of the ten kinds in shape_outline.h.
//
// Position, size, tilt, colours, a gradient and texture behind, noise, clutter and a patch that may cover
// part of the shape all vary, so that a linear classifier of the pixels is right about once in four and a
// convolutional network almost always. The constants that set how hard it is stand together in shapes.cc.
#ifndef SSD_WORKER_DATA_SHAPES_H_
#define SSD_WORKER_DATA_SHAPES_H_

#include <cstdint>

#include "worker/data/image_set.h"

namespace ssd {

// `train` training and `test` test images, no picture in both; image i shows kind i mod 10. A pure function
// of the arguments, alike on every machine, and image i does not depend on the counts. Mean and std are the
// training set's. About 50 us an image. REQUIRES: both counts are at least 1.
ImageData MakeShapes(uint64_t seed, int64_t train, int64_t test);

}  // namespace ssd

#endif  // SSD_WORKER_DATA_SHAPES_H_
