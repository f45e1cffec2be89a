// SSD_HOST_DEVICE marks arithmetic that a CPU and a GPU run alike. nvcc compiles it for both; to other compilers it is a
// plain function, so that tests without a GPU check the very code that a GPU runs.
#ifndef SSD_COMMON_HOST_DEVICE_H_
#define SSD_COMMON_HOST_DEVICE_H_

#ifdef __CUDACC__
#define SSD_HOST_DEVICE __host__ __device__
#else
#define SSD_HOST_DEVICE
#endif

#endif  // SSD_COMMON_HOST_DEVICE_H_
