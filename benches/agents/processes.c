/*
 * Processes that do nothing, for agents that look at all there are.
 *
 *	processes COUNT
 *
 * Writes a line when they are there. They end with this program, which ends with its stdin.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    int		count = argc == 2 ? atoi(argv[1]) : 0, made, status = 0, i;
    pid_t	*children = calloc(count + 1, sizeof(children[0])), above = getpid();

    for (made = 0; made < count; made++) {
	children[made] = fork();
	if (children[made] == 0) {
	    prctl(PR_SET_PDEATHSIG, SIGKILL);
	    while (getppid() == above)
		pause();
	    _exit(0);
	}
	if (children[made] < 0) {
	    perror("fork");
	    status = 1;
	    break;
	}
    }
    if (status == 0) {
	printf("%d\n", made);
	fflush(stdout);
	while (getchar() != EOF)
	    ;
    }
    for (i = 0; i < made; i++)
	kill(children[i], SIGKILL);
    while (wait(NULL) > 0)
	;
    return status;
}
