/* Stands for a helper program in a pod, in size and in how it starts. `delivery` prints the time; `delivery FILE` copies itself. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>

/* With this, the program has the size of a static Rust program with an HTTPS client. A ConfigMap must be smaller than 1 MiB. */
static const volatile char weight[100 * 1024] = {[0 ... 100 * 1024 - 1] = 1};

int main(int count, char **words) {
    if (count > 1) {
        int from = open("/proc/self/exe", O_RDONLY), to = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0755);
        struct stat self;
        return from < 0 || to < 0 || fstat(from, &self) || sendfile(to, from, 0, self.st_size) != self.st_size;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("first %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    return weight[0] != 1;
}
