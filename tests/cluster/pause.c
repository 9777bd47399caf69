/* Holds a pod's namespaces open until the pod ends. In C, because it starts faster than Go. */
#include <signal.h>
#include <unistd.h>

static void end(int number) {
    (void)number;
    _exit(0);
}

int main(void) {
    /* The first process of a container ignores signals without a handler. */
    signal(SIGTERM, end);
    signal(SIGINT, end);
    for (;;)
        pause();
}
