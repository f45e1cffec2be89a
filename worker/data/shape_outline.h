// The ten silhouettes of the generated data set, as signed distances to their outlines.
#ifndef SSD_WORKER_DATA_SHAPE_OUTLINE_H_
#define SSD_WORKER_DATA_SHAPE_OUTLINE_H_

#include <array>

namespace ssd {

// A shape about the origin that just fits into the unit circle.
struct ShapeOutline {
  const char* name;
  // Negative inside, and near the outline about the distance to it. Uses only operations that IEEE 754 rounds
  // correctly, so that every machine draws the same pictures.
  double (*distance)(double u, double v);
};

// In label order.
extern const std::array<ShapeOutline, 10> kShapeOutlines;

}  // namespace ssd

#endif  // SSD_WORKER_DATA_SHAPE_OUTLINE_H_
