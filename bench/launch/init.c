/* A rank that joins MPI before it prints its line. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words) {
    MPI_Init(&count, &words);
    printf("%s\n", words[1]);
    fflush(stdout);
    MPI_Finalize();
}
