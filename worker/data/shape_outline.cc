#include "worker/data/shape_outline.h"

#include <algorithm>
#include <cmath>

namespace ssd {
namespace {

double Radius(double u, double v) { return std::sqrt(u * u + v * v); }

// A rectangle of the given half sides.
double Box(double u, double v, double half_width, double half_height) {
  return std::max(std::abs(u) - half_width, std::abs(v) - half_height);
}

double Circle(double u, double v) { return Radius(u, v) - 0.8; }

double Square(double u, double v) { return Box(u, v, 0.7, 0.7); }

double Triangle(double u, double v) {
  constexpr double kSin60 = 0.8660254037844386;
  return std::max(v, kSin60 * std::abs(u) - 0.5 * v) - 0.5;
}

double Star(double u, double v) {
  // A pentagram is what lies inside at least four of the five lines through its edges, so its distance is the
  // second largest of theirs. The lines' normals point along the fifths of a turn.
  constexpr double kCos72 = 0.30901699437494745, kSin72 = 0.9510565162951535;
  constexpr double kCos144 = -0.8090169943749475, kSin144 = 0.5877852522924731;
  const std::array<double, 5> along = {u, kCos72 * u + kSin72 * v, kCos72 * u - kSin72 * v,
                                       kCos144 * u + kSin144 * v, kCos144 * u - kSin144 * v};
  double largest = along[0];
  double second = -2;
  for (int i = 1; i < 5; ++i) {
    second = std::max(second, std::min(largest, along[i]));
    largest = std::max(largest, along[i]);
  }
  return second - kCos72;  // tips on the unit circle
}

double Cross(double u, double v) { return std::min(Box(u, v, 0.9, 0.28), Box(u, v, 0.28, 0.9)); }

double Ring(double u, double v) { return std::abs(Radius(u, v) - 0.68) - 0.2; }

double Crescent(double u, double v) { return std::max(Radius(u, v) - 0.9, 0.75 - Radius(u - 0.5, v)); }

double Frame(double u, double v) { return std::abs(Box(u, v, 0.56, 0.56)) - 0.15; }

double Bar(double u, double v) { return Box(u, v, 0.95, 0.28); }

double Hourglass(double u, double v) {
  constexpr double kHalfRoot = 0.7071067811865476;
  return std::max(std::abs(v) - 0.75, (std::abs(u) - std::abs(v)) * kHalfRoot);
}

}  // namespace

const std::array<ShapeOutline, 10> kShapeOutlines = {{{"circle", Circle},
                                                      {"square", Square},
                                                      {"triangle", Triangle},
                                                      {"star", Star},
                                                      {"cross", Cross},
                                                      {"ring", Ring},
                                                      {"crescent", Crescent},
                                                      {"frame", Frame},
                                                      {"bar", Bar},
                                                      {"hourglass", Hourglass}}};

}  // namespace ssd
