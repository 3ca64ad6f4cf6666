/* The first process of every pod: it holds the pod's namespaces, buries orphans where processes are shared, and ends when told. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void bury(int signal_number) {
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void end(int signal_number) {
    (void)signal_number;
    _exit(0);
}

int main(void) {
    signal(SIGCHLD, bury);
    signal(SIGINT, end);
    signal(SIGTERM, end);
    for (;;) {
        pause();
    }
}
