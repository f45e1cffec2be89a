// One plain TCP stream over loopback, between two threads of this process.
#ifndef SSD_TESTS_BENCHMARK_TCP_STREAM_H_
#define SSD_TESTS_BENCHMARK_TCP_STREAM_H_

#include <cstdint>
#include <vector>

namespace ssd::benchmarks {

// Aborts where the machine has no loopback. One thread may send while another receives.
class TcpStream {
 public:
  // Connects; an array of `bytes` at each end.
  explicit TcpStream(int64_t bytes);
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;
  ~TcpStream();

  // The whole array, once.
  void Send();
  void Receive();

 private:
  int sender_ = -1;
  int receiver_ = -1;
  const std::vector<char> source_;
  std::vector<char> target_;
};

}  // namespace ssd::benchmarks

#endif  // SSD_TESTS_BENCHMARK_TCP_STREAM_H_
