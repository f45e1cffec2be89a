#include "worker/data/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "common/logging.h"
#include "worker/data/channel_statistics.h"
#include "worker/data/random.h"
#include "worker/data/shape_outline.h"

namespace ssd {
namespace {

constexpr int kSide = 32;

// How hard the pictures are. Chosen so that logistic regression of the pixels stays under 50 % and a ResNet-8
// passes 90 % within 5 epochs of 20,000 images.
constexpr double kMinRadius = 7, kMaxRadius = 12;  // of the shape, in pixels
constexpr double kMaxTilt = 0.3;                   // tangent of half the largest rotation: 33 degrees
constexpr double kMaxOffset = 5;                   // of the shape from the middle, each way, in pixels
constexpr double kMinBackground = 20, kMaxBackground = 130;  // its mean brightness, of 255
constexpr double kMinContrast = 40, kMaxContrast = 120;      // how much brighter the shape is
constexpr double kDarkShapes = 0.1;                          // these are darker than their background instead
constexpr double kMaxGradient = 40;                          // of brightness, from the centre to an edge
constexpr double kMaxTexture = 24;                           // amplitude of the stripes behind
constexpr double kMaxNoise = 36;                             // largest deviation of a pixel
constexpr double kPatchProbability = 0.6;                    // that something covers part of the picture
constexpr double kMinPatch = 5, kMaxPatch = 11;              // its sides, in pixels
constexpr int kClutter = 2;                                  // small discs behind the shape

using Color = std::array<double, 3>;  // 0..255

struct Direction {
  double x, y;
};

// The unit vector at the angle whose half has this tangent: rational, as a sine's last bit is not the same
// everywhere.
Direction DirectionOfHalfTangent(double t) { return {(1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)}; }

// Any direction along which a gradient or stripes may run.
Direction DrawDirection(Random& random) {
  const Direction direction = DirectionOfHalfTangent(random.Uniform(-1, 1));
  const double sign = random.Below(2) == 0 ? 1 : -1;
  return {sign * direction.x, sign * direction.y};
}

Color DrawColorOfBrightness(Random& random, double brightness) {
  Color color;
  double mean = 0;
  for (double& channel : color) mean += (channel = random.Uniform(-60, 60)) / 3;
  for (double& channel : color) channel += brightness - mean;
  return color;
}

// A colour that changes across the picture.
struct Paint {
  Color color;
  Direction direction;
  double slope;  // a pixel

  double At(int channel, double x, double y) const {
    return color[channel] + slope * (direction.x * (x - kSide / 2.0) + direction.y * (y - kSide / 2.0));
  }
};
Paint DrawPaint(Random& random, double brightness) {
  Paint paint;
  paint.color = DrawColorOfBrightness(random, brightness);
  paint.direction = DrawDirection(random);
  paint.slope = random.Uniform(0, kMaxGradient) / (kSide / 2.0);
  return paint;
}

struct Stripes {
  Direction direction;
  double period;  // in pixels
  double amplitude;

  // A triangle wave between -amplitude and amplitude.
  double At(double x, double y) const {
    const double phase = (direction.x * x + direction.y * y) / period;
    return amplitude * (4 * std::abs(phase - std::floor(phase) - 0.5) - 1);
  }
};

struct Disc {
  double x, y, radius;
  Color color;
};

struct Patch {
  bool present;
  double x, y, half_width, half_height;
  Color color;
};

// Everything about one picture but its noise.
struct Scene {
  double x, y, radius;  // of the shape
  Direction rotation;
  Paint shape;
  Paint background;
  Stripes stripes;
  std::array<Disc, kClutter> clutter;
  Patch patch;
  double noise;
};

Scene DrawScene(Random& random) {
  Scene scene;
  scene.radius = random.Uniform(kMinRadius, kMaxRadius);
  scene.x = kSide / 2.0 + random.Uniform(-kMaxOffset, kMaxOffset);
  scene.y = kSide / 2.0 + random.Uniform(-kMaxOffset, kMaxOffset);
  scene.rotation = DirectionOfHalfTangent(random.Uniform(-kMaxTilt, kMaxTilt));
  double background = random.Uniform(kMinBackground, kMaxBackground);
  double shape = background + random.Uniform(kMinContrast, kMaxContrast);
  if (random.Uniform() < kDarkShapes) std::swap(background, shape);
  scene.shape = DrawPaint(random, shape);
  scene.background = DrawPaint(random, background);
  scene.stripes = {DrawDirection(random), random.Uniform(4, 16), random.Uniform(0, kMaxTexture)};
  for (Disc& disc : scene.clutter) {
    disc.x = random.Uniform(0, kSide);
    disc.y = random.Uniform(0, kSide);
    disc.radius = random.Uniform(1, 3);
    disc.color = DrawColorOfBrightness(random, random.Uniform(20, 235));
  }
  scene.patch.present = random.Uniform() < kPatchProbability;
  scene.patch.x = random.Uniform(0, kSide);
  scene.patch.y = random.Uniform(0, kSide);
  scene.patch.half_width = random.Uniform(kMinPatch, kMaxPatch) / 2;
  scene.patch.half_height = random.Uniform(kMinPatch, kMaxPatch) / 2;
  scene.patch.color = DrawColorOfBrightness(random, random.Uniform(20, 235));
  scene.noise = random.Uniform(0, kMaxNoise);
  return scene;
}

// How much of a pixel lies inside an outline at `distance` pixels from its centre: the anti-aliasing.
double Coverage(double distance) { return std::clamp(0.5 - distance, 0.0, 1.0); }

// NOLINTNEXTLINE(bugprone-incorrect-roundings): wrong for negative numbers alone, and there are none.
uint8_t ToPixel(double value) { return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0) + 0.5); }

