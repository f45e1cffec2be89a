#include "deploy/run/local_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <optional>
#include <set>

#include "tests/run/temporary_directory.h"
#include "tests/testing/status_matchers.h"

namespace ssd {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Sets an environment variable until the test ends.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = ::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { before_.has_value() ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

TEST(SocketDirectoryTest, LiesInTheRuntimeFolderAndIsPrivateAndGoesWithItsFiles) {
  TemporaryDirectory runtime;
  ScopedVariable variable("XDG_RUNTIME_DIR", runtime.path());
  std::string path;
  {
    auto sockets = SocketDirectory::Create(2);
    ASSERT_OK(sockets.status());
    path = sockets->path();
    EXPECT_THAT(path, StartsWith(runtime.path() + "/ssd-"));
    EXPECT_THAT(sockets->Addresses(), ElementsAre("unix:" + path + "/0.sock", "unix:" + path + "/1.sock"));
    struct stat info;
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    Append(path + "/0.sock.lock", "");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SocketDirectoryTest, ALongRuntimeFolderIsPassedOver) {
  TemporaryDirectory runtime;
  const std::string deep = runtime.File(std::string(90, 'x'));
  std::filesystem::create_directory(deep);
  ScopedVariable variable("XDG_RUNTIME_DIR", deep);
  auto sockets = SocketDirectory::Create(1);
  ASSERT_OK(sockets.status());
  EXPECT_THAT(sockets->path(), StartsWith("/tmp/ssd-"));
}

TEST(SocketDirectoryTest, AMissingRuntimeFolderIsPassedOver) {
  ScopedVariable variable("XDG_RUNTIME_DIR", "/nowhere");
  auto sockets = SocketDirectory::Create(1);
  ASSERT_OK(sockets.status());
  EXPECT_THAT(sockets->path(), StartsWith("/tmp/ssd-"));
}

TEST(SocketDirectoryTest, ItsSocketsAreKnownByTheirFoldersName) {
  auto sockets = SocketDirectory::Create(1);
  ASSERT_OK(sockets.status());
  EXPECT_TRUE(IsInSocketDirectory(sockets->Addresses()[0]));
  for (const char* address :
       {"unix:/tmp/0.sock", "unix:/tmp/ssd-servers/0.sock", "unix:/tmp/ssd-a_1b2c/0.sock",
        "unix:/tmp/ssd-a1b2c3/x/0.sock", "unix:/tmp/ssd-a1b2c3/shard", "10.0.0.1:7000"}) {
    EXPECT_FALSE(IsInSocketDirectory(address)) << address;
  }
}

TEST(FreeTcpAddressesTest, AreDistinctAndLocal) {
  auto addresses = FreeTcpAddresses(20);
  ASSERT_OK(addresses.status());
  EXPECT_THAT(*addresses, ::testing::Each(StartsWith("127.0.0.1:")));
  EXPECT_EQ(std::set<std::string>(addresses->begin(), addresses->end()).size(), 20u);
}

}  // namespace
}  // namespace ssd
