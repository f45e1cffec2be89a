// A child process that does what its arguments say, one after the other:
//
//   say TEXT        prints a line on standard error
//   environment N   prints the environment variable N
//   tell FD         writes one byte to the inherited descriptor FD
//   exit CODE       ends with CODE
//   raise SIGNAL    sends itself SIGNAL
//   on SIGNAL CODE  from now on ends with CODE when SIGNAL arrives
//   ignore SIGNAL   from now on ignores SIGNAL
//   wait            waits for a signal, for ever
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

volatile sig_atomic_t exit_codes[NSIG];

void EndWithCode(int signal) { _exit(exit_codes[signal]); }

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* what = argv[i];
    const auto number = [&] { return ++i < argc ? std::atoi(argv[i]) : 0; };
    if (std::strcmp(what, "say") == 0) {
      std::fprintf(stderr, "%s\n", argv[++i]);
    } else if (std::strcmp(what, "environment") == 0) {
      const char* value = std::getenv(argv[++i]);
      std::fprintf(stderr, "%s=%s\n", argv[i], value == nullptr ? "(unset)" : value);
    } else if (std::strcmp(what, "tell") == 0) {
      if (write(number(), "x", 1) != 1) return 99;
    } else if (std::strcmp(what, "exit") == 0) {
      return number();
    } else if (std::strcmp(what, "raise") == 0) {
      raise(number());
    } else if (std::strcmp(what, "on") == 0) {
      const int signal = number();
      exit_codes[signal] = number();
      ::signal(signal, EndWithCode);
    } else if (std::strcmp(what, "ignore") == 0) {
      signal(number(), SIG_IGN);
    } else if (std::strcmp(what, "wait") == 0) {
      for (;;) pause();
    } else {
      return 98;
    }
  }
  return 0;
}