// Writes (H, W, C).
void Render(const Scene& scene, const ShapeOutline& outline, Random& random, std::span<uint8_t> pixels) {
  uint8_t* pixel = pixels.data();
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      const double x = column + 0.5, y = row + 0.5;
      const double dx = (x - scene.x) / scene.radius, dy = (y - scene.y) / scene.radius;
      const double u = scene.rotation.x * dx + scene.rotation.y * dy;
      const double v = scene.rotation.x * dy - scene.rotation.y * dx;
      const double shape = Coverage(outline.distance(u, v) * scene.radius);
      std::array<double, kClutter> clutter;
      for (int i = 0; i < kClutter; ++i) {
        const double disc_x = x - scene.clutter[i].x, disc_y = y - scene.clutter[i].y;
        clutter[i] = Coverage(std::sqrt(disc_x * disc_x + disc_y * disc_y) - scene.clutter[i].radius);
      }
      const double patch = scene.patch.present
                               ? Coverage(std::abs(x - scene.patch.x) - scene.patch.half_width) *
                                     Coverage(std::abs(y - scene.patch.y) - scene.patch.half_height)
                               : 0;
      const double stripes = scene.stripes.At(x, y);
      uint64_t noise_bits = random.Next();
      for (int channel = 0; channel < 3; ++channel) {
        // From the back to the front.
        double value = scene.background.At(channel, x, y) + stripes;
        for (int i = 0; i < kClutter; ++i) value += clutter[i] * (scene.clutter[i].color[channel] - value);
        value += shape * (scene.shape.At(channel, x, y) - value);
        value += patch * (scene.patch.color[channel] - value);
        // The sum of two uniform numbers, of 10 bits each.
        const double noise = static_cast<double>((noise_bits & 1023) + (noise_bits >> 10 & 1023)) / 1023 - 1;
        noise_bits >>= 20;
        *pixel++ = ToPixel(value + scene.noise * noise);
      }
    }
  }
}

ImageSet MakeSet(uint64_t seed, Random::Purpose purpose, int64_t count) {
  ImageSet set;
  set.shape = {.height = kSide, .width = kSide, .channels = 3};
  for (const ShapeOutline& outline : kShapeOutlines) set.class_names.emplace_back(outline.name);
  set.pixels.resize(count * set.shape.size());
  set.labels.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    Random random(seed, purpose, static_cast<uint64_t>(i));
    set.labels[i] = static_cast<int32_t>(i % static_cast<int64_t>(kShapeOutlines.size()));
    const Scene scene = DrawScene(random);
    Render(scene, kShapeOutlines[set.labels[i]], random,
           std::span<uint8_t>(set.pixels).subspan(i * set.shape.size(), set.shape.size()));
  }
  return set;
}

}  // namespace

ImageData MakeShapes(uint64_t seed, int64_t train, int64_t test) {
  CHECK_GE(train, 1);
  CHECK_GE(test, 1);
  ImageData data{.train = MakeSet(seed, Random::kShapesTrain, train),
                 .test = MakeSet(seed, Random::kShapesTest, test)};
  const ChannelStatistics statistics = ComputeChannelStatistics(data.train);
  for (int channel = 0; channel < 3; ++channel) {
    data.train.mean[channel] = static_cast<float>(statistics.mean[channel]);
    data.train.std[channel] = static_cast<float>(statistics.std[channel]);
  }
  data.test.mean = data.train.mean;
  data.test.std = data.train.std;
  return data;
}

}  // namespace ssd
